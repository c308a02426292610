// What could not be processed: why, byte for byte, and once more.

import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { address, get, path, send, useData, usePages } from "../api.js";
import { useLive } from "../live.js";
import { Ask, Chip, ConversationLink, Empty, LiveMark, More, number, Place, plural, Said, Shown, When } from "../parts.js";
import { setQuery, useRoute } from "../router.js";

export default function Letters() {
  const { query } = useRoute();
  const data = useData(`groups ${query.topic ?? ""}`, (signal) => get("/v1/dead-letters", { signal }));
  const [sent, setSent] = useState(null); // a letter that was retried
  const again = useData(sent && `again ${sent.topic} ${sent.partition} ${sent.offset}`, async (signal) => {
    const { letters } = await get(address(path`/v1/dead-letters/${sent.topic}`, { limit: 100 }), { signal });
    return letters.find((each) => each.refused > sent.refused && each.size === sent.size && each.at > sent.at) ?? null;
  });
  const reload = () => (data.reload(), again.reload());
  const live = useLive({ view: "dead-letters" }, { load: reload, event: reload });
  return html`<div class="head"><h1>Dead letters</h1><${LiveMark} state=${live} /></div>
    ${sent && html`<${Outcome} sent=${sent} again=${again.data} />`}
    <${Shown} of=${data} what="dead letters">${(found) => found.groups.length === 0
      ? html`<${Empty} title="None"><p>Every record could be processed. What cannot be read comes here, byte for byte, with the reason; nothing is lost.</p><//>`
      : html`<${Groups} groups=${found.groups} query=${query} reload=${reload} retried=${setSent} />`}<//>`;
}

const MESSAGES = "chat.messages.v1";

/** How far a record has come that was sent again: until somebody has read it. */
function useProgress(sent) {
  const position = sent.topic === MESSAGES && sent.sent ? sent.sent : null;
  const data = useData(position && `progress ${position}`, (signal) => get(address("/v1/progress", { position }), { signal }));
  useEffect(() => {
    if (data.data?.state !== "waiting") return undefined;
    const timer = setTimeout(data.reload, 1000);
    return () => clearTimeout(timer);
  }, [data.data]);
  return data.data;
}

const FAR = {
  waiting: "It waits to be read:", in_window: "Read: it waits in the open window of", extracting: "Read: it is in a window of",
  extracted: "Read, and understood with the window that it is in:", searchable: "Read, and found by search:",
};

function Outcome({ sent, again }) {
  const progress = useProgress(sent);
  const place = sent.sent ? ` as ${sent.sent.replace(":", " / ")}` : "";
  return html`<p class="banner note" role="status">${sent.partition} / ${sent.offset} was sent to ${sent.topic} again${place}.
    ${progress && progress.state in FAR && !again ? html`${FAR[progress.state]} ${progress.conversation_id && html`<${ConversationLink} id=${progress.conversation_id} at=${progress.message_id} />`}` : again ? html`<strong>Refused again</strong> (attempts ${again.refused}): <a href=${address("/dead-letters", { topic: again.topic, reason: again.reason, stage: again.stage, letter: `${again.partition}/${again.offset}` })}>the new letter</a>` : "If it is refused again, that is said here."}</p>`;
}

function Groups({ groups, query, reload, retried }) {
  const count = groups.reduce((sum, each) => sum + each.count, 0);
  const chosen = groups.find((each) => each.topic === query.topic && each.reason === query.reason && each.stage === (query.stage ?? each.stage));
  return html`<p class="muted lead">${plural(count, "dead letter")} in ${plural(groups.length, "group")}</p>
    <div class="tablebox"><table class="cards"><thead><tr><th>topic</th><th>reason</th><th class="num">letters</th><th>last</th><th>what to do</th></tr></thead>
    <tbody>${groups.map((each) => html`<tr key=${each.topic + each.reason + each.stage}>
      <td class="mono">${each.topic}</td><td><a data-row href=${address("/dead-letters", { topic: each.topic, reason: each.reason, stage: each.stage })} aria-current=${each === chosen ? "true" : undefined}>${each.reason}</a> <span class="muted">in ${each.stage}</span></td>
      <td class="num" data-label="letters">${number(each.count)}</td><td data-label="last"><${When} at=${each.last_at} /></td>
      <td><span class="tools"><${Ask} label="Retry all …" question=${`${plural(each.count, "record")} go to ${each.topic} again as they were, by key, without dlq_ headers. What is refused again comes back here.`} confirm="Retry" act=${async () => { await send("POST", path`/v1/dead-letters/${each.topic}/retry`, { reason: each.reason, stage: each.stage }); reload(); }} />
        <${Ask} label="Drop all …" tone="danger" question=${`${plural(each.count, "record")} will not be listed any more.`} confirm="Drop" act=${async () => { await send("POST", path`/v1/dead-letters/${each.topic}/drop`, { reason: each.reason, stage: each.stage }); reload(); }} /></span></td></tr>`)}</tbody></table></div>
    ${chosen && html`<${List} key=${chosen.topic + chosen.reason + chosen.stage} group=${chosen} query=${query} reload=${reload} retried=${retried} />`}`;
}

function List({ group, query, reload, retried }) {
  const data = usePages(`${group.topic} ${group.reason} ${group.count} ${group.last_at}`, path`/v1/dead-letters/${group.topic}`, { reason: group.reason, stage: group.stage }, "letters", 100);
  return html`<section class="panel"><h2>${group.reason} in ${group.stage}</h2><${Shown} of=${data} what="letters">${(found) => html`
    <ul>${found.letters.map((each) => {
      const place = `${each.partition}/${each.offset}`;
      const open = query.letter === place;
      return html`<li key=${place} class="operation"><button class="quiet" data-row aria-expanded=${open} onClick=${() => setQuery({ letter: open ? "" : place })}>${open ? "▾" : "▸"} ${each.partition} / ${each.offset}</button>
        <${When} at=${each.at} /> <span class="muted"><${Said} text=${each.message} /></span>
        ${open && html`<${Letter} topic=${group.topic} letter=${each} reload=${reload} retried=${retried} />`}</li>`;
    })}</ul><${More} of=${data} count=${found.letters.length} />`}<//></section>`;
}

const traced = (record) => record?.headers.some(([name]) => /^(ce_)?traceparent$/i.test(name));

function Letter({ topic, letter, reload, retried }) {
  const [form, setForm] = useState("text");
  const [kept, setKept] = useState(true);
  const at = path`/v1/dead-letters/${topic}/${letter.partition}/${letter.offset}`;
  const data = useData(at, (signal) => get(at, { signal }));
  const retry = async () => {
    const { letters: [settled] } = await send("POST", path`/v1/dead-letters/${topic}/retry`, { places: [{ partition: letter.partition, offset: letter.offset }], keep_trace: kept });
    retried({ ...letter, sent: settled?.sent });
    reload();
  };
  return html`<${Shown} of=${data} what="its bytes">${({ letter: whole, record }) => html`<div class="panel">
    <dl class="facts"><dt>why</dt><dd><${Chip} tone="warn">${whole.reason}<//> <${Said} text=${whole.message} /></dd>
      <dt>lay at</dt><dd><span class="place"><${Said} text=${whole.source} /></span> · refused by ${whole.stage} · attempts ${whole.refused}</dd>
      <dt>key</dt><dd class="mono"><${Said} text=${record?.key ?? "—"} /></dd>
      <dt>headers</dt><dd>${record?.headers.length ? html`<ul class="mono">${record.headers.map(([name, value]) => html`<li><${Said} text=${`${name}: ${value ?? ""}`} /></li>`)}</ul>` : "none of its own"}</dd>
      <dt>bytes <span class="tabs"><button aria-pressed=${form === "text"} onClick=${() => setForm("text")}>text</button><button aria-pressed=${form === "hex"} onClick=${() => setForm("hex")}>hex</button></span></dt>
      <dd><pre tabindex="0" aria-label="Value"><${Said} text=${record ? (form === "text" ? record.text : record.hex) ?? "(no value)" : "parts of it are missing or damaged"} /></pre></dd></dl>
    <div class="tools">${whole.not_retryable ? html`<p class="muted">It cannot be retried: <${Said} text=${whole.not_retryable} /></p>` : html`<${Ask} label="Retry as it is …" question=${`It goes to ${topic} again: same value, key and headers of its own, without dlq_ ones, partition by key.`} confirm="Retry" act=${retry} />${traced(record) && html`<label><input type="checkbox" checked=${kept} onChange=${(event) => setKept(event.target.checked)} /> leave it in its trace (traceparent)</label>`}`}</div></div>`}<//>`;
}
