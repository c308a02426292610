// Who there is.

import { html } from "../vendor/preact-htm.js";
import { getAll, useData } from "../api.js";
import { Empty, number, plural, Said, Shown, When } from "../parts.js";
import { setQuery, useRoute } from "../router.js";

export default function People() {
  const { query } = useRoute();
  const wanted = (query.q ?? "").toLowerCase();
  const data = useData("people", (signal) => getAll("/v1/people", { limit: 200 }, "people", signal, 5000));
  return html`<div class="head"><h1>People</h1></div>
    <${Shown} of=${data} what="people">${(found) => {
      if (!found.people.length) {
        return html`<${Empty} title="Nobody is known yet"><p>People appear with their first message. Send one to <code>chat.messages.v1</code>, <a href="/chat">chat</a>, or run <code>make demo</code>.</p><//>`;
      }
      const rows = found.people.filter((each) => each.user_id.toLowerCase().includes(wanted));
      return html`<div class="tools"><label>filter <input value=${query.q ?? ""} onInput=${(event) => setQuery({ q: event.target.value })} autocomplete="off" /></label>
          <span class="muted">${number(rows.length)} of ${number(found.people.length)}${found.more ? " shown, there are more" : ""}</span></div>
        <div class="tablebox"><table class="cards"><thead><tr><th>person</th><th class="num">facts</th><th class="num">conversations</th><th class="num">last said</th></tr></thead>
        <tbody>${rows.map((each) => html`<tr key=${each.user_id}><td><a class="id" data-row href=${`/people/${encodeURIComponent(each.user_id)}`}><${Said} text=${each.user_id} /></a></td>
          <td class="num" data-label="facts">${each.facts ?? ""}</td><td class="num" data-label="conversations">${each.conversations ?? ""}</td><td class="num" data-label="last">${each.last_at ? html`<${When} at=${each.last_at} />` : ""}</td></tr>`)}</tbody></table></div>
        ${rows.length === 0 && html`<${Empty} title=${`Nobody of that name among ${plural(found.people.length, "person", "people")}`} />`}`;
    }}<//>`;
}
