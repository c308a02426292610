// One conversation: messages, the windows that they fell into, what came of it. Live, or played again from the log.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { address, get, path, useData } from "../api.js";
import { useLive } from "../live.js";
import { announce, Bar, Chip, day, Empty, FactLink, LiveMark, MOST_ROWS, number, PersonLink, plural, Said, share, Shown, useTitle, When } from "../parts.js";
import { here, setQuery, useRoute } from "../router.js";
import { bareOf, blank, fold, openWindow, tokensOf } from "../story.js";
import { CloseNow } from "./waits.js";

const MOST_EVENTS = 6000;
const SPEEDS = [1, 10, 100];
const SIGNS = { created: "+", reinforced: "↑", supported: "↑", superseded: "⇥", merged: "⇢", contradicted: "✗", ended: "■", corrected: "✎", deprecated: "✗", kept: "↩", erased: "⌫" };

export default function Conversation({ id }) {
  const [log, setLog] = useState(null);
  const [round, setRound] = useState(0);
  const pending = useRef([]); // what came while the log was loaded, perhaps in neither
  const arrived = useRef([]);
  const flush = useRef(null);
  const gap = useRef(false); // what was missed, and all that follows it, comes with the log
  const data = useData(`${id} ${round}`, (signal) => get(address(path`/v1/conversations/${id}/log`, { limit: 5000 }), { signal }));
  useEffect(() => {
    if (!data.data) return;
    gap.current = false;
    setLog({ ...data.data, events: [...data.data.events, ...pending.current] });
  }, [data.data]);
  const person = useRef(undefined);
  const begun = useRef(false);
  person.current ??= log?.people?.[0];
  begun.current ||= Boolean(data.data || data.problem);
  const watch = { conversation_id: id, user_id: person.current, kinds: "message,punctuation,window,candidates,fact,summary-requested,summary" };
  const live = useLive(begun.current ? watch : null, {
    load: () => setRound((n) => n + 1),
    gap: () => {
      gap.current = true;
      announce("Something was missed: loading it from the log");
    },
    event: (event) => {
      arrived.current.push(event);
      flush.current ??= setTimeout(() => {
        flush.current = null;
        const news = arrived.current.splice(0);
        pending.current = [...pending.current, ...news].slice(-500);
        setLog((before) => (before && !gap.current ? grown(before, news) : before));
      }, 100);
      if (event.kind === "fact" && event.value) announce(`${event.value.change}: ${event.value.statement}`);
    },
  });
  useEffect(() => {
    // Who watches is not to click when a part comes back later than the events do.
    if (!log || !["down", "offline"].includes(data.problem?.kind)) return undefined;
    const timer = setTimeout(() => setRound((n) => n + 1), 4000);
    return () => clearTimeout(timer);
  }, [data.problem]);
  const shown = { ...data, data: log ?? undefined };
  return html`<${Shown} of=${shown} what="the conversation">${(found) => html`<${View} id=${id} log=${found} live=${live} gap=${gap.current} />`}<//>`;
}

/** The log with what came since: drawn together, and no more of it than a page can hold. */
function grown(log, news) {
  const events = [...log.events, ...news];
  const over = Math.max(0, events.length - MOST_EVENTS);
  const speaker = news.find((each) => each.value?.user_id)?.value.user_id;
  return { ...log, events: events.slice(over), earlier: log.earlier + over, people: log.people.length || !speaker ? log.people : [speaker] };
}

function View({ id, log, live, gap }) {
  useTitle(id);
  const { query } = useRoute();
  const total = log.events.length;
  const step = query.step === undefined ? null : Math.max(0, Math.min(total, Number(query.step) || 0));
  const playing = usePlayer(log.events, step);
  const whole = useMemo(() => log.events.reduce(fold, blank()), [log.events]);
  const story = useMemo(() => (step === null ? whole : log.events.slice(0, step).reduce(fold, blank())), [whole, step]);
  const place = log.read.find((each) => each.topic === "chat.messages.v1");
  if (!total) {
    return html`<div class="head"><h1><${Said} text=${id} /></h1><${LiveMark} state=${live} /></div>
      <${Empty} title="Nothing here yet"><p>Nothing was said in a conversation of this name, or what was said is older than the log keeps. What is said from now on appears by itself.</p><//>`;
  }
  return html`
    <div class="head"><h1><${Said} text=${id} /></h1>
      ${log.people.map((name) => html`<${PersonLink} key=${name} id=${name} />`)}
      <span class="muted">${plural(story.messages.length, "message")} · ${plural(story.windows.length, "window")} · ${plural(story.facts.size, "fact")}</span>
      ${place && html`<span class="muted">partition ${place.partition}, read to ${number(Math.max(place.read_to - 1, 0))}</span>`}
      <span class="end"><${LiveMark} state=${step === null ? live : "off"} /></span></div>
    <div class="tools"><${Player} events=${log.events} step=${step} playing=${playing} />
      <a class="end" href=${path`/chat/${id}`}>Go on in chat</a></div>
    ${log.earlier > 0 ? html`<p class="banner note">The newest ${number(total)} events; earlier ones are left out.</p>`
      : story.messages[0]?.number > 0 && html`<p class="banner note">The log begins with #${story.messages[0].number}: what was said before is older than it keeps.</p>`}
    ${query.at && !whole.byId.has(query.at) && html`<p class="banner note" role="status">What the link leads to is not here: it is older than the log keeps or shows, or it was erased. What was learned of it is in the facts.</p>`}
    <${Story} id=${id} story=${story} policy=${log.policy} bare=${bareOf(whole, log.policy)} live=${step === null} at=${query.at} gap=${gap && step === null} />
    <${Tokens} story=${story} policy=${log.policy} />`;
}

/* ---- the player: any conversation again, as if live ---------------------------------------------------------- */

function usePlayer(events, step) {
  const [speed, setSpeed] = useState(0);
  useEffect(() => {
    if (!speed || step === null) return undefined;
    if (step >= events.length) {
      setSpeed(0);
      return undefined;
    }
    const apart = step === 0 ? 0 : Date.parse(events[step].at) - Date.parse(events[step - 1].at);
    // Nobody waits an hour for what somebody said the next day.
    const timer = setTimeout(() => setQuery({ step: String(step + 1) }), Math.max(60, Math.min(2500, apart / speed)));
    return () => clearTimeout(timer);
  }, [speed, step, events]);
  return [speed, setSpeed];
}

function Player({ events, step, playing: [speed, setSpeed] }) {
  const total = events.length;
  const to = (value) => setQuery({ step: value === null ? "" : String(Math.max(0, Math.min(total, value))) });
  const now = step ?? total;
  // From where we are, not from what is drawn: keys may come faster than that.
  const by = (count) => to(Number(here().query.step ?? total) + count);
  const toggle = () => {
    if (speed) return setSpeed(0);
    if (step === null || step >= total) to(0);
    return setSpeed(1);
  };
  useEffect(() => {
    const pressed = (event) => {
      if (event.target.closest?.("input, textarea, select, dialog, button") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowLeft") by(-1);
      else if (event.key === "ArrowRight") by(1);
      else if (event.key === " ") toggle();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  return html`<div class="player" role="group" aria-label="Player">
    <button aria-label="One step back" onClick=${() => by(-1)} disabled=${now === 0}>|◀</button>
    <button aria-label=${speed ? "Pause" : "Play from the beginning, or go on"} onClick=${toggle}>${speed ? "▮▮" : "▶"}</button>
    <button aria-label="One step forward" onClick=${() => by(1)} disabled=${now >= total}>▶|</button>
    ${SPEEDS.map((each) => html`<button aria-pressed=${speed === each} onClick=${() => (setSpeed(each), step === null && to(0))}>${each}×</button>`)}
    <input type="range" min="0" max=${total} value=${now} aria-label="Position in the log" aria-valuetext=${`event ${now} of ${total}`} onInput=${(event) => to(Number(event.target.value))} />
    <span class="muted num">${now} / ${total}</span>
    <button aria-pressed=${step === null} onClick=${() => (setSpeed(0), to(null))}>live</button>
  </div>`;
}

/* ---- the drawing ----------------------------------------------------------------------------------------------- */

function Story({ id, story, policy, bare, live, at, gap }) {
  const [lit, setLit] = useState(null); // ids of messages
  const open = openWindow(story, policy, bare);
  const first = Math.max(0, story.messages.length - MOST_ROWS);
  const rows = story.messages.slice(first);
  const [waiting, toEnd] = useFollowEnd(story.messages.length, live && !at);
  useEffect(() => {
    if (!at) return;
    const row = document.getElementById(`m-${at}`);
    row?.focus();
    row?.scrollIntoView({ block: "center" });
  }, [at, Boolean(story.byId.get(at))]);
  // Those that bubble: of a fact and a summary it is the link inside that has the focus.
  const light = (ids) => ({
    onMouseEnter: () => setLit(ids), onMouseLeave: () => setLit(null),
    onfocusin: () => setLit(ids), onfocusout: () => setLit(null),
  });
  const on = (ids) => (lit && ids.some((each) => lit.includes(each)) ? "on" : "");
  // Every message has a row, and one below it for what came of a window that ends there, where pages are narrow.
  const rowOf = (row) => (row - first) * 2 + 2;
  const row = (messageId) => rowOf(story.byId.get(messageId)?.row ?? 0);
  const over = (from, to) => ({ gridRow: `${Math.max(2, from)} / ${to + 1}` });
  const outcome = (from, to) => ({ "--from": Math.max(2, from), "--to": to + 1 });
  const dayOf = (message) => new Date(message.said).toDateString();
  const begins = (message) => message.row === first || dayOf(message) !== dayOf(story.messages[message.row - 1]);
  const summarized = (number) => story.summaries.some((each) => number >= each.from_index && number <= each.to_index);
  const range = (summary) => story.messages.filter(({ number }) => number >= summary.from_index && number <= summary.to_index).map((each) => each.id);
  const ofWindow = new Map(story.windows.map((each) => [each.id, []]));
  // Of a window that is gone, beside the message that it came of.
  const others = new Map();
  const beside = (each) => Math.max(first, ...each.ids.map((one) => story.byId.get(one)?.row ?? 0));
  for (const each of story.outcomes) {
    const at = beside(each) < bare ? beside(each) : story.messages.length;
    (ofWindow.get(each.windowId) ?? others.get(at) ?? others.set(at, []).get(at)).push(each);
  }
  const bared = Math.min(bare, story.messages.length);
  return html`<div class="log ${lit ? "lit" : ""}">
    <h2 style=${{ gridColumn: 1, gridRow: 1 }}>messages</h2><h2 style=${{ gridColumn: 2, gridRow: 1 }}>windows</h2><h2 style=${{ gridRow: 1 }}>what came of it</h2>
    ${rows.map((each) => html`<article key=${each.id} id=${`m-${each.id}`} data-row tabindex="0" class="message ${each.role} ${on([each.id])} ${summarized(each.number) ? "summarized" : ""}"
        style=${{ gridRow: rowOf(each.row) }} ...${light([each.id])} onKeyDown=${(event) => event.key === "Enter" && setQuery({ at: each.id })}
        title=${`${each.place.topic} / ${each.place.partition} / ${each.place.offset}`}>
      ${begins(each) && html`<span class="day">${day(each.said)}</span>`}<span class="n">#${each.number}</span><${When} at=${each.said} clock />
      <span><span class="who">${each.role === "user" ? html`<${Said} text=${each.user} />` : each.role}</span><${Said} text=${each.content} />
        ${at === each.id && html`<span class="place"> — ${each.place.topic} / ${each.place.partition} / ${each.place.offset}</span>`}</span></article>`)}
    ${story.windows.map((each, index) => {
      const found = ofWindow.get(each.id);
      const inside = each.ids.filter((one) => story.byId.has(one));
      if (!inside.length || row(inside.at(-1)) < 2) return null;
      const end = row(inside.at(-1));
      return html`<div key=${each.id} class="window ${index % 2 ? "odd" : "even"} ${on(each.ids)}" tabindex="0" data-row style=${over(row(inside[0]), end)} ...${light(each.ids)}
          title=${`${each.id}: messages ${each.from} to ${each.to}, ${each.overlap} of them were in the window before`}>
          <strong>w${index + 1}</strong> ${each.reason}<br />${each.from}–${each.to}${each.read ? html`<br /><span class="muted" title="from the window to what was learned of it">read in ${took(each)}</span>` : ""}${each.overlap ? html`<br /><span class="muted">overlap ${each.overlap}</span>` : ""}
        </div>
        <div class="outcome" key=${`o-${each.id}`} style=${outcome(row(inside[each.overlap] ?? inside[0]), end)}>
          ${found.length === 0 ? html`<p class="muted">w${index + 1}: nothing learned</p>` : found.map((one) => html`<${Outcome} key=${`${one.factId}${one.version}`} one=${one} story=${story} id=${id} light=${light} on=${on} />`)}
        </div>`;
    })}
    ${open && html`<div class="window open ${story.windows.length % 2 ? "odd" : "even"}" tabindex="0" style=${over(rowOf(open.from), rowOf(open.to))} ...${light(story.messages.slice(open.from).map((each) => each.id))}>
        <strong>w${story.windows.length + 1}</strong> open<br />${open.number}–${story.messages[open.to].number}<br /><span class="muted">${open.count} of ${open.size}</span></div>
      <div class="outcome" style=${outcome(rowOf(open.from + open.overlap), rowOf(open.to))}>
        <p class="muted">Not yet: ${open.count} of ${open.size} messages. Read at ${open.size}, or when it has been silent until <${When} at=${open.closesAt} clock />${live ? html`, or <${CloseNow} id=${id} />` : "."}</p></div>`}
    ${bared > first && html`<p class="bare muted" style=${over(rowOf(first), rowOf(bared - 1))}>Windows are kept for ${plural(Math.round(policy.windows_kept_seconds / 86400), "day")}: those of ${bared > first + 1 ? "these messages" : "this message"} are gone. What was learned stays.</p>`}
    ${[...others].map(([at, found]) => html`<div class="outcome" style=${outcome(rowOf(at), rowOf(at))}>${found.map((one) => html`<${Outcome} key=${`${one.factId}${one.version}`} one=${one} story=${story} id=${id} light=${light} on=${on} />`)}</div>`)}
    ${gap && html`<p class="gapline" style=${{ gridRow: rowOf(story.messages.length) + 1 }}>Something was missed here: loading it from the log …</p>`}
    ${story.summaries.map((each) => html`<div key=${each.summary_id} class="summary ${on(range(each))}" ...${light(range(each))} style=${{ gridRow: rowOf(story.messages.length) + 2 }}>
      <details><summary>summarized #${each.from_index}–#${each.to_index} into ${plural(each.tokens, "token")}</summary><${Summary} of=${each.summary} /></details></div>`)}
  </div>${waiting > 0 && html`<button class="waiting main" onClick=${toEnd}>↓ ${plural(waiting, "new message")}</button>`}`;
}

/** How long a window waited until it was read. */
function took({ at, read }) {
  const ms = Math.max(0, Date.parse(read) - Date.parse(at));
  return ms < 1000 ? `${ms} ms` : ms < 120000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`;
}

function Outcome({ one, story, light, on }) {
  const fact = story.facts.get(one.factId);
  if (!fact) return null;
  return html`<div class="factline ${on(one.ids)} ${fact.status === "active" ? "" : "faded"}" ...${light(one.ids)}>
    <span class="conf" title="confidence">${one.before != null ? `${share(one.before)} → ` : ""}${share(one.after)}</span>
    <span class="sign" title=${one.change}>${SIGNS[one.change] ?? "•"}</span><${FactLink} fact=${fact} />
    ${one.change !== "created" && html` <${Chip}>${one.change}<//>`}
    ${one.quote && html`<span class="quote">${one.ids.map((each) => story.byId.get(each)).filter(Boolean).map((each) => `#${each.number} `)}“<${Said} text=${one.quote} />”</span>`}
  </div>`;
}

const LISTS = [["key_facts", "key facts"], ["decisions", "decisions"], ["open_questions", "open questions"], ["todos", "to-dos"]];

export function Summary({ of }) {
  const lists = [["preferences", of.profile?.preferences], ["constraints", of.profile?.constraints], ...LISTS.map(([field, name]) => [name, of[field]])].filter(([, list]) => list?.length);
  if (!lists.length) return html`<p class="muted">An empty summary: the messages are marked as summarized all the same.</p>`;
  return html`<dl class="facts">${lists.map(([name, list]) => html`<dt>${name}</dt><dd><ul>${list.map((each) => html`<li><${Said} text=${each} /></li>`)}</ul></dd>`)}</dl>`;
}

function Tokens({ story, policy }) {
  const { messages, summaries, total } = tokensOf(story);
  return html`<p class="tokens">tokens <${Bar} value=${total} most=${policy.token_threshold} tone=${total > policy.token_threshold * 0.9 ? "wide warn" : "wide"} />
    <strong class="num">${number(total)} of ${number(policy.token_threshold)}</strong>
    <span class="muted">messages ${number(messages)} + summaries ${number(summaries)}${story.summaries.length ? ` · summarized ${story.summaries.map((each) => `#${each.from_index}–#${each.to_index}`).join(", ")}` : ""}</span></p>`;
}

/** Follow the end of the page while it is there; else leave it where it is read, and count what waits below. */
function useFollowEnd(length, wanted) {
  const atEnd = useRef(true);
  const seen = useRef(length);
  const [, draw] = useState(0);
  const end = () => document.documentElement.scrollHeight;
  useEffect(() => {
    const look = () => {
      atEnd.current = innerHeight + scrollY >= end() - 60;
      if (atEnd.current && seen.current !== length) {
        seen.current = length;
        draw((n) => n + 1);
      }
    };
    look();
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, [length]);
  useEffect(() => {
    if (!wanted || !atEnd.current) return;
    seen.current = length;
    if (end() > innerHeight) scrollTo({ top: end() });
  }, [length]);
  const toEnd = () => {
    seen.current = length;
    scrollTo({ top: end() });
    draw((n) => n + 1);
  };
  return [wanted ? Math.max(0, length - seen.current) : 0, toEnd];
}
