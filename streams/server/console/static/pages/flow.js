// The picture of the README, drawn from what the services say now.

import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { get, useData } from "../api.js";
import { useLive } from "../live.js";
import { announce, Curve, Empty, LiveMark, number, plural, Shown, useNarrow, When } from "../parts.js";
import { setQuery, useRoute } from "../router.js";

// What stands where: [id, kind, name, x, y] on a field of 1160 x 430, and of 360 x 1010 for narrow pages.
const NODES = {
  "chat.messages.v1": { kind: "topic", wide: [4, 58], tall: [0, 0] },
  ingest: { kind: "service", wide: [238, 46], tall: [0, 92], what: "windows, token counts" },
  "memory.windows.v1": { kind: "topic", wide: [472, 14], tall: [0, 208] },
  "memory.summary-requests.v1": { kind: "topic", wide: [472, 92], tall: [190, 208] },
  memory: { kind: "service", wide: [706, 46], tall: [0, 300], what: "facts, summaries" },
  "memory.facts.v1": { kind: "topic", wide: [940, 14], tall: [0, 416] },
  "memory.summaries.v1": { kind: "topic", wide: [940, 92], tall: [190, 416] },
  recall: { kind: "service", wide: [238, 196], tall: [0, 508], what: "search, context" },
  "memory.turns.v1": { kind: "topic", wide: [472, 168], tall: [0, 624] },
  "memory.context.v1": { kind: "topic", wide: [472, 244], tall: [190, 624] },
  "chat.response-chunks.v1": { kind: "topic", wide: [4, 358], tall: [0, 716] },
  respond: { kind: "service", wide: [238, 346], tall: [0, 808], what: "takes out what was said" },
  "chat.responses.v1": { kind: "topic", wide: [472, 320], tall: [0, 924] },
  "chat.duplicates.v1": { kind: "topic", wide: [472, 396], tall: [190, 924] },
};
const ARROWS = [
  ["chat.messages.v1", "ingest"], ["ingest", "memory.windows.v1"], ["ingest", "memory.summary-requests.v1"],
  ["memory.windows.v1", "memory"], ["memory.summary-requests.v1", "memory"], ["memory", "memory.facts.v1"],
  ["memory", "memory.summaries.v1"], ["chat.messages.v1", "recall"], ["recall", "memory.turns.v1"], ["recall", "memory.context.v1"],
  ["chat.response-chunks.v1", "respond"], ["respond", "chat.responses.v1"], ["respond", "chat.duplicates.v1"],
];
const WIDTH = { topic: 178, service: 178 };
const HEIGHT = { topic: 62, service: 86 };
const SPANS = [["60", "1 min"], ["300", "5 min"], ["600", "10 min"]];

/** Records per second between two looks at a topic. */
function rate(history, topic, seconds = 5) {
  const last = history.at(-1);
  const first = history.findLast((each) => each.time <= last?.time - seconds * 1000) ?? history[0];
  if (!last || first === last) return null;
  const from = first.topics[topic];
  const to = last.topics[topic];
  return from === undefined || to === undefined ? null : Math.max(0, (to - from) / ((last.time - first.time) / 1000));
}

const perSecond = (value) => (value === null ? "" : `${value >= 10 || value === 0 ? number(Math.round(value)) : value.toFixed(1)}/s`);

function tone(processes) {
  const running = processes.filter((each) => each.running);
  if (!running.length) return "off";
  if (running.some((each) => !each.ready)) return "wait";
  return "good";
}

function lagOf(status, service) {
  return status.groups.filter((each) => each.group.endsWith(service)).reduce((sum, each) => sum + each.lag, 0);
}

/** A text on at most two lines, cut between words; the whole of it is in the box's title. */
function wrapped(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && lines.at(-1).length + word.length >= width) lines.push("");
    lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word;
  }
  return lines.length > 2 ? [lines[0], `${lines[1].slice(0, width - 1)}…`] : lines;
}

/** How much of the answers' text waited until it was known whether it had been said before, and for how long. */
function held(sum) {
  const [all, times] = [sum("response_characters_total"), sum("response_hold_seconds_count")];
  if (!all) return "";
  const wait = times ? `, ${Math.round((1000 * sum("response_hold_seconds_sum")) / times)} ms` : "";
  return `${((100 * sum("response_held_characters_total")) / all).toFixed(1)} % of text held${wait}`;
}

const milliseconds = (seconds) => `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;

function ServiceBox({ name, node, status, x, y }) {
  const processes = status.services.filter((each) => each.service === name);
  const state = tone(processes);
  const sum = (metric) => processes.reduce((total, each) => total + (each.metrics[metric] ?? 0), 0);
  const most = (metric) => Math.max(...processes.map((each) => each.metrics[metric] ?? 0));
  const slow = name === "respond" ? most("content_detection_latency_seconds_p99") : 0;
  const lag = lagOf(status, name);
  const reason = processes.flatMap((each) => (each.running ? each.reasons : [])).find((each) => each) ?? "";
  const text = state === "off" ? "does not run" : reason ? reason : slow ? `p99 ${milliseconds(slow)} a sentence` : node.what;
  const lines = [
    ...wrapped(text, 27).map((each) => ({ text: each })),
    { text: `lag ${number(lag)} · in flight ${number(sum("batches_in_flight"))}` },
    { text: held(sum) || `${number(sum("records_total"))} records read` },
  ].slice(0, 3);
  return html`<g transform="translate(${x} ${y})">
    <title>${name}: ${processes.map((each) => `${each.state}${each.reasons.length ? ` (${each.reasons.join("; ")})` : ""}`).join(", ")}</title>
    <rect class="box ${state}" width=${WIDTH.service} height=${HEIGHT.service} rx="9" />
    <circle class="dot ${state}" cx="16" cy="20" r="5" />
    <text class="name" x="28" y="24">${name}${processes.filter((each) => each.running).length > 1 ? ` × ${processes.filter((each) => each.running).length}` : ""}</text>
    ${lines.map((line, at) => html`<text class="small rate ${line.tone ?? ""}" x="12" y=${44 + at * 16.5}>${line.text}</text>`)}
  </g>`;
}

function TopicBox({ name, status, history, letters, x, y }) {
  const value = rate(history, name);
  const count = status.topics[name];
  return html`<g transform="translate(${x} ${y})">
    <rect class="box topic" width=${WIDTH.topic} height=${HEIGHT.topic} rx="3" />
    <text class="small" x="10" y="17">${name.replace("memory.", "").replace(/^chat\./, "").replace(".v1", "")}<title>${name}</title></text>
    <text class="rate" x="10" y="37">${count === undefined ? "not there" : `${number(count)}`}<tspan class="small" dx="8">${perSecond(value)}</tspan></text>
    ${letters
      ? html`<a href="/dead-letters?topic=${name}"><text class="errors" x="10" y="54" style=${{ fontSize: "11.5px" }}>▲ ${plural(letters, "dead letter")}</text></a>`
      : html`<text class="small" x="10" y="54">records</text>`}
  </g>`;
}

function Drawing({ status, history, narrow, letters }) {
  const at = narrow ? "tall" : "wide";
  const arrows = ARROWS.map(([from, to]) => {
    const [x1, y1] = NODES[from][at];
    const [x2, y2] = NODES[to][at];
    const a = NODES[from].kind;
    const b = NODES[to].kind;
    const topic = a === "topic" ? from : to;
    if (narrow && from === "chat.messages.v1" && to === "recall") return null; // it would run through all that lies between
    const busy = (rate(history, topic) ?? 0) > 0;
    if (narrow) {
      const [sx, sy, ex, ey] = [x1 + WIDTH[a] / 2, y1 + HEIGHT[a], x2 + WIDTH[b] / 2, y2 - 6];
      return html`<path class="arrow ${busy ? "busy" : ""}" d="M${sx} ${sy} C${sx} ${sy + 14} ${ex} ${ey - 14} ${ex} ${ey}" marker-end="url(#tip)" />`;
    }
    const [sx, sy, ex, ey] = [x1 + WIDTH[a], y1 + HEIGHT[a] / 2, x2 - 6, y2 + HEIGHT[b] / 2];
    return html`<path class="arrow ${busy ? "busy" : ""}" d="M${sx} ${sy} C${sx + 30} ${sy} ${ex - 30} ${ey} ${ex} ${ey}" marker-end="url(#tip)" />`;
  });
  const [width, height] = narrow ? [370, 990] : [1122, 464];
  return html`<svg class="flow" viewBox="0 0 ${width} ${height}" role="group" aria-label="How messages flow through the services; the table below says the same">
    <defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z" /></marker></defs>
    ${arrows}
    ${Object.entries(NODES).map(([name, node]) => {
      const [x, y] = node[at];
      return node.kind === "service"
        ? html`<${ServiceBox} name=${name} node=${node} status=${status} x=${x} y=${y} />`
        : html`<${TopicBox} name=${name} status=${status} history=${history} letters=${letters[name] ?? 0} x=${x} y=${y} />`;
    })}
  </svg>`;
}

const LETTERS = "dead letters";

/** What to do about what is not well, in the order in which it matters. */
function advice(status, letters = {}) {
  if (status.broker !== "ok") return [status.broker];
  const lines = [];
  for (const each of status.services) {
    if (!each.running) lines.push(`${each.service} does not run: switchboard worker ${each.service}`);
    else if (!each.ready) lines.push(`${each.service} is not ready: ${each.reasons.join("; ")}`);
  }
  for (const group of status.groups) {
    if (group.lag > 10000) lines.push(`${group.group} is ${number(group.lag)} records behind in ${group.topic}: start another worker, or wait`);
  }
  const count = Object.values(letters).reduce((sum, each) => sum + each, 0);
  if (count) lines.push(`${plural(count, "record")} could not be processed: see ${LETTERS}`);
  return lines;
}

export default function Flow() {
  const { query } = useRoute();
  const span = query.span ?? "60";
  const [status, setStatus] = useState(null);
  const [history, setHistory] = useState([]);
  const narrow = useNarrow();
  const first = useData("status", (signal) => get("/v1/status", { signal }));
  const before = useRef("");
  const take = (value) => {
    setStatus(value);
    setHistory((rows) => [...rows, { time: Date.parse(value.at), topics: value.topics }].slice(-600));
    const said = advice(value).join(". ");
    if (said !== before.current) announce(said || "Everything runs");
    before.current = said;
  };
  const live = useLive({ view: "flow", kinds: "status" }, { event: (event) => take(event.value) });
  useEffect(() => first.data && !status && take(first.data), [first.data]);
  const shown = { ...first, data: status ?? first.data };
  return html`<div class="head"><h1>Flow</h1><${LiveMark} state=${live} />
      ${status && html`<span class="muted">as of <${When} at=${status.at} /></span>`}
      <span class="end tabs" role="group" aria-label="Curves over">${SPANS.map(([value, name]) =>
        html`<button aria-pressed=${span === value} onClick=${() => setQuery({ span: value === "60" ? "" : value })}>${name}</button>`)}</span></div>
    <${Shown} of=${shown} what="the state of the services">${(data) => html`<${Picture} status=${data} history=${history} narrow=${narrow} span=${Number(span)} />`}<//>`;
}

/** How many letters lie in each topic's queue: looked up when the queues change, which also those that settle do. */
function useLetters(status) {
  const written = Object.entries(status.topics).reduce((sum, [name, count]) => sum + (name.endsWith(".dlq") ? count : 0), 0);
  const found = useData(written ? `letters ${written}` : null, (signal) => get("/v1/dead-letters", { signal }));
  const [letters, setLetters] = useState({});
  useEffect(() => {
    if (!found.data) return;
    const counts = {};
    for (const each of found.data.groups) counts[each.topic] = (counts[each.topic] ?? 0) + each.count;
    setLetters(counts);
  }, [found.data]);
  return letters;
}

function Picture({ status, history, narrow, span }) {
  const letters = useLetters(status);
  const said = advice(status, letters);
  if (status.broker !== "ok" && !status.services.some((each) => each.running)) {
    return html`<${Empty} title="Nothing runs"><p>${status.broker}</p><p><code>make demo</code> starts everything on one machine.</p><//>`;
  }
  return html`
    ${said.length > 0 && html`<section class="banner note" aria-label="What to do"><ul>${said.map((line) => html`<li>${line.endsWith(LETTERS) ? html`${line.slice(0, -LETTERS.length)}<a href="/dead-letters">${LETTERS}</a>` : line}</li>`)}</ul></section>`}
    <section class="panel"><${Drawing} status=${status} history=${history} narrow=${narrow} letters=${letters} /></section>
    <section class="panel"><h2>How far each group has read</h2><${Groups} status=${status} history=${history} span=${span} /></section>`;
}

function Groups({ status, history, span }) {
  if (!status.groups.length) return html`<p class="muted">There are no topics yet: <code>switchboard topics apply</code> creates them.</p>`;
  const recent = history.filter((each) => each.time >= (history.at(-1)?.time ?? 0) - span * 1000);
  const curve = (topic) =>
    recent.slice(1).map((each, at) => Math.max(0, ((each.topics[topic] ?? 0) - (recent[at].topics[topic] ?? 0)) / Math.max(0.2, (each.time - recent[at].time) / 1000)));
  return html`<table class="cards"><thead><tr><th>group</th><th>topic</th><th class="num">records</th><th class="num">now</th><th class="num">lag</th><th>rate</th></tr></thead>
    <tbody>${status.groups.map((each) => html`<tr key=${each.group + each.topic}>
      <td><strong title=${each.group}>${each.group.split("switchboard-").at(-1)}</strong></td><td class="mono">${each.topic}</td>
      <td class="num" data-label="records">${number(each.end)}</td><td class="num" data-label="now">${perSecond(rate(history, each.topic))}</td>
      <td class="num ${each.lag > 1000 ? "warn" : ""}" data-label="lag">${each.started || !each.end ? number(each.lag) : `${number(each.lag)} (never read)`}</td>
      <td><${Curve} values=${curve(each.topic)} /></td></tr>`)}</tbody></table>`;
}
