// Search, explained: what each part added, what was left out, why an answer is empty.

import { html, useEffect, useRef } from "../vendor/preact-htm.js";
import { address, path, send, useData } from "../api.js";
import { Bar, Chip, ConversationLink, Empty, FactLink, number, PersonLink, plural, Said, share, Shown, When } from "../parts.js";
import { setQuery, useRoute } from "../router.js";
import { Nearest } from "./people.js";
import { PartlyRead, Unread, Waits } from "./waits.js";

const TYPES = ["both", "facts", "episodes", "turns"];

// Of a score so many parts are shown at once; what they say of what was found.
const MOST_PARTS = 4;
const WORDS = {
  meaning: "how near in meaning to the question", around: "how many rare words of the question it has, with what was said before and after it",
  speaker: "who said it", near: "whether what stands beside it is near to the question", session_words: "how many words of the question its conversation has",
  length: "how long it is", question: "whether it asks something itself", importance: "how important the fact is", lacks: "whether the time, number or name asked for is missing",
  graph: "whether it says what is tied to whom the question names", source: "a fact above quotes it",
};

export default function Search() {
  const { query } = useRoute();
  const box = useRef(null);
  useEffect(() => box.current?.focus(), []);
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    setQuery({ q: form.get("q").trim(), user_id: form.get("user").trim(), limit: form.get("limit") === "5" ? "" : form.get("limit") }, { push: true });
  };
  const type = query.search_type ?? "both";
  const ready = Boolean(query.q && query.user_id);
  const wanted = { q: query.q, user_id: query.user_id, search_type: type, limit: Number(query.limit ?? 5), explain: true };
  if (query.minimum_confidence) wanted.minimum_confidence = Number(query.minimum_confidence);
  if (query.as_of) wanted.as_of = query.as_of;
  if (query.kind) wanted.kind = query.kind;
  const data = useData(ready ? JSON.stringify(wanted) : null, async (signal) => {
    const began = performance.now();
    const found = await send("POST", "/v1/search", wanted, { signal });
    return { ...found, took: performance.now() - began };
  });
  return html`<div class="head"><h1>Search</h1></div>
    <form class="searchbox" role="search" onSubmit=${submit}>
      <input id="q" name="q" type="search" ref=${box} value=${query.q ?? ""} aria-label="Question" placeholder="what do you want to know?" dir="auto" autocomplete="off" required />
      <label>person <input name="user" value=${query.user_id ?? ""} size="12" required autocomplete="off" /></label>
      <label>limit <input name="limit" type="number" min="1" max="100" value=${query.limit ?? "5"} /></label>
      <button class="main">Search</button>
      <span class="tabs" role="group" aria-label="What to search">${TYPES.map((each) => html`<button type="button" aria-pressed=${type === each} onClick=${() => setQuery({ search_type: each === "both" ? "" : each })}>${each}</button>`)}</span>
    </form>
    ${ready ? html`<${Shown} of=${data} what="answers">${(found) => html`<${Found} found=${found} query=${query} retry=${data.reload} />`}<//>`
      : html`<p class="muted">A question in words, and whose memory it is asked of. What is found says why.</p>`}`;
}

function Found({ found, query, retry }) {
  const { scope } = found;
  const about = [`tenant ${scope.tenant_id}`, `confidence ≥ ${scope.minimum_confidence}`];
  if (scope.conversation_id) about.push(`conversation ${scope.conversation_id}`);
  if (scope.as_of) about.push(`as of ${scope.as_of}`);
  if (scope.kinds?.length) about.push(scope.kinds.join(", "));
  const why = found.explanation;
  const times = Object.entries(why?.milliseconds ?? {}).filter(([, ms]) => ms >= 0.5);
  return html`<p class="muted lead">searched: <${PersonLink} id=${scope.user_id} />, ${about.join(", ")} · ${Math.round(found.took)} ms${times.length ? ` (${times.map(([name, ms]) => `${name} ${Math.round(ms)}`).join(", ")})` : ""}${why ? ` · ${plural(why.candidates, "candidate")}` : ""} · ${found.degraded ? html`<strong class="warn">degraded: the embedder gave no answer in time, or Qdrant is older than 1.20</strong>` : "embedder: up"}</p>
    ${found.results.length === 0 ? html`<${Nothing} found=${found} query=${query} retry=${retry} />` : html`<ol class="results panel">${found.results.map((each, at) => html`<${Result} key=${at} each=${each} at=${at} />`)}</ol>`}
    ${why && html`<${LeftOut} why=${why} />`}`;
}

const REASONS = { below_floor: "that answer too badly", same_source: "that rest on a message of another", beyond_limit: "beyond the limit" };

function LeftOut({ why }) {
  const counts = Object.entries(why.left_out).filter(([, count]) => count);
  if (!counts.length) return null;
  const told = counts.map(([name, count]) => `${number(count)} ${REASONS[name] ?? name.replaceAll("_", " ")}`).join(" · ");
  if (!why.best.length) return html`<p class="muted">left out: ${told}</p>`;
  return html`<details class="panel"><summary>left out: ${told}</summary>
    <ol class="results">${why.best.map((each) => html`<li key=${each.position}><div class="line"><span class="num muted">${each.position}</span><strong class="num">${share(each.score)}</strong><span class="text"><${Said} text=${each.text} /></span></div></li>`)}</ol></details>`;
}

function Result({ each, at }) {
  const parts = Object.entries(each.parts).filter(([, value]) => Math.abs(value) >= 0.005).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const most = Math.max(...parts.map(([, value]) => Math.abs(value)), 0.01);
  const draw = ([name, value]) => html`<span title=${WORDS[name]}>${name.replaceAll("_", " ")} <${Bar} value=${Math.abs(value)} most=${most} tone=${value < 0 ? "warn" : ""} /> <span class="num">${value < 0 ? "−" : "+"}${share(Math.abs(value))}</span></span>`;
  return html`<li><div class="line"><span class="num muted">${at + 1}</span><strong class="num">${share(each.score)}</strong>
      <span class="text">${each.fact ? html`<${FactLink} fact=${each.fact} />` : html`<${ConversationLink} id=${each.conversation_id} at=${each.message_ids[0]}><${Said} text=${each.text} /><//>`}</span><${Chip}>${each.kind}<//></div>
    <div class="parts">${parts.slice(0, MOST_PARTS).map(draw)}
      ${each.fact && html`<span>confidence ${share(each.fact.confidence)}</span><span>since <${When} at=${each.fact.valid_from} /></span>`}
      <${ConversationLink} id=${each.conversation_id} at=${each.message_ids[0]}>where it was said<//></div>
    ${parts.length > MOST_PARTS && html`<details class="rest"><summary>${parts.length - MOST_PARTS} that weigh less</summary><div class="parts">${parts.slice(MOST_PARTS).map(draw)}</div></details>`}</li>`;
}

function Nothing({ found, query, retry }) {
  const name = html`<${Said} text=${query.user_id} />`;
  if (found.empty === "not_read_yet") return html`<${Unread} name=${query.user_id} retry=${retry} />`;
  if (found.empty === "unknown_person") {
    return html`<${Empty} title="Nobody of that name"><p>Nothing was ever said by or to ${name}. <a href="/people">Who there is</a>.</p>
      <${Nearest} name=${query.user_id} to=${(other) => address("/search", { ...query, user_id: other })} /><//>`;
  }
  if (found.empty === "unknown_conversation") return html`<${Empty} title="No such conversation"><p>Nothing was said in it by or to ${name}.</p><//>`;
  const none = found.empty === "no_facts";
  return html`<${Empty} title=${none ? "No fact is known yet" : "Nothing of what is known answers"}><p>${none ? html`Nothing that was said by or to ${name} answers this, and no fact about them was learned so far.` : html`There is a memory of ${name}, and nothing in it answers this. <a href=${path`/people/${query.user_id}`}>What is known</a>.`}</p>
    ${found.unread && html`<${PartlyRead} name=${query.user_id} retry=${retry} />`}
    <${Waits} user=${query.user_id} /><//>`;
}
