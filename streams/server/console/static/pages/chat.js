// A chat with memory: each turn shows what was understood, what was sent to the model, what was said already.

import { html, useEffect, useReducer, useRef, useState } from "../vendor/preact-htm.js";
import { address, get, path, Problem, request, send, useData } from "../api.js";
import { readEvents, useLive } from "../live.js";
import { announce, Ask, Bar, Chip, Empty, number, plural, Said, share, Shown, Trouble, useNarrow } from "../parts.js";
import { random } from "../random.js";
import { go, setQuery, useRoute } from "../router.js";
import { Summary } from "./conversation.js";
import { latestFirst } from "./conversations.js";
import { Tiers } from "./person.js";
import { Unanswered, useKept, WrittenDown } from "./unanswered.js";

export default function Chat({ id }) {
  const { query } = useRoute();
  const session = useData("session", (signal) => get("/v1/session", { signal }));
  const user = query.user_id ?? session.data?.user_id ?? "";
  if (!user) {
    return html`<div class="head"><h1>Chat</h1></div>${session.problem ? html`<${Trouble} problem=${session.problem} retry=${session.reload} />` : html`<${WhoAreYou} waiting=${session.loading} />`}`;
  }
  return html`<div class="head"><h1>Chat</h1><span class="muted">as <${Said} text=${user} /></span> <a href=${path`/people/${user}`}>what is known</a>
      ${id && html`<a class="end" href=${path`/conversations/${id}`}>windows and facts of this conversation</a>`}</div>
    <div class="chat"><${List} user=${user} current=${id} fresh=${Boolean(query.fresh)} />${id
      ? html`<${Conversation} key=${id} id=${id} user=${user} turn=${query.turn} at=${query.at} before=${query.before} fresh=${Boolean(query.fresh)} quotes=${session.data?.responder === "builtin"} />`
      : html`<${Empty} title="Say something"><p>Choose a conversation, or begin a new one. What you tell is remembered across conversations.</p><p><${New} user=${user} /></p><//>`}</div>`;
}

function WhoAreYou({ waiting }) {
  const submit = (event) => {
    event.preventDefault();
    setQuery({ user_id: new FormData(event.target).get("user").trim() });
  };
  if (waiting) return html`<p class="state loading" role="status">Loading …</p>`;
  return html`<section class="state empty"><h2>Who is speaking?</h2>
    <p>Memory belongs to a person. Choose the name under which yours is kept.</p>
    <form class="signin" onSubmit=${submit}><label>Person <input name="user" required autocomplete="off" maxlength="256" /></label><button class="main">Go on</button></form></section>`;
}

function New({ user }) {
  // A conversation begins with its first message; its name is anything that nobody else has.
  const begin = () => {
    go(address(path`/chat/${`chat-${random()}`}`, { user_id: user, fresh: 1 }));
  };
  return html`<button class="main" onClick=${begin}>+ New</button>`;
}

function List({ user, current, fresh }) {
  const data = useData(`list ${user} ${current} ${fresh}`, (signal) => get(address("/v1/conversations", { user_id: user, limit: 100 }), { signal }));
  const narrow = useNarrow();
  const list = html`<${Shown} of=${data} what="conversations" brief=${Boolean(current)}>${(found) => html`<ul class="chatlist">${latestFirst(found.conversations).map((each) => html`<li key=${each.conversation_id} aria-current=${each.conversation_id === current ? "true" : undefined}>
      <a href=${address(path`/chat/${each.conversation_id}`, { user_id: user })} title=${each.title || each.conversation_id}><${Said} text=${each.title || each.conversation_id} /></a>
      <${Menu} id=${each.conversation_id} title=${each.title} user=${user} gone=${() => (each.conversation_id === current ? go(address("/chat", { user_id: user })) : data.reload())} /></li>`)}</ul>
      ${found.conversations.length === 0 && html`<p class="muted">None yet.</p>`}${found.next && html`<p class="muted">The newest 100. <a href=${address("/conversations", { user_id: user })}>All of them</a></p>`}`}<//>`;
  return html`<aside class="panel" aria-label="Conversations"><p class="tools"><${New} user=${user} /></p>
    ${narrow && current ? html`<details><summary>other conversations</summary>${list}</details>` : list}</aside>`;
}

/* ---- one conversation ------------------------------------------------------------------------------------------- */

/** What is being deleted here: its last events are no reason to ask for it again. */
const leaving = new Set();

const nothing = { turn: null, tokens: null, summaries: [], busy: false, trouble: null };

/** Whether a conversation is known: before its first message was read, asking for it is an error. */
async function isListed(id, user, signal) {
  const found = await get(address("/v1/conversations", { user_id: user, limit: 100 }), { signal });
  return found.conversations.some((each) => each.conversation_id === id);
}

/** A conversation as it is kept, its newest messages or those “before”, and from its log what was noted with each answer. */
async function load(id, user, before, signal) {
  const [found, log] = await Promise.all([
    get(address(path`/v1/conversations/${id}`, { user_id: user, order: "newest", limit: 500, cursor: before }), { signal }),
    get(address(path`/v1/conversations/${id}/log`, { user_id: user }), { signal }).catch(() => ({ events: [] })),
  ]);
  const noted = new Map(log.events.filter((each) => each.kind === "message" && each.value).map((each) => [each.value.message_id, each.value.metadata]));
  return { ...found, before, messages: found.messages.reverse().map((each) => ({ ...each, metadata: noted.get(each.message_id) ?? {} })) };
}

/** What the events of a turn make of what is shown. */
function reduce(state, { name, data, problem }) {
  const turn = state.turn ?? {};
  switch (name) {
    case "begin": return { ...state, busy: true, trouble: null, turn: { said: data.content ?? state.turn?.said, text: "", duplicates: [], notices: [] } };
    case "turn": return { ...state, turn: { ...turn, ...data, again: false, text: "", duplicates: [], notices: [] } };
    case "understanding": return { ...state, turn: { ...turn, understanding: data } };
    case "search": return { ...state, turn: { ...turn, searches: [...(turn.searches ?? []), data] } };
    case "prompt": return { ...state, turn: { ...turn, prompt: data } };
    case "text": return { ...state, turn: { ...turn, again: false, text: turn.text + data.text } };
    case "duplicate": return { ...state, turn: { ...turn, duplicates: [...turn.duplicates, data] } };
    case "notice": return { ...state, turn: { ...turn, notices: [...turn.notices, data] } };
    case "tokens": return { ...state, tokens: data };
    case "summary": return { ...state, turn: { ...turn, summary: data } };
    case "message": return { ...state, turn: { ...turn, message: data, text: data.content } };
    case "end": return { ...state, busy: false, turn: { ...turn, end: data } };
    case "again": return { ...state, turn: { ...turn, again: data } };
    case "trouble": return { ...state, busy: false, trouble: problem };
    case "clear": return { ...state, turn: null, trouble: null };
    default: return state;
  }
}

/**
 * Take a turn, and follow it through broken connections to its end. It has a name of ours: what is said again
 * because nobody knows whether it arrived is said once.
 */
async function takeTurn(id, user, body, dispatch, turnId) {
  let last = "";
  let ended = false;
  let failures = 0;
  let begun = !body;
  let waits = "";
  const read = async (answer) => {
    if (!begun) setQuery({ turn: turnId }); // who is answered at all has been heard
    begun = true;
    for await (const event of readEvents(answer)) {
      const data = JSON.parse(event.data);
      if (event.name === "bye") break;
      if (event.id) last = event.id;
      failures = 0;
      dispatch({ name: event.name, data });
      if (event.name === "end") ended = true;
    }
  };
  const options = { accept: "text/event-stream", timeout: 0 };
  const say = () => request("POST", path`/v1/conversations/${id}/turns`, { body: { turn_id: turnId, ...body }, ...options });
  const goOn = () => request("GET", address(path`/v1/turns/${turnId}/events`, { user_id: user, conversation_id: id }), { ...options, headers: last ? { "last-event-id": last } : {} });
  turnId ??= body.turn_id ?? `t-${random()}`;
  for (;;) {
    try {
      await read(await (begun ? goOn() : say()));
      if (ended) break;
    } catch (error) {
      const passes = !(error instanceof Problem) || error.kind === "offline" || ((begun || failures > 0) && error.kind === "down") || (failures < 4 && error.kind === "full") || error.body.turn_id === turnId;
      if (begun && error.kind === "missing" && failures > 2) {
        dispatch({ name: "end", data: { status: "interrupted", try_again: true, message: "" } });
        break;
      }
      if (!(passes || (begun && error.kind === "missing")) || failures >= 40) return void dispatch({ name: "trouble", problem: error instanceof Problem ? error : new Problem("offline", 0, "") });
      failures += 1;
      waits = error.kind === "full" ? "too many are talking, trying again …" : "";
    }
    dispatch({ name: "again", data: waits || "connecting again …" });
    await new Promise((done) => setTimeout(done, Math.min(4000, 300 * 2 ** failures)));
  }
  setQuery({ turn: "" });
}

const unsaid = { messages: [], tokens: null };

function Conversation({ id, user, turn, at, before, fresh, quotes }) {
  const [state, dispatch] = useReducer(reduce, nothing);
  // Under one key, whether it is known yet or not: what somebody types meanwhile stays in its box.
  const data = useData(`conversation ${id}`, async (signal) => (fresh && !(await isListed(id, user, signal)) ? unsaid : load(id, user, before, signal)));
  const summaries = useData(`summaries ${id} ${fresh}`, async (signal) => fresh ? { summaries: [] } : get(address(path`/v1/conversations/${id}/summaries`, { user_id: user }), { signal }).catch(() => ({ summaries: [] })));
  const down = useRef(null);
  const draft = useRef("");
  if (data.data) down.current = null;
  else if (data.problem && (down.current || data.problem.kind === "down")) down.current = data.problem;
  useEffect(() => {
    // Whoever writes meanwhile keeps the box until the conversation can be shown: a part that is back
    // may not have read the conversation yet, and says that there is none.
    if (!data.problem || !down.current) return undefined;
    const timer = setTimeout(data.reload, 3000);
    return () => clearTimeout(timer);
  }, [data.problem]);
  const spoken = useRef(false);
  const follow = async (body, turnId) => {
    spoken.current = true;
    await takeTurn(id, user, body, dispatch, turnId);
    data.reload();
    summaries.reload();
  };
  useEffect(() => {
    if (turn && !state.turn) follow(null, turn);
  }, []);
  useEffect(() => data.data && data.data.before !== before && data.reload(), [before]);
  const look = () => leaving.has(id) || data.reload();
  useLive({ conversation_id: id, kinds: "message,summary" }, {
    load: look,
    event: (event) => {
      if (event.kind === "summary" && !leaving.has(id)) summaries.reload();
      if (!state.busy) look();
    },
  });
  // Leaving a conversation closes it: what was said is read at once instead of a quarter of an hour later.
  useEffect(() => {
    leaving.delete(id);
    const leave = () => {
      if (!spoken.current || leaving.has(id)) return;
      spoken.current = false;
      fetch(address(path`/v1/conversations/${id}/close`, { user_id: user }), { method: "POST", keepalive: true }).catch(() => {});
    };
    addEventListener("pagehide", leave);
    return () => (removeEventListener("pagehide", leave), leave());
  }, [id]);
  const looks = useRef(0);
  useEffect(() => {
    if (fresh && data.data && data.data !== unsaid) setQuery({ fresh: "" });
    if (!state.turn?.end) looks.current = 0;
    if (!state.turn?.end || data.loading || data.data?.before) return undefined;
    const has = (name) => data.data?.messages?.some((each) => each.message_id === name);
    // What was said is in the list now: the turn that said it is shown there.
    if (has(state.turn.answer_id)) dispatch({ name: "clear" });
    else if (state.turn.message || (state.turn.message_id && !has(state.turn.message_id))) {
      // It is on its way into the log: nobody says when it arrives there.
      const timer = setTimeout(look, Math.min(30000, 500 * 2 ** looks.current));
      looks.current += 1;
      return () => clearTimeout(timer);
    }
    looks.current = 0;
    return undefined;
  }, [data.data, data.loading, state.turn?.end]);
  useEffect(() => state.turn?.end && announce(state.turn.text ? `Answer: ${state.turn.text}` : "The turn has ended"), [state.turn?.end]);
  return html`<section aria-label="Conversation">
    ${down.current ? html`<${Unanswered} problem=${down.current} retry=${data.reload} id=${id} user=${user} draft=${draft} />` : html`<${Shown} of=${data} what="the conversation">${(found) => html`<${Turns} draft=${draft} id=${id} user=${user} found=${found} state=${state} at=${at} fresh=${fresh} quotes=${quotes} summaries=${summaries.data?.summaries ?? []} say=${(body) => (setQuery({ before: "" }), dispatch({ name: "begin", data: body }), follow(body))} />`}<//>`}</section>`;
}

function Turns({ id, user, found, state, at, fresh, quotes, summaries, say, draft }) {
  const written = useKept(id, user);
  const keep = async () => {
    const content = text.current.value.trim();
    if (content && (await written.keep(content))) text.current.value = "";
  };
  const tokens = state.tokens ?? found.tokens;
  const turn = found.before ? null : state.turn;
  const box = useRef(null);
  const jump = useRef(!at); // to the end, whatever is being read: at first, for a word of one's own, on another page
  const page = useRef(found.before);
  if (page.current !== found.before) jump.current = true;
  page.current = found.before;
  // As it is before what is new is drawn: who reads further up, or has opened something, stays there.
  const isAtEnd = box.current && box.current.scrollTop + box.current.clientHeight >= box.current.scrollHeight - 40;
  const text = useRef(null);
  const shown = found.messages.filter((each) => !turn || (each.message_id !== turn.answer_id && !(turn.said && each.message_id === turn.message_id)));
  useEffect(() => {
    if (jump.current || isAtEnd) box.current.scrollTop = box.current.scrollHeight;
    jump.current = false;
  });
  const turnTo = (before) => {
    setQuery({ before, at: "" }, { push: true });
    box.current.focus(); // the button may be gone there
  };
  const tell = (body) => {
    jump.current = true;
    say(body);
  };
  useEffect(() => {
    if (fresh) text.current?.focus();
    text.current.value = draft.current; // what was begun while a part was down
    draft.current = "";
  }, []);
  const submit = (event) => {
    event.preventDefault();
    const content = text.current.value.trim();
    if (!content || state.busy) return;
    text.current.value = "";
    tell({ content, user_id: user });
  };
  useEffect(() => {
    // What was not taken for certain goes back into the box.
    if (state.trouble && turn?.said && !turn.turn_id && text.current && !text.current.value) text.current.value = turn.said;
  }, [state.trouble]);
  const choose = (reading) => {
    tell({ content: reading, user_id: user });
    text.current?.focus();
  };
  const last = shown.at(-1);
  return html`
    ${tokens && html`<p class="tokens"><span>Context: <strong class="num">${number(tokens.total)} / ${number(tokens.threshold)} tokens</strong></span> <${Bar} value=${tokens.total} most=${tokens.threshold} tone=${tokens.total > tokens.threshold * 0.9 ? "wide warn" : "wide"} />
      <span class="muted">messages ${number(tokens.messages)} + summaries ${number(tokens.summaries)}</span></p>`}
    ${(found.next || found.before) && html`<p class="tools muted"><span>${found.messages.length ? `#${found.messages[0].index}–#${found.messages.at(-1).index}` : "None that is kept here,"} of ${plural(found.total, "message")}</span>
        ${found.next && html`<button onClick=${() => turnTo(found.next)}>Earlier ones</button>`}${found.before && html`<button onClick=${() => turnTo("")}>The newest</button>`}</p>`}
    <div class="turns" ref=${box} tabindex="0" aria-label="What was said">
      ${!found.total && !turn && html`<p class="muted">Nothing was said yet.</p>`}
      ${[
        ...shown.map((each, place) => html`<${Message} key=${each.message_id} each=${each} id=${id} lit=${at === each.message_id} choose=${each === last && !turn ? choose : null} understood=${each.role === "user" ? answerOf(shown[place + 1])?.understanding : null} summary=${summaries.find((one) => one.to_index === each.index)} />`),
        ...(turn ? soon(turn) : []).map((each) => html`<${Message} key=${each.message_id} each=${each} id=${id} turn=${turn} busy=${state.busy} choose=${choose} understood=${each.role === "user" ? turn.understanding : null} summary=${each.role === "assistant" ? turn.summary : null} again=${() => say({ turn_id: turn.turn_id, user_id: user })} />`),
      ]}
      ${state.trouble && html`<${Trouble} problem=${state.trouble} />`}
      <${WrittenDown} of=${written} />
    </div>
    <${Summaries} list=${summaries} />
    ${quotes && html`<p class="muted lead">No language model is set up: what is answered is a quotation of what is remembered, with its sources, or that nothing is.</p>`}
    <form class="say" onSubmit=${submit}>
      <textarea ref=${text} name="content" aria-label="Say something" placeholder="say something …" dir="auto" rows="2" onKeyDown=${(event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && submit(event)}></textarea>
      <span class="tools"><button class="main" disabled=${state.busy}>Send ⏎</button>
        ${state.trouble?.kind === "down" && html`<button type="button" onClick=${keep}>Write it down</button>`}
        <button type="button" disabled=${!state.busy || !turn?.turn_id} onClick=${() => send("POST", path`/v1/turns/${turn.turn_id}/stop`, { user_id: user }).catch(() => {})}>Stop</button></span>
    </form>`;
}

function Menu({ id, title, user, gone }) {
  const remove = async () => {
    leaving.add(id);
    try {
      await send("DELETE", address(path`/v1/conversations/${id}`, { user_id: user }));
    } catch (problem) {
      leaving.delete(id);
      throw problem;
    }
    gone();
  };
  return html`<details class="menu"><summary aria-label=${`Export or delete “${title || id}”`}>⋮</summary><p class="tools"><a class="button" href=${address(path`/v1/conversations/${id}/export`, { user_id: user })} download=${`${id}.jsonl`}>Export as JSONL</a>
    <${Ask} label="Delete …" tone="danger" question="What was said in it, and every fact that rests on it alone, goes from search now and from the log as it ages." confirm="Delete it" act=${remove} /></p></details>`;
}

const answerOf = (message) => message?.metadata?.answer;

/** What stands above the readings, where they follow as buttons. */
function above(text, understanding) {
  const at = text.indexOf(understanding.possible_interpretations?.[0] || text);
  return at > 0 ? text.slice(0, at).replace(/\s*1[.)]\s*$/, "") : text;
}

/** The two messages of a turn that is on its way, as they will be in the log but for their places there. */
function soon(turn) {
  const answer = { understanding: turn.understanding, searches: turn.searches, prompt: turn.prompt, ...answerOf(turn.message) };
  const said = { message_id: turn.message_id ?? "said", role: "user", content: turn.said };
  const told = { message_id: turn.answer_id ?? "told", role: "assistant", content: turn.text, metadata: { answer, duplicates: turn.duplicates } };
  return turn.said ? [said, told] : [told];
}

/** A message of the log; with `turn`, one that is on its way there.  It stays the same element, with what is open in it. */
function Message({ each, id, lit, choose, understood, summary, turn, busy, again }) {
  const answer = answerOf(each);
  const clarifying = answer?.understanding?.is_ambiguous && (turn ? turn.end && (turn.end.status === "clarifying" || !turn.prompt) : choose && answer.kind === "clarifying");
  return html`<article class="turn ${each.role}" id=${`m-${each.message_id}`} aria-current=${lit ? "true" : undefined} aria-busy=${turn && each.role === "assistant" ? String(busy) : undefined}>
      <div class="meta"><strong>${each.role === "user" ? "you" : each.role === "assistant" ? "it" : each.role}</strong>${each.index != null && html`<a href=${address(path`/conversations/${id}`, { at: each.message_id })}>#${each.index}</a>`}
        ${each.is_summarized && html`<${Chip}>summarized<//>`}${turn && busy && each.role === "assistant" && html`<span>${doing(turn)}</span>`}<span class="end num">${each.token_count != null ? `${each.token_count} tok` : ""}</span></div>
      <div class="text"><${Said} text=${clarifying ? above(each.content, answer.understanding) : each.content} /></div>
      ${understood && html`<${Understanding} of=${understood} />`}
      ${clarifying && html`<${Choices} of=${answer.understanding} choose=${choose} />`}
      <${Duplicates} list=${each.metadata?.duplicates} />
      ${answer?.prompt && html`<${Prompt} of=${answer.prompt} searches=${answer.searches} />`}
      ${turn && each.role === "assistant" && html`<${Ended} turn=${turn} again=${again} />`}</article>
    ${summary && html`<p class="threshold">summarized: #${summary.from_index}–#${summary.to_index}${summary.tokens_before == null ? "" : `, ${number(summary.tokens_before)}`} → ${plural(summary.tokens_after ?? summary.tokens, "token")}</p>`}`;
}

const doing = (turn) =>
  turn.again || (!turn.turn_id ? "sending …" : !turn.understanding ? "understanding …" : !turn.prompt ? "remembering …" : !turn.text ? "thinking …" : "writing …");

function Ended({ turn: { notices, end }, again }) {
  return html`${notices.map((each) => html`<p class="warn"><${Said} text=${each.message} /></p>`)}
    ${end && end.status !== "answered" && end.status !== "clarifying" && html`<p class="warn" role="alert">${end.status}${end.message ? ": " : ""}<${Said} text=${end.message} /> ${end.try_again && html`<button onClick=${again}>Try again</button>`}</p>`}`;
}

function Understanding({ of }) {
  const readings = of.possible_interpretations ?? [];
  const needs = of.needed_context_from_memory ?? [];
  const rows = [
    ["rewritten", of.rewritten_query], ["readings", readings], ["needs", needs], ["asks back", of.clarifying_questions ?? []], ["with context", of.final_augmented_context],
  ].filter(([, value]) => (Array.isArray(value) ? value.length : value));
  if (!rows.length && !of.is_ambiguous) return null;
  return html`<details><summary>understanding: ${of.is_ambiguous ? "ambiguous" : "clear"}${readings.length ? ` · ${plural(readings.length, "reading")}` : ""}${needs.length ? " · needs memory" : ""}</summary>
    <dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${Array.isArray(value) ? html`<ul>${value.map((each) => html`<li><${Said} text=${typeof each === "string" ? each : each.text ?? JSON.stringify(each)} /></li>`)}</ul>` : html`<${Said} text=${value} />`}</dd>`)}</dl></details>`;
}

function Duplicates({ list = [] }) {
  return list.map((each, at) => html`<p class="said-already" key=${at}>${each.kept ? html`<${Said} text=${each.duplicate_sentence} />` : html`<s><${Said} text=${each.duplicate_sentence} /></s>`} (${each.kept ? "kept, though like what was said" : "said already"}, ${share(each.similarity_score)}: “<${Said} text=${each.similar_sentence} />”)</p>`);
}

function Choices({ of, choose }) {
  const readings = of.possible_interpretations ?? [];
  const asks = of.clarifying_questions ?? [];
  if (!readings.length && !asks.length) return null;
  return html`<div class="choices" role="group" aria-label="Which of these do you mean?">
    ${readings.map((each, at) => html`<button onClick=${() => choose(each)}>${at + 1}. <${Said} text=${each} /></button>`)}
    ${asks.map((each) => html`<p><${Said} text=${each} /></p>`)}<p class="muted">or say it in your own words</p></div>`;
}

/** *Found* is what a search returned, *in the prompt* what was sent, *quoted* what the answer has. */
function Prompt({ of, searches = [] }) {
  const found = of.items.filter((each) => each.tier !== "recent" && each.tier !== "system");
  const count = (test) => number(found.filter(test).length);
  return html`<details><summary>prompt: ${number(of.tokens)} of ${number(of.budget)} tokens${found.length ? ` · of ${plural(found.length, "memory", "memories")} found ${count((each) => !each.left_out)} in the prompt, ${count((each) => each.quoted)} quoted` : ""}</summary>
    ${searches.map((each) => html`<p class="muted">search_memory “<${Said} text=${each.query} />” (${each.search_type}): ${plural(each.found.length, "result")}${each.problem ? html` — <${Said} text=${each.problem} />` : ""}</p>`)}
    <${Tiers} context=${of} /></details>`;
}

function Summaries({ list }) {
  if (!list.length) return null;
  return html`<details class="panel"><summary>summaries of this session: ${list.length}</summary>${list.map((each) => html`<section key=${each.summary_id}><h3>#${each.from_index}–#${each.to_index} · ${plural(each.tokens, "token")}</h3><${Summary} of=${each.summary} /></section>`)}</details>`;
}
