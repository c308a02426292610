// What several pages draw: states, times, ids, bars, curves.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { path } from "./api.js";

export { html };

/* ---- text of people -------------------------------------------------------------------------------------- */

/** A text in which nothing turns round what follows it: such a character is shown by its number. */
export const inert = (text) => String(text ?? "").replace(/[\u202a\u202b\u202d\u202e]/g, (each) => `\\u${each.charCodeAt(0).toString(16)}`);

/** What somebody wrote: a text node in a box of its own direction. Never markup. */
export const Said = ({ text, as = "span", ...other }) => html`<${as} dir="auto" ...${other}>${inert(text)}<//>`;

export const number = (value) => (value ?? 0).toLocaleString("en-GB");
export const share = (value, digits = 2) => (value ?? 0).toFixed(digits);
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const DAY_THIS_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

export function day(value) {
  const date = new Date(value);
  return (date.getFullYear() === new Date().getFullYear() ? DAY_THIS_YEAR : DAY).format(date);
}

/** A time: the clock for today, else the day; the whole of it on hover. */
export function When({ at, clock }) {
  if (!at) return html`<span class="muted">—</span>`;
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const text = clock ? CLOCK.format(date) : today ? CLOCK.format(date) : day(date);
  return html`<time datetime=${date.toISOString()} title=${FULL.format(date)}>${text}</time>`;
}

/* ---- ids are links --------------------------------------------------------------------------------------- */

export const PersonLink = ({ id }) => html`<a class="id" href=${path`/people/${id}`}><${Said} text=${id} /></a>`;
export const ConversationLink = ({ id, at, children }) =>
  html`<a class=${children ? "" : "id"} href=${path`/conversations/${id}` + (at ? `?at=${encodeURIComponent(at)}` : "")}>${children ?? html`<${Said} text=${id} />`}</a>`;
export const FactLink = ({ fact, children }) =>
  html`<a href=${path`/facts/${fact.fact_id}` + `?user_id=${encodeURIComponent(fact.user_id)}`}>${children ?? html`<${Said} text=${fact.statement} />`}</a>`;
export const Place = ({ topic, partition, offset }) =>
  html`<span class="place" title="topic / partition / offset">${topic} / ${partition} / ${offset}</span>`;

/* ---- states, each with its own sentence -------------------------------------------------------------------- */

const SENTENCES = {
  offline: ["Nothing answers", "The connection to switchboard serve is broken. It may be restarting; what is shown stays as it was."],
  token: ["Sign in", "This server answers only to a token. `switchboard token create` prints one."],
  rights: ["Not allowed", "Your token does not allow this."],
  down: ["A part is down", "What this page needs does not answer at the moment; the other pages may."],
  missing: ["Not there", ""],
  busy: ["Not now", ""],
  full: ["Too many are talking at this moment", ""],
  wrong: ["That did not work", ""],
};

export function Trouble({ problem, retry, onSignIn }) {
  const [title, sentence] = SENTENCES[problem.kind] ?? SENTENCES.wrong;
  const detail = problem.message && problem.kind !== "token" ? problem.message : "";
  return html`<section class="state trouble ${problem.kind}" role="alert">
    <h2>${title}</h2>
    ${sentence && html`<p>${sentence}</p>`}
    ${detail && html`<p class="detail"><${Said} text=${detail} /></p>`}
    ${problem.kind === "token" && html`<${SignIn} done=${onSignIn ?? retry} />`}
    ${retry && problem.kind !== "token" && html`<p><button onClick=${retry}>Try again</button></p>`}
  </section>`;
}

export function SignIn({ done }) {
  const [trouble, setTrouble] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    const { send } = await import("./api.js");
    try {
      await send("POST", "/v1/session", { token: new FormData(event.target).get("token").trim() });
      setTrouble("");
      done?.();
      dispatchEvent(new Event("signed-in"));
    } catch (problem) {
      setTrouble(problem.kind === "offline" ? "Nothing answers." : problem.message);
    }
  };
  return html`<form class="signin" onSubmit=${submit}>
    <label>Token <input name="token" type="password" autocomplete="off" required placeholder="sb_…" /></label>
    <button>Sign in</button>
    ${trouble && html`<p class="bad" role="alert"><${Said} text=${trouble} /></p>`}
  </form>`;
}

export const Loading = ({ what }) => html`<p class="state loading" role="status">Loading ${what} …</p>`;

export const Empty = ({ title, children }) => html`<section class="state empty"><h2>${title}</h2>${children}</section>`;

const titleOf = (problem) => (SENTENCES[problem.kind] ?? SENTENCES.wrong)[0];

/** The state of a page's data: loading, in trouble (`brief`: beside what tells it at length), or what `children` draws of it. */
export function Shown({ of, what, brief, children }) {
  if (of.problem && of.data === undefined) return brief ? html`<p class="muted">${titleOf(of.problem)}.</p>` : html`<${Trouble} problem=${of.problem} retry=${of.reload} />`;
  if (of.data === undefined) return html`<${Loading} what=${what} />`;
  return html`${of.problem && html`<${Stale} problem=${of.problem} retry=${of.reload} />`}${children(of.data)}`;
}

export const Stale = ({ problem, retry }) =>
  html`<p class="banner bad" role="alert">${titleOf(problem)}: what you see may be old. ${problem.message} <button onClick=${retry}>Try again</button></p>`;

const LIVE = {
  off: ["", "not live"],
  connecting: ["wait", "connecting …"],
  live: ["good", "live"],
  broken: ["bad", "not live: connecting again"],
};

/** That a list goes on, and the rest of it; `count`: how many rows of it are shown. */
export const More = ({ of, count }) => of.data?.more && html`<p class="tools muted"><span>${number(count)} are shown, there are more.</span><button onClick=${of.further}>Show more</button></p>`;

export const LiveMark = ({ state }) => {
  const [tone, text] = LIVE[state];
  return html`<span class="livemark" role="status"><i class="dot ${tone}" aria-hidden="true"></i>${text}</span>`;
};

export function entitle(text) {
  document.title = text ? `${text} · Switchboard` : "Switchboard";
}

/** The page's title, where its heading is known no sooner than its data. */
export function useTitle(text) {
  useEffect(() => entitle(text), [text]);
}

/** So many rows of anything are in a page. */
export const MOST_ROWS = 1000;

/** Whether the page is as narrow as a telephone. */
export function useNarrow() {
  const query = useMemo(() => matchMedia("(max-width: 760px)"), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

/* ---- drawing ----------------------------------------------------------------------------------------------- */

/** Part of a whole as a bar; the number stands beside it, so the bar is decoration. */
export const Bar = ({ value, most = 1, tone = "" }) =>
  html`<span class="bar ${tone}" aria-hidden="true"><i style=${{ width: `${Math.max(0, Math.min(1, value / most)) * 100}%` }}></i></span>`;

/** A curve of the last values. */
export function Curve({ values, width = 96, height = 22, label }) {
  if (values.length < 2) return html`<svg class="curve" viewBox="0 0 ${width} ${height}" width=${width} height=${height} aria-hidden="true"></svg>`;
  const top = Math.max(...values, 1e-9);
  const points = values.map((value, at) => [
    (at / (values.length - 1)) * (width - 2) + 1,
    height - 2 - (value / top) * (height - 4),
  ]);
  const line = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  return html`<svg class="curve" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"}>
    <polyline points="${line} ${width - 1},${height - 1} 1,${height - 1}" class="area" />
    <polyline points=${line} class="line" />
  </svg>`;
}

export const Chip = ({ tone = "", children, title }) => html`<span class="chip ${tone}" title=${title}>${children}</span>`;

/** A button that asks once, in its place, what it is about to do. */
export function Ask({ label, question, confirm, act, tone = "", disabled }) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const yes = useRef(null);
  useEffect(() => open && yes.current?.focus(), [open]);
  if (!open) {
    return html`<button class=${tone} disabled=${disabled} onClick=${() => setOpen(true)}>${label}</button>`;
  }
  const go = async () => {
    setBusy(true);
    setTrouble("");
    try {
      await act();
      setOpen(false);
    } catch (problem) {
      setTrouble(problem.message || "Nothing answers.");
    }
    setBusy(false);
  };
  return html`<span class="ask" role="group" onKeyDown=${(event) => event.key === "Escape" && setOpen(false)}>
    <span>${question}</span>
    <button ref=${yes} class=${tone || "main"} disabled=${busy} onClick=${go}>${confirm}</button>
    <button disabled=${busy} onClick=${() => setOpen(false)}>Cancel</button>
    ${trouble && html`<span class="bad" role="alert"><${Said} text=${trouble} /></span>`}
  </span>`;
}

/* ---- what a screen reader hears ---------------------------------------------------------------------------- */

let waiting = null;
let lastSaid = 0;

/** Say something politely, at most every five seconds: the newest of what came meanwhile. */
export function announce(text) {
  const region = document.getElementById("announcements");
  if (!region) return;
  const say = () => {
    waiting = null;
    lastSaid = Date.now();
    region.textContent = text;
  };
  clearTimeout(waiting);
  const wait = lastSaid + 5000 - Date.now();
  if (wait <= 0) say();
  else waiting = setTimeout(say, wait);
}
