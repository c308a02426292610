// One fact: what it rests on, how it came to be what it is, where it was used.

import { html, useState } from "../vendor/preact-htm.js";
import { address, get, path, send, useData } from "../api.js";
import { useLive } from "../live.js";
import { Ask, Bar, Chip, ConversationLink, Curve, FactLink, LiveMark, PersonLink, Place, plural, Said, share, Shown, useTitle, When } from "../parts.js";
import { useRoute } from "../router.js";
import { statusOf, TONES } from "./person.js";

export default function FactPage({ id }) {
  const { query } = useRoute();
  const [newer, setNewer] = useState(undefined);
  const [left, setLeft] = useState(null);
  const data = useData(`fact ${id}`, (signal) => get(address(path`/v1/facts/${id}`, { user_id: query.user_id }), { signal }));
  const user = query.user_id ?? data.data?.user_id;
  const live = useLive(user ? { user_id: user, kinds: "fact" } : null, {
    load: data.reload,
    event: (event) => event.key === id && setNewer(event.value),
  });
  if (newer === null || left) return html`<section class="state empty" role="status"><h1>Erased</h1><p>This fact, and all that it said, is gone from search.</p>
    ${left && html`<p>In topics it remains until they are compacted, <${When} at=${left.compacted} /> at the latest; in those that never are, until <${When} at=${Object.values(left.kept).sort().at(-1) ?? left.compacted} />.</p>`}</section>`;
  // One that was learned this moment is seen before it can be looked up.
  const shown = newer && !data.data ? { data: newer } : data;
  return html`<${Shown} of=${shown} what="the fact">${(answer) => {
    const stored = answer.fact ?? answer;
    const fact = newer && newer.version >= stored.version ? newer : stored;
    return html`<${Whole} fact=${fact} live=${live} reload=${data.reload} forgotten=${setLeft} />`;
  }}<//>`;
}

function Whole({ fact, live, reload, forgotten }) {
  useTitle(fact.statement);
  const sources = [...fact.provenance].sort((a, b) => Date.parse(a.sent_at) - Date.parse(b.sent_at));
  const changes = fact.changes ?? [];
  return html`
    <div class="head"><h1><${Said} text=${fact.statement} /></h1><${Chip} tone=${TONES[fact.status]}>${statusOf(fact.status)}<//><span class="end"><${LiveMark} state=${live} /></span></div>
    <div class="columns"><section class="panel"><h2>What is known</h2><dl class="facts">
      <dt>person</dt><dd><${PersonLink} id=${fact.user_id} />${fact.tenant_id !== "default" ? html` <span class="muted">tenant ${fact.tenant_id}</span>` : ""}</dd>
      <dt>confidence</dt><dd><strong class="num">${share(fact.confidence)}</strong> <${Bar} value=${fact.confidence} /> <${Curve} values=${changes.map((each) => each.confidence_after)} label="Confidence over its changes" /></dd>
      <dt>kind</dt><dd>${fact.kind}${fact.tentative ? ", tentative: never said surely" : ""}</dd>
      ${fact.attribute && html`<dt>slot</dt><dd><${Said} text=${[fact.subject, fact.attribute, fact.value].filter(Boolean).join(" · ")} />${fact.polarity === "negated" ? " (not so)" : ""}</dd>`}
      <dt>true</dt><dd>since <${When} at=${fact.valid_from} />${fact.valid_to ? html` until <${When} at=${fact.valid_to} />` : ""}</dd>
      ${fact.past.length > 0 && html`<dt>before that</dt><dd>${fact.past.map((each) => html`<div><${When} at=${each.valid_from} /> – <${When} at=${each.valid_to} /></div>`)}</dd>`}
      <dt>known</dt><dd>since <${When} at=${fact.learned_at} />, last supported <${When} at=${fact.last_evidence_at} /></dd>
      ${fact.superseded_by && html`<dt>instead holds</dt><dd><${FactLink} fact=${{ fact_id: fact.superseded_by, user_id: fact.user_id }}>${fact.superseded_by}<//></dd>`}
      ${fact.merged_into_id && html`<dt>is part of</dt><dd><${FactLink} fact=${{ fact_id: fact.merged_into_id, user_id: fact.user_id }}>${fact.merged_into_id}<//></dd>`}
      <dt>id</dt><dd class="mono">${fact.fact_id}</dd></dl>
      <${Actions} fact=${fact} reload=${reload} forgotten=${forgotten} /></section>
    <section class="panel"><h2>History</h2><ol>${[...changes].reverse().map((each) => html`<li key=${each.version} class="tools">
        <strong class="num">v${each.version}</strong><${When} at=${each.at} /><${Chip} tone=${each.change === "contradicted" ? "warn" : ""}>${each.change}<//>
        <span class="num">${each.confidence_before != null ? `${share(each.confidence_before)} → ` : ""}${share(each.confidence_after)}</span>
        ${each.fact_id && html`<span>by <${FactLink} fact=${{ fact_id: each.fact_id, user_id: fact.user_id }}>another fact<//></span>`}
        ${each.window_id && html`<span class="muted mono" title=${each.window_id}>window ${each.window_id.slice(0, 8)}</span>`}</li>`)}</ol>
      ${fact.version > changes.length && changes.length > 0 && html`<p class="muted">The last ${changes.length} of ${fact.version} changes.</p>`}</section></div>
    <section class="panel"><h2>Evidence · ${plural(fact.evidence_count, "time")} said</h2>
      <ul>${sources.map((each) => html`<li key=${each.window_id + each.message_ids.join()} class="results"><blockquote>“<${Said} text=${each.quote} />”</blockquote>
        ${each.corrected_by ? html`<p class="muted">corrected by hand, by <${Said} text=${each.corrected_by} />, <${When} at=${each.sent_at} /></p>` : html`<p class="muted"><${ConversationLink} id=${each.conversation_id} at=${each.message_ids.at(-1)} /> · said <${When} at=${each.sent_at} /> · <${Place} topic=${each.topic} partition=${each.partition} offset=${each.offsets.length > 1 ? `${each.offsets[0]}–${each.offsets.at(-1)}` : each.offsets[0]} /> · <${ConversationLink} id=${each.conversation_id} at=${each.message_ids.at(-1)}>open there<//></p>`}</li>`)}</ul></section>
    <${Uses} fact=${fact} />`;
}

/** Where it was used: looked up by itself, for it takes longer than all else on the page. */
function Uses({ fact }) {
  const data = useData(`uses ${fact.fact_id}`, (signal) => get(address(path`/v1/facts/${fact.fact_id}`, { user_id: fact.user_id, uses: true }), { signal }));
  return html`<section class="panel"><h2>Used in</h2><${Shown} of=${data} what="its uses">${({ uses }) => !uses?.length
    ? html`<p class="muted">No prompt or answer that is still kept.</p>`
    : html`<ul>${uses.map((each) => html`<li class="tools"><${When} at=${each.at} /> ${each.kind === "answer" ? "an answer in" : "the context of"} <${ConversationLink} id=${each.conversation_id} at=${each.message_id} /> ${each.quoted ? html`<${Chip} tone="accent">quoted<//>` : html`<${Chip} tone="good">in the prompt<//>`}</li>`)}</ul>`}<//></section>`;
}

function Actions({ fact, reload, forgotten }) {
  const [said, setSaid] = useState("");
  const [open, setOpen] = useState(false);
  const correct = async (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("text").trim();
    try {
      const told = await send("POST", address(path`/v1/facts/${fact.fact_id}/correct`, { user_id: fact.user_id }), { text });
      setOpen(false);
      setSaid(told.ends
        ? "Corrected: it ends, and nothing takes its place."
        : html`Corrected: <${FactLink} fact=${{ fact_id: told.instead, user_id: fact.user_id, statement: told.statement }} /> takes its place within seconds.`);
      reload();
    } catch (problem) {
      setSaid(problem.message || "Nothing answers.");
    }
  };
  const forget = async () => forgotten(await send("DELETE", address(path`/v1/facts/${fact.fact_id}`, { user_id: fact.user_id })));
  return html`<div class="tools">
    <button aria-expanded=${open} onClick=${() => setOpen(!open)}>Correct …</button>
    <${Ask} label="Forget …" tone="danger" question="It goes from search at once, and what it said from the log within a day or so. What was said in the conversation stays." confirm="Forget it" act=${forget} />
    ${said && html`<p role="status"><span dir="auto">${said}</span></p>`}</div>
    ${open && html`<form class="signin" onSubmit=${correct}><label>What is true instead: a value, or in the person's own words <input name="text" required size="44" maxlength="1024" placeholder="I live in Munich now." /></label><button class="main">Correct it</button>
      <p class="muted">What you say takes the place of this fact, by your hand: the history of both says so.</p></form>`}`;
}
