// Who there is.

import { html } from "../vendor/preact-htm.js";
import { address, getAll, useData } from "../api.js";
import { Empty, MOST_ROWS, number, plural, Said, Shown } from "../parts.js";
import { setQuery, useRoute } from "../router.js";

/** Names like one that nobody has, if the token may see them. */
export function Nearest({ name, to }) {
  const data = useData(`names like ${name}`, async (signal) => {
    const { people } = await getAll("/v1/people", { limit: 200 }, "people", signal, 2000).catch(() => ({ people: [] }));
    const [mine, names] = [name.toLowerCase(), people.map((each) => each.user_id)];
    return names.filter((each) => each.toLowerCase().startsWith(mine) || apart(mine, each.toLowerCase()) <= Math.max(1, mine.length / 4)).slice(0, 5);
  });
  if (!data.data?.length) return null;
  return html`<p>Did you mean ${data.data.map((each, at) => html`${at ? ", " : ""}<a href=${to(each)}><${Said} text=${each} /></a>`)}?</p>`;
}

/** How many letters have to be changed, added or left out to make one name of another. */
function apart(a, b) {
  let row = [...b, ""].map((_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row.at(-1);
}

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
      const shown = rows.slice(0, MOST_ROWS);
      return html`<div class="tools"><label>filter <input value=${query.q ?? ""} onInput=${(event) => setQuery({ q: event.target.value })} autocomplete="off" /></label>
          <span class="muted">${number(shown.length)} of ${number(found.people.length)}${found.more ? " shown, there are more" : ""}</span></div>
        <div class="tablebox"><table class="cards"><thead><tr><th>person</th><th class="num">facts</th><th></th></tr></thead>
        <tbody>${shown.map((each) => html`<tr key=${each.user_id}><td><a class="id" data-row href=${`/people/${encodeURIComponent(each.user_id)}`}><${Said} text=${each.user_id} /></a></td>
          <td class="num" data-label="facts">${number(each.facts)}</td><td><a href=${address("/conversations", { user_id: each.user_id })}>conversations</a> · <a href=${address("/search", { user_id: each.user_id })}>search</a> · <a href=${address("/chat", { user_id: each.user_id })}>chat</a></td></tr>`)}</tbody></table></div>
        ${rows.length === 0 && html`<${Empty} title=${`Nobody of that name among ${plural(found.people.length, "person", "people")}`} />`}`;
    }}<//>`;
}
