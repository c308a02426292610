// What is not known yet, and why: conversations whose last messages no one has read.

import { html, useEffect } from "../vendor/preact-htm.js";
import { address, get, path, send, useData } from "../api.js";
import { Ask, ConversationLink, Empty, number, Said, Shown, When } from "../parts.js";

const MOST = 5;

/** Look again every few seconds as long as the component is shown. */
function useLooking(retry) {
  useEffect(() => {
    const timer = setInterval(retry, 4000);
    return () => clearInterval(timer);
  }, []);
}

/** A person of whom nothing was read so far, though something was said. */
export function Unread({ name, retry }) {
  useLooking(retry);
  return html`<${Empty} title="Not read yet"><p>What was said by or to <${Said} text=${name} /> has come, and nobody has read it yet. It appears here by itself; <a href="/">Flow</a> says how far everybody is.</p><//>`;
}

/** A person of whom not everything was read so far. */
export function PartlyRead({ name, retry }) {
  useLooking(retry);
  return html`<p class="warn">Not all that was said by or to <${Said} text=${name} /> is read yet. <button onClick=${retry}>Search again</button></p>`;
}

/** The newest conversations of a person with an open window, or that there are none. */
export function Waits({ user }) {
  const data = useData(`waits ${user}`, async (signal) => {
    const found = await get(address("/v1/conversations", { user_id: user, limit: MOST }), { signal });
    const each = found.conversations.map(({ conversation_id: id }) => get(address(path`/v1/conversations/${id}`, { user_id: user, limit: 1 }), { signal }));
    return { open: (await Promise.all(each)).filter((one) => one.open_window), more: Boolean(found.next), any: each.length > 0 };
  });
  return html`<${Shown} of=${data} what="what waits">${({ open, more, any }) => open.length === 0
    ? html`<p>${!any ? "No conversation of theirs is kept." : `Whatever was said in ${more ? `the newest ${MOST} conversations` : "their conversations"} has been read.`}</p>`
    : html`<p>Not yet read:</p><ul class="waits">${open.map((one) => html`<li key=${one.conversation_id}><${ConversationLink} id=${one.conversation_id} />:
        ${number(one.open_window.messages)} of ${number(one.open_window.size)} messages, read at ${number(one.open_window.size)}, or when nobody has spoken until <${When} at=${one.open_window.closes_at} clock />, or <${CloseNow} id=${one.conversation_id} user=${user} done=${data.reload} /></li>`)}</ul>`}<//>`;
}

export const CloseNow = ({ id, user, done }) =>
  html`<${Ask} label="close it now" question="Close the conversation here? What is open is read at once." confirm="Close" act=${async () => {
    await send("POST", address(path`/v1/conversations/${id}/close`, { user_id: user }));
    done?.();
  }} />`;
