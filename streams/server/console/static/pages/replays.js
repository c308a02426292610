// Which replays there are beside the live generation, and how far they are.

import { html } from "../vendor/preact-htm.js";
import { get, path, useData } from "../api.js";
import { Chip, Empty, number, Said, Shown } from "../parts.js";

export default function Replays() {
  const data = useData("replays", (signal) => get("/v1/replays", { signal }));
  return html`<div class="head"><h1>Replays</h1><button class="end" onClick=${data.reload}>Look again</button></div>
    <${Shown} of=${data} what="replays">${({ replays }) => replays.length === 0
      ? html`<${Empty} title="None"><p><code>switchboard replay start b --with SWITCHBOARD_WINDOW_SIZE=6</code> runs the services once more over the log, beside the live ones. What comes of it is shown here, side by side.</p><//>`
      : html`<div class="tablebox"><table class="cards"><thead><tr><th>replay</th><th>state</th><th class="num">messages read</th><th class="num">records left</th><th>with</th></tr></thead>
        <tbody>${replays.map((each) => html`<tr key=${each.generation}><td><a data-row class="id" href=${path`/replays/${each.generation}`}>${each.generation}</a></td>
          <td><${Chip} tone=${each.caught_up ? "good" : "warn"}>${each.caught_up ? "caught up" : "behind"}<//>${each.serves && html` <${Chip} tone="accent">serves<//>`}</td>
          <td class="num" data-label="messages read">${number(each.messages)} of ${number(each.total)}</td><td class="num" data-label="records left">${number(each.left)}</td>
          <td class="wide"><${Given} of=${each.with} /></td></tr>`)}</tbody></table></div>`}<//>`;
}

const Given = ({ of }) => {
  const pairs = Object.entries(of);
  return pairs.length ? html`<ul class="mono">${pairs.map(([name, value]) => html`<li><${Said} text=${`${name}=${value}`} /></li>`)}</ul>` : html`<span class="muted">the live settings</span>`;
};
