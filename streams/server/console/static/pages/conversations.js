// The conversations of a person, newest first.

import { html } from "../vendor/preact-htm.js";
import { usePages } from "../api.js";
import { Empty, More, PersonLink, plural, Said, Shown, When } from "../parts.js";
import { go, setQuery, useRoute } from "../router.js";
import { Unread } from "./waits.js";

/** As they are told of, by what was said last: old ones that were brought in came all at once. */
export const latestFirst = (conversations) => [...conversations].sort((a, b) => Date.parse(b.last_at ?? 0) - Date.parse(a.last_at ?? 0));

export default function Conversations() {
  const { query } = useRoute();
  const user = query.user_id ?? "";
  const find = (event) => {
    event.preventDefault();
    setQuery({ user_id: new FormData(event.target).get("user").trim() }, { push: true });
  };
  const open = (event) => {
    event.preventDefault();
    const id = new FormData(event.target).get("id").trim();
    if (id) go(`/conversations/${encodeURIComponent(id)}`);
  };
  return html`<div class="head"><h1>Conversations</h1></div>
    <div class="tools">
      <form onSubmit=${find}><label>of <input name="user" defaultValue=${user} value=${user} placeholder="person" autocomplete="off" /></label> <button>Show</button></form>
      <form onSubmit=${open}><label>or open <input name="id" placeholder="conversation id" autocomplete="off" /></label> <button>Open</button></form>
    </div>
    ${user ? html`<${List} user=${user} />` : html`<${People} />`}`;
}

function List({ user }) {
  const data = usePages(user, "/v1/conversations", { user_id: user, limit: 200 }, "conversations", 1000);
  return html`<${Shown} of=${data} what="conversations">${(found) => found.unread
    ? html`<${Unread} name=${user} retry=${data.reload} />`
    : found.conversations.length === 0
    ? html`<${Empty} title="No conversations"><p>Nothing was said by or to <${Said} text=${user} /> that is still kept. <a href="/people">Who there is</a>.</p><//>`
    : html`<p class="muted lead">${plural(found.conversations.length, "conversation")} of <${PersonLink} id=${user} /></p>
      <div class="tablebox"><table class="cards"><thead><tr><th>conversation</th><th>begins</th><th class="num">messages</th><th class="num">last said</th></tr></thead>
      <tbody>${(found.more ? found.conversations : latestFirst(found.conversations)).map((each) => html`<tr key=${each.conversation_id}>
        <td><a class="id" data-row href=${`/conversations/${encodeURIComponent(each.conversation_id)}`}><${Said} text=${each.conversation_id} /></a></td>
        <td class="wide"><${Said} text=${each.title ?? ""} /></td>
        <td class="num" data-label="messages">${each.messages ?? ""}</td><td class="num" data-label="last"><${When} at=${each.last_at} /></td></tr>`)}</tbody></table></div><${More} of=${data} count=${found.conversations.length} />`}<//>`;
}

function People() {
  const data = usePages("people", "/v1/people", {}, "people", 100);
  return html`<${Shown} of=${data} what="people">${(found) => found.people.length === 0
    ? html`<${Empty} title="Nobody has said anything yet"><p>Send a message to <code>chat.messages.v1</code>, or <a href="/chat">chat</a>.</p><//>`
    : html`<p class="muted">Whose conversations?</p><ul class="panel">${found.people.map((each) => html`<li key=${each.user_id}><a class="id" data-row href=${`/conversations?user_id=${encodeURIComponent(each.user_id)}`}><${Said} text=${each.user_id} /></a></li>`)}</ul><${More} of=${data} count=${found.people.length} />`}<//>`;
}

