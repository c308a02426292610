// One person's memory: facts, two clocks on a timeline, the graph, what would be sent now.

import { html, useMemo, useState } from "../vendor/preact-htm.js";
import { address, get, getAll, path, useData, usePages } from "../api.js";
import { useLive } from "../live.js";
import { announce, Bar, Chip, ConversationLink, Curve, day, Empty, FactLink, inert, LiveMark, MOST_ROWS, More, number, plural, Said, share, Shown, useNarrow, When } from "../parts.js";
import { setQuery, useRoute } from "../router.js";
import Graph from "./graph.js";
import { Nearest } from "./people.js";
import { Unread, Waits } from "./waits.js";

const TABS = [["", "facts"], ["timeline", "timeline"], ["graph", "graph"], ["context", "context now"]];
const DAY = 86400000;
const SIGNS = { merged_into: "⇢", superseded: "⇥", ended: "■" };
export const TONES = { active: "good", superseded: "", contradicted: "warn", ended: "", merged_into: "", deprecated: "bad" };

export default function Person({ id }) {
  const { query } = useRoute();
  const tab = query.tab ?? "";
  const [changes, setChanges] = useState({});
  const data = useData(`facts ${id}`, (signal) => getAll("/v1/facts", { user_id: id, status: "any", limit: 500, cursorName: "start" }, "facts", signal, 5000));
  const live = useLive({ user_id: id, kinds: "fact" }, {
    load: data.reload,
    event: (event) => {
      setChanges((before) => ({ ...before, [event.key]: event.value }));
      if (event.value) announce(`${event.value.change}: ${event.value.statement}`);
    },
  });
  return html`<div class="head"><h1><${Said} text=${id} /></h1><${Counts} data=${data.data} changes=${changes} />
      <a href=${address("/conversations", { user_id: id })}>conversations</a> <a href=${address("/search", { user_id: id })}>search</a> <a href=${path`/v1/people/${id}/export`} download=${`${id}.jsonl`}>export</a>
      <span class="end"><${LiveMark} state=${live} /></span></div>
    <div class="tools tabs" role="tablist">${TABS.map(([value, name]) =>
      html`<button role="tab" aria-selected=${tab === value ? "true" : "false"} onClick=${() => setQuery({ tab: value }, { push: true })}>${name}</button>`)}</div>
    ${tab === "context"
      ? html`<${ContextNow} id=${id} wanted=${query.conversation_id} />`
      : html`<${Shown} of=${data} what="facts">${(found) => html`<${Memory} id=${id} found=${found} changes=${changes} tab=${tab} query=${query} retry=${data.reload} />`}<//>`}`;
}

function merged(facts, changes) {
  const all = new Map(facts.map((each) => [each.fact_id, each]));
  for (const [key, fact] of Object.entries(changes)) {
    if (!fact) all.delete(key);
    else if ((all.get(key)?.version ?? 0) <= fact.version) all.set(key, fact);
  }
  return [...all.values()];
}

function Counts({ data, changes }) {
  if (!data) return null;
  const facts = merged(data.facts, changes);
  const by = {};
  for (const each of facts) by[each.status] = (by[each.status] ?? 0) + 1;
  // What changed since the page was read may have its vector by now.
  const waiting = facts.filter((each) => data.waiting.includes(each.fact_id) && !changes[each.fact_id]).length;
  const counts = Object.entries(by).map(([status, count]) => `${count} ${statusOf(status)}`);
  if (waiting) counts.push(`${waiting} waiting for ${waiting === 1 ? "its vector" : "their vectors"}`);
  return html`<span class="muted">${plural(facts.length, "fact")}${facts.length ? ` (${counts.join(", ")})` : ""}${data.more ? ", and more" : ""}</span>`;
}

/** A status in words. */
export const statusOf = (status) => status.replace("_into", "").replaceAll("_", " ");

/** What was true, or what was known, at a moment: the version of each fact that stood then. */
export function asOf(fact, time, clock) {
  const when = Date.parse;
  if (clock === "known") {
    if (when(fact.learned_at) > time) return null;
    const change = [...(fact.changes ?? [])].reverse().find((each) => when(each.at) <= time);
    const over = (fact.changes ?? []).find((each) => ["superseded", "contradicted", "ended", "merged", "deprecated"].includes(each.change));
    const ended = over && when(over.at) <= time && fact.status !== "active";
    return { ...fact, confidence: change?.confidence_after ?? fact.confidence, status: ended ? fact.status : "active", change: change?.change ?? fact.change, version: change?.version ?? fact.version };
  }
  const spans = [...fact.past, { valid_from: fact.valid_from, valid_to: fact.valid_to }];
  const holds = spans.some((each) => when(each.valid_from) <= time && (!each.valid_to || when(each.valid_to) > time));
  return holds ? { ...fact, status: "active" } : null;
}

function Memory({ id, found, changes, tab, query, retry }) {
  const facts = useMemo(() => merged(found.facts, changes), [found, changes]);
  if (!facts.length && found.unread) return html`<${Unread} name=${id} retry=${retry} />`;
  if (!facts.length && tab !== "graph") {
    return html`<${Empty} title=${found.known ? "No facts yet" : "Nobody of this name"}>
      ${found.known
        ? html`<p>Something was said, and nothing was learned of it yet.</p><${Waits} user=${id} />`
        : html`<p>Nothing was ever said by or to them. <a href="/people">Who there is</a>.</p><${Nearest} name=${id} to=${(name) => path`/people/${name}`} />`}<//>`;
  }
  const clock = query.clock === "true" ? "true" : "known";
  const last = Math.ceil(Date.now() / DAY) * DAY;
  const began = (each) => (clock === "known" ? [each.learned_at] : [each.valid_from, ...each.past.map((one) => one.valid_from)]);
  const first = Math.floor(Math.min(last - DAY, ...facts.flatMap(began).map(Date.parse)) / DAY) * DAY;
  const time = query.as_of ? Math.max(first, Math.min(last, Date.parse(query.as_of) || last)) : last;
  const today = time >= last;
  const seen = facts.map((each) => (today && clock === "known" ? each : asOf(each, time, clock))).filter(Boolean);
  const slider = html`<div class="tools">
    <label>as of <input type="range" min=${first} max=${last} step=${DAY / 4} value=${time} aria-valuetext=${today ? "today" : new Date(time).toLocaleString()}
      onInput=${(event) => setQuery({ as_of: Number(event.target.value) >= last ? "" : new Date(Number(event.target.value)).toISOString() })} /></label>
    <strong class="num">${today ? "today" : day(time)}</strong>
    <span role="radiogroup" aria-label="Which clock" class="tabs">
      <label><input type="radio" name="clock" checked=${clock === "true"} onChange=${() => setQuery({ clock: "true" })} />was true</label>
      <label><input type="radio" name="clock" checked=${clock === "known"} onChange=${() => setQuery({ clock: "" })} />was known</label></span></div>`;
  if (tab === "timeline") return html`${slider}<${Timeline} facts=${facts} time=${time} first=${first} last=${last} clock=${clock} />`;
  if (tab === "graph") return html`${slider}<${Graph} id=${id} query=${query} as=${{ time, clock }} round=${Object.keys(changes).length} />`;
  return html`${slider}<${Table} facts=${seen} all=${facts.length} query=${query} />`;
}

function Table({ facts, all, query }) {
  const kinds = [...new Set(facts.map((each) => each.kind))].sort();
  const least = Number(query.confidence ?? 0.3);
  const status = query.status ?? "active";
  const rows = facts
    .filter((each) => (!query.kind || each.kind === query.kind) && (status === "any" || each.status === status) && each.confidence >= least)
    .sort((a, b) => b.confidence - a.confidence || a.statement.localeCompare(b.statement));
  return html`<div class="tools">
      <label>kind <select value=${query.kind ?? ""} onChange=${(event) => setQuery({ kind: event.target.value })}><option value="">all kinds</option>${kinds.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
      <label>status <select value=${status} onChange=${(event) => setQuery({ status: event.target.value === "active" ? "" : event.target.value })}>${["active", "superseded", "contradicted", "ended", "merged_into", "deprecated", "any"].map((each) => html`<option value=${each}>${statusOf(each)}</option>`)}</select></label>
      <label>confidence ≥ <output>${share(least)}</output> <input type="range" min="0" max="1" step="0.05" value=${least} aria-label="Least confidence" onInput=${(event) => setQuery({ confidence: event.target.value === "0.3" ? "" : event.target.value })} /></label>
      <span class="muted">${number(Math.min(rows.length, MOST_ROWS))} of ${number(all)} shown</span></div>
    ${rows.length === 0
      ? html`<${Empty} title="None of these"><p>${plural(all, "fact")} are known; none matches the filters. <button onClick=${() => setQuery({ kind: "", status: "any", confidence: "0", as_of: "", clock: "" })}>Show all</button></p><//>`
      : html`<div class="tablebox"><table class="cards"><thead><tr><th class="num">conf</th><th>kind</th><th>statement</th><th>since</th><th class="num">said</th><th>last change</th><th>course</th></tr></thead>
      <tbody>${rows.slice(0, MOST_ROWS).map((each) => html`<tr key=${each.fact_id} class=${each.status === "active" ? "" : "faded"}>
        <td class="num">${share(each.confidence)}</td><td>${each.kind}</td>
        <td class="wide"><span data-row-holder><${FactLink} fact=${each} /></span> ${each.status !== "active" && html`<${Chip} tone=${TONES[each.status]}>${SIGNS[each.status] ?? "✗"} ${statusOf(each.status)}${each.valid_to ? ` ${day(each.valid_to)}` : ""}<//>`} ${each.tentative && html`<${Chip}>tentative<//>`}</td>
        <td data-label="since">${day(each.valid_from)}</td><td class="num" data-label="said">${each.evidence_count}×</td><td>${each.change}</td>
        <td><${Curve} values=${(each.changes ?? []).map((one) => one.confidence_after)} width=${64} /></td></tr>`)}</tbody></table></div>`}`;
}

/** Each fact a bar: when it was true, or from when on it was known. */
function Timeline({ facts, time, first, last, clock }) {
  const narrow = useNarrow();
  const rows = [...facts].sort((a, b) => Date.parse(a.valid_from) - Date.parse(b.valid_from)).slice(0, 200);
  // On a telephone a statement stands above its bar, else beside it.
  const [left, width, step, letters, marked] = narrow ? [0, 360, 40, 50, 3] : [300, 860, 22, 44, 5];
  const x = (value) => left + ((Math.max(first, Math.min(last, value)) - first) / Math.max(last - first, 1)) * (width - left - 10);
  const height = rows.length * step + 34;
  const marks = Array.from({ length: marked }, (_, at) => first + ((last - first) * at) / (marked - 1));
  return html`<section class="panel"><svg class="timeline" viewBox="0 0 ${width} ${height}" role="group" aria-label=${`Timeline of ${plural(rows.length, "fact")}; the tab facts has the same as a table`}>
    ${marks.map((each, at) => html`<g><line class="grid" x1=${x(each)} x2=${x(each)} y1="18" y2=${height} /><text class="small" x=${x(each)} y="12" text-anchor=${at === marked - 1 ? "end" : at ? "middle" : "start"}>${at === marked - 1 ? "today" : day(each)}</text></g>`)}
    ${rows.map((each, at) => {
      const y = 24 + at * step;
      const spans = clock === "true"
        ? [...each.past.map((one) => [one.valid_from, one.valid_to]), [each.valid_from, each.valid_to]]
        : [[each.learned_at, each.status === "active" ? null : each.changed_at]];
      const text = inert(each.statement.length > letters ? `${each.statement.slice(0, letters - 1)}…` : each.statement);
      return html`<g key=${each.fact_id}><a href=${address(path`/facts/${each.fact_id}`, { user_id: each.user_id })}><title>${each.statement}</title><text x="0" y=${y + 12} direction="auto">${text}</text>
        ${spans.map(([from, to]) => html`<rect class="span ${to ? "over" : ""}" x=${x(Date.parse(from))} y=${y + (narrow ? 18 : 3)} height="11" rx="3" width=${Math.max(3, x(to ? Date.parse(to) : last) - x(Date.parse(from)))} opacity=${0.35 + each.confidence * 0.65} />`)}</a></g>`;
    })}
    <line class="now" x1=${x(time)} x2=${x(time)} y1="16" y2=${height} /></svg>
    ${facts.length > rows.length && html`<p class="muted">The first 200 of ${number(facts.length)}; the tab facts has all.</p>`}</section>`;
}

/* ---- the prompt laid open --------------------------------------------------------------------------------------- */

const LEFT_OUT = { no_room: "no room", too_large: "too large", like_another: "says the same as another", enough: "enough of its kind", unlike: "nothing to do with what was said", ended: "no longer holds", erased: "erased" };

/** A tier in words: what it takes of what it may take, and how much of it. */
const told = (tier, use) =>
  `${tier} · ${number(use?.tokens ?? 0)} of ${number(use?.limit ?? 0)} tokens · ${use?.items ? `${plural(use.items, "item")} in the prompt` : "nothing in the prompt"}${use?.left_out ? `, ${use.left_out} left out` : ""}`;

export function Tiers({ context }) {
  const tiers = new Map(context.tiers.map((each) => [each.tier, []]));
  for (const each of context.items) (tiers.get(each.tier) ?? tiers.set(each.tier, []).get(each.tier)).push(each);
  const use = new Map(context.tiers.map((each) => [each.tier, each]));
  return html`<p>prompt: <strong>${number(context.tokens)} of ${number(context.budget)} tokens</strong> <${Bar} value=${context.tokens} most=${context.budget} tone="wide" /></p>
    ${[...tiers].map(([tier, items]) => items.length === 0 ? html`<p class="muted tier" key=${tier}>${told(tier, use.get(tier))}</p>` : html`<details class="tier" key=${tier} open=${tier !== "recent"}><summary>${told(tier, use.get(tier))}</summary>
      <ul class="prompt-items">${items.map((each) => html`<li key=${each.id} class=${each.left_out ? "faded" : ""}><span class="num muted">${each.tokens} tok</span>
        <span><${Said} text=${each.text} /> ${each.quoted && html`<${Chip} tone="accent">quoted${each.n ? ` [${each.n}]` : ""}<//>`} ${each.left_out ? html`<${Chip}>found, left out: ${LEFT_OUT[each.left_out] ?? each.left_out}<//>` : html`<${Chip} tone="good">in the prompt<//>`}
        ${each.conversation_id && html` <${ConversationLink} id=${each.conversation_id} at=${each.message_ids?.[0]}>where<//>`}</span></li>`)}</ul></details>`)}`;
}

function ContextNow({ id, wanted }) {
  const list = usePages(`conversations ${id}`, "/v1/conversations", { user_id: id }, "conversations", 100);
  const chosen = wanted ?? list.data?.conversations?.[0]?.conversation_id ?? null;
  const context = useData(chosen === null ? null : `context ${id} ${chosen}`, (signal) => get(address("/v1/context", { user_id: id, conversation_id: chosen }), { signal }));
  return html`<${Shown} of=${list} what="conversations">${(found) => found.conversations.length === 0
    ? html`<${Empty} title="No conversation"><p>What is sent depends on what was said last, and nothing was.</p><//>`
    : html`<div class="tools"><label>before the next turn of <select value=${chosen} onChange=${(event) => setQuery({ conversation_id: event.target.value })}>${[...new Set([...found.conversations.map((each) => each.conversation_id), chosen])].map((each) => html`<option value=${each}>${each}</option>`)}</select></label> <${More} of=${list} count=${found.conversations.length} /></div>
      <${Shown} of=${context} what="the context">${(answer) => {
        const made = answer.context ?? answer;
        return html`<section class="panel"><p class="muted">made <${When} at=${made.made_at} clock /> after message #${made.after_index}, ${made.by_meaning ? "by meaning and words" : "by words only: the embedder was busy"}</p><${Tiers} context=${made} /></section>`;
      }}<//>`}<//>`;
}
