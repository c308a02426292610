// What could not be processed: why, byte for byte, and once more.

import { html, useState } from "../vendor/preact-htm.js";
import { address, get, path, send, useData } from "../api.js";
import { useLive } from "../live.js";
import { Ask, Chip, Empty, LiveMark, number, Place, plural, Said, Shown, When } from "../parts.js";
import { setQuery, useRoute } from "../router.js";

export default function Letters() {
  const { query } = useRoute();
  const data = useData(`groups ${query.topic ?? ""}`, (signal) => get("/v1/dead-letters", { signal }));
  const live = useLive({ view: "dead-letters" }, { event: data.reload });
  return html`<div class="head"><h1>Dead letters</h1><${LiveMark} state=${live} /></div>
    <${Shown} of=${data} what="dead letters">${(found) => found.groups.length === 0
      ? html`<${Empty} title="None"><p>Every record could be processed. What cannot be read comes here, byte for byte, with the reason; nothing is lost.</p><//>`
      : html`<${Groups} groups=${found.groups} query=${query} reload=${data.reload} />`}<//>`;
}

function Groups({ groups, query, reload }) {
  const count = groups.reduce((sum, each) => sum + each.count, 0);
  const chosen = groups.find((each) => each.topic === query.topic && each.reason === query.reason);
  return html`<p class="muted">${plural(count, "dead letter")} in ${plural(groups.length, "group")}</p>
    <div class="tablebox"><table class="cards"><thead><tr><th>topic</th><th>reason</th><th class="num">letters</th><th>last</th><th>what to do</th></tr></thead>
    <tbody>${groups.map((each) => html`<tr key=${each.topic + each.reason}>
      <td class="mono">${each.topic}</td><td><a data-row href=${address("/dead-letters", { topic: each.topic, reason: each.reason })} aria-current=${each === chosen ? "true" : undefined}>${each.reason}</a></td>
      <td class="num" data-label="letters">${number(each.count)}</td><td data-label="last"><${When} at=${each.last_at} /></td>
      <td><span class="tools"><${Ask} label="Retry all …" question=${`${plural(each.count, "record")} go to ${each.topic} again as they were, by key, without dlq_ headers. What is refused again comes back here.`} confirm="Retry" act=${async () => { await send("POST", "/v1/dead-letters/retry", { topic: each.topic, reason: each.reason }); reload(); }} />
        <${Ask} label="Drop all …" tone="danger" question=${`${plural(each.count, "record")} will not be listed any more.`} confirm="Drop" act=${async () => { await send("POST", "/v1/dead-letters/drop", { topic: each.topic, reason: each.reason }); reload(); }} /></span></td></tr>`)}</tbody></table></div>
    ${chosen && html`<${List} key=${chosen.topic + chosen.reason} group=${chosen} query=${query} reload=${reload} />`}`;
}

function List({ group, query, reload }) {
  const data = useData(`${group.topic} ${group.reason} ${group.count}`, (signal) => get(address("/v1/dead-letters/letters", { topic: group.topic, reason: group.reason, limit: 100 }), { signal }));
  return html`<section class="panel"><h2>${group.reason}</h2><${Shown} of=${data} what="letters">${(found) => html`
    <ul>${found.letters.map((each) => {
      const place = `${each.partition}/${each.offset}`;
      const open = query.letter === place;
      return html`<li key=${place} class="operation"><button class="quiet" data-row aria-expanded=${open} onClick=${() => setQuery({ letter: open ? "" : place })}>${open ? "▾" : "▸"} ${each.partition} / ${each.offset}</button>
        <${When} at=${each.at} /> <span class="muted"><${Said} text=${each.message} /></span>
        ${open && html`<${Letter} topic=${group.topic} letter=${each} reload=${reload} />`}</li>`;
    })}</ul>${found.next && html`<p class="muted">The newest 100 are shown; there are more.</p>`}`}<//></section>`;
}

function Letter({ topic, letter, reload }) {
  const [form, setForm] = useState("text");
  const [outcome, setOutcome] = useState(null);
  const at = path`/v1/dead-letters/${topic}/${letter.partition}/${letter.offset}`;
  const data = useData(at, (signal) => get(at, { signal }));
  const retry = async () => {
    const sent = await send("POST", `${at}/retry`, {});
    setOutcome(sent);
    reload();
  };
  return html`<${Shown} of=${data} what="its bytes">${(whole) => html`<div class="panel">
    <dl class="facts"><dt>why</dt><dd><${Chip} tone="warn">${whole.reason}<//> <${Said} text=${whole.message} /></dd>
      <dt>lay at</dt><dd><${Place} topic=${whole.source_topic ?? topic} partition=${whole.source_partition ?? whole.partition} offset=${whole.source_offset ?? whole.offset} /> · refused by ${whole.stage} · attempts ${whole.attempts}</dd>
      <dt>key</dt><dd class="mono"><${Said} text=${whole.key ?? "—"} /></dd>
      <dt>headers</dt><dd>${(whole.headers ?? []).length ? html`<ul class="mono">${whole.headers.map((each) => html`<li><${Said} text=${`${each.name ?? each[0]}: ${each.value ?? each[1]}`} /></li>`)}</ul>` : "none of its own"}</dd>
      <dt>bytes <span class="tabs"><button aria-pressed=${form === "text"} onClick=${() => setForm("text")}>text</button><button aria-pressed=${form === "hex"} onClick=${() => setForm("hex")}>hex</button></span></dt>
      <dd><pre tabindex="0" aria-label="Value"><${Said} text=${(form === "text" ? whole.text : whole.hex) ?? "(no value)"} /></pre></dd></dl>
    <div class="tools"><${Ask} label="Retry as it is …" question=${`It goes to ${topic} again: same value, key and headers of its own, without dlq_ ones, partition by key.`} confirm="Retry" act=${retry} /></div>
    ${outcome && html`<p role="status">outcome: sent as ${(outcome.partition ?? outcome.sent?.[0]?.partition)}/${(outcome.offset ?? outcome.sent?.[0]?.offset)}. If it is refused again, it comes back here with one attempt more.</p>`}</div>`}<//>`;
}
