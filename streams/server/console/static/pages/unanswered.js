// What is said while nobody can answer it, because a part is down.

import { html, useRef, useState } from "../vendor/preact-htm.js";
import { send } from "../api.js";
import { announce, Said, Trouble } from "../parts.js";
import { random } from "../random.js";

/** What cannot be answered now is kept all the same: messages are taken without those who remember. */
export function useKept(id, user) {
  const [kept, setKept] = useState([]);
  const [trouble, setTrouble] = useState(null);
  const name = useRef(null);
  const keep = async (content) => {
    name.current ??= `m-${random()}`; // sent once more because nobody knows whether it arrived, it counts once
    try {
      const message = { conversation_id: id, role: "user", content, message_id: name.current };
      const { messages: [at] } = await send("POST", "/v1/messages", { user_id: user, messages: [message] });
      name.current = null;
      setKept((before) => [...before, { ...at, content }]);
      setTrouble(null);
      announce("Written down");
      return true;
    } catch (problem) {
      setTrouble(problem);
      return false;
    }
  };
  return { kept, trouble, keep };
}

export const WrittenDown = ({ of: { kept, trouble } }) => html`${kept.map((each) => html`<article class="turn user" key=${each.message_id}><div class="meta"><strong>you</strong><span class="end place">${each.position.replace(":", " / ")}</span></div><div class="text"><${Said} text=${each.content} /></div></article>`)}
  ${kept.length > 0 && html`<p class="muted" role="status">Written down. It is read, and remembered, when what is down is back; nobody answers it.</p>`}
  ${trouble && html`<${Trouble} problem=${trouble} />`}`;

/** A conversation that cannot be shown, because a part is down. */
export function Unanswered({ problem, retry, id, user, draft }) {
  const written = useKept(id, user);
  const submit = async (event) => {
    event.preventDefault();
    const content = draft.current.trim();
    const box = event.target.content;
    if (content && (await written.keep(content))) draft.current = box.value = "";
  };
  return html`<${Trouble} problem=${problem} retry=${retry} /><div class="turns"><${WrittenDown} of=${written} /></div>
    <form class="say" onSubmit=${submit}>
      <textarea name="content" aria-label="Say something" placeholder="say something: it is kept, and not answered now" dir="auto" rows="2" onInput=${(event) => { draft.current = event.target.value; }}></textarea>
      <span class="tools"><button class="main">Write it down</button></span></form>`;
}
