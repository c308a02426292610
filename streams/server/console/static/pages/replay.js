// A replay beside the live generation: what each of them knows, would tell a model, and has paid.

import { html } from "../vendor/preact-htm.js";
import { get, path, useData } from "../api.js";
import { Chip, ConversationLink, number, PersonLink, plural, Said, Shown, When } from "../parts.js";

export default function Replay({ id }) {
  // It is answered when all has been read, however long that takes.
  const data = useData(`replay ${id}`, (signal) => get(path`/v1/replays/${id}`, { signal, timeout: 0 }));
  return html`<div class="head"><h1>live <span class="muted">|</span> <${Said} text=${id} /></h1>
      ${data.data && html`<span class="muted">as of <${When} at=${data.data.compared_at} clock /></span>`}
      <span class="end tools"><a href="/replays">all replays</a><button disabled=${data.loading} onClick=${data.reload}>Compare again</button></span></div>
    ${data.loading && html`<p class="muted lead" role="status">Both are read from their beginning: what is found counts for a minute.</p>`}
    <${Shown} of=${data} what="the comparison">${(made) => html`<${Both} made=${made} />`}<//>`;
}

const TITLES = { "memory.facts.v1": "Facts", "memory.summaries.v1": "Summaries" };

function Both({ made }) {
  return html`${!made.caught_up && html`<p class="banner note" role="status">${made.generation} has still ${plural(made.left, "record")} to read, which makes a difference.</p>`}
    <${Numbers} made=${made} />
    ${made.topics.map((each) => html`<${Topic} key=${each.topic} topic=${each} name=${made.generation} />`)}
    <${Contexts} of=${made.contexts} name=${made.generation} />`;
}

/** How much there is of each, and what it has paid. */
function Numbers({ made: { topics, contexts, paid, generation } }) {
  const rows = [
    ...topics.map((each) => [TITLES[each.topic] ?? each.topic, number(each.live_keys), number(each.replayed_keys)]),
    [`Tokens of ${plural(contexts.compared, "context")}`, number(contexts.live_tokens), number(contexts.replayed_tokens)],
    ["Answers of models paid", number(paid.live.answers), number(paid[generation].answers)],
    ["Paid for them", dollars(paid.live.cost_usd), dollars(paid[generation].cost_usd)],
  ];
  return html`<section class="panel"><h2>In numbers</h2>
    <table class="beside"><thead><tr><td></td><th scope="col" class="num">live</th><th class="num">${generation}</th></tr></thead>
    <tbody>${rows.map(([what, live, replayed]) => html`<tr><th scope="row">${what}</th><td class="num">${live}</td><td class="num">${replayed}</td></tr>`)}</tbody></table>
    <p class="muted">An answer of a model is paid once, by the generation that asked first; the other finds it in the memo.</p></section>`;
}

const dollars = (value) => `$${value.toFixed(4)}`;

/** Differences, in the words of a page that has the live one on its left. */
const WORDS = [["removed", "only live"], ["created", "only in the replay"], ["changed", "changed"], ["traced", "traced otherwise"]];

function Topic({ topic, name }) {
  const kinds = Object.entries(topic.kinds);
  return html`<section class="panel"><h2>${TITLES[topic.topic] ?? topic.topic} <${Verdict} of=${topic} /></h2>
    ${kinds.length === 0
      ? html`<p class="muted">${topic.live_keys ? `All ${number(topic.live_keys)} are the same in both.` : "Neither has any."}</p>`
      : html`<table class="cards"><thead><tr><th>kind</th>${WORDS.map(([, words]) => html`<th class="num">${words}</th>`)}</tr></thead>
        <tbody>${kinds.map(([kind, each]) => html`<tr key=${kind}><td><strong>${kind}</strong></td>${WORDS.map(([what, words]) => html`<td class="num" data-label=${words}>${number(each[what])}</td>`)}</tr>`)}</tbody></table>
        ${kinds.map(([kind, each]) => html`<${Examples} key=${kind} kind=${kind} of=${each} name=${name} />`)}`}</section>`;
}

const Verdict = ({ of }) => html`<${Chip} tone=${of.same ? "good" : "warn"} title=${`digests: live ${of.live_digest}, replay ${of.replayed_digest}`}>${of.equal ? "equal" : of.same ? "the same facts" : "different"}<//>`;

function Examples({ kind, of, name }) {
  const rows = WORDS.flatMap(([what, words]) => (of.examples[what] ?? []).map((each) => ({ ...each, words, total: of[what] })));
  if (!rows.length) return null;
  return html`<table class="beside"><caption>Examples of ${kind}</caption><thead><tr><th>live</th><th>${name}</th></tr></thead>
    <tbody>${rows.map((each) => html`<tr key=${each.words + each.key}><td><${Side} text=${each.live} /></td>
      <td><${Side} text=${each.replayed} />${each.fields.length > 0 && html`<p class="muted">differs in ${each.fields.join(", ")}</p>`}</td></tr>`)}</tbody></table>`;
}

const Side = ({ text }) => (text ? html`<${Said} text=${text} />` : html`<span class="muted">nothing</span>`);

function Contexts({ of, name }) {
  const differ = of.compared - of.same;
  return html`<section class="panel"><h2>Contexts</h2>
    <p class="lead">After the latest turn of ${plural(of.compared, "conversation")}: ${number(of.same)} the same, ${number(differ)} differ${of.missing > 0 && `; ${number(of.missing)} have none in ${name} yet`}.${differ > of.differences.length && ` The ${of.differences.length} with most differences:`}</p>
    ${of.differences.map((each) => html`<${Turn} key=${each.conversation_id} of=${each} name=${name} />`)}</section>`;
}

/** What a model would be told before the next turn, both ways. */
function Turn({ of, name }) {
  return html`<table class="beside"><caption><${ConversationLink} id=${of.conversation_id} /> of <${PersonLink} id=${of.user_id} /></caption>
    <thead><tr><th>live, ${plural(of.live_tokens, "token")}</th><th>${name}, ${plural(of.replayed_tokens, "token")}</th></tr></thead>
    <tbody><tr><td><${Lines} of=${of.only_live} /></td><td><${Lines} of=${of.only_replayed} /></td></tr>
    ${of.both.length > 0 && html`<tr><td colspan="2"><details><summary>${plural(of.both.length, "line")} in both</summary><${Lines} of=${of.both} /></details></td></tr>`}</tbody></table>`;
}

const Lines = ({ of }) => (of.length ? html`<ul class="lines">${of.map((each) => html`<li><span class="muted">${each.tier}</span> <${Said} text=${each.text} /></li>`)}</ul>` : html`<span class="muted">nothing else</span>`);
