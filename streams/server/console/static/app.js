// The shell: navigation, keys, which page stands at which address.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { get, request, useData } from "./api.js";
import { announce, entitle, SignIn } from "./parts.js";
import { go, useRoute } from "./router.js";

const PAGES = [
  ["/", "Flow", "f"],
  ["/chat", "Chat", "c"],
  ["/conversations", "Conversations", "v"],
  ["/people", "People", "p"],
  ["/search", "Search", "s"],
  ["/dead-letters", "Dead letters", "d"],
  ["/replays", "Replays", "r"],
  ["/api", "API", "a"],
];

// Address -> module, its page, and the id in the address. A page is loaded when it is first looked at.
const ROUTES = [
  [/^\/$/, () => import("./pages/flow.js")],
  [/^\/chat(?:\/(.+))?$/, () => import("./pages/chat.js")],
  [/^\/conversations\/?$/, () => import("./pages/conversations.js")],
  [/^\/conversations\/(.+)$/, () => import("./pages/conversation.js")],
  [/^\/people\/?$/, () => import("./pages/people.js")],
  [/^\/people\/(.+)$/, () => import("./pages/person.js")],
  [/^\/facts\/(.+)$/, () => import("./pages/fact.js")],
  [/^\/search$/, () => import("./pages/search.js")],
  [/^\/dead-letters$/, () => import("./pages/letters.js")],
  [/^\/replays\/?$/, () => import("./pages/replays.js")],
  [/^\/replays\/(.+)$/, () => import("./pages/replay.js")],
  [/^\/api$/, () => import("./pages/reference.js")],
];

/** What an address says, where it is one: "100%" was typed by somebody. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function match(path) {
  for (const [pattern, load] of ROUTES) {
    const found = pattern.exec(path);
    if (found) return { load, id: found[1] === undefined ? undefined : decoded(found[1]) };
  }
  return null;
}

/** The entry of the navigation under which an address stands. */
const pageOf = (path) => (path.startsWith("/facts") ? PAGES.find(([to]) => to === "/people") : PAGES.findLast(([to]) => path === to || path.startsWith(`${to}/`)));

function usePage(path) {
  const [page, setPage] = useState(null);
  useEffect(() => {
    let wanted = true;
    const found = match(path);
    if (!found) {
      setPage({ path, missing: true });
      return undefined;
    }
    found.load().then(
      (module) => wanted && setPage({ path, Page: module.default, id: found.id }),
      () => wanted && setPage({ path, broken: true }),
    );
    return () => {
      wanted = false;
    };
  }, [path]);
  return page;
}

function Navigation({ path }) {
  const current = pageOf(path)?.[0];
  return html`<nav aria-label="Pages">
    ${PAGES.map(([to, name]) => html`<a href=${to} aria-current=${to === current ? "page" : undefined}>${name}</a>`)}
  </nav>`;
}

function PersonBox() {
  const submit = (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get("person").trim();
    if (name) go(`/people/${encodeURIComponent(name)}`);
    event.target.reset();
    event.target.querySelector("input").blur();
  };
  return html`<form class="personbox" role="search" onSubmit=${submit}>
    <input name="person" aria-label="Go to a person" placeholder="Go to a person …" autocomplete="off" spellcheck=${false} />
  </form>`;
}

const KEYS = [
  ["/", "search"],
  ["g then f c v p s d r a", "flow, chat, conversations, people, search, dead letters, replays, API"],
  ["↑ ↓", "from row to row in lists and conversations"],
  ["Enter", "open what has the focus"],
  ["← →", "step by step in the player; space plays and pauses"],
  ["Esc", "close, or leave a field"],
  ["?", "this help"],
];

function Help({ open, close }) {
  const dialog = useRef(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="help-title">
    <h2 id="help-title">Keys</h2>
    <dl class="keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <form method="dialog"><button>Close</button></form>
  </dialog>`;
}

function useKeys(setHelp) {
  useEffect(() => {
    let leader = 0;
    const pressed = (event) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      const field = event.target.closest?.("input, textarea, select, dialog");
      if (field) {
        if (event.key === "Escape" && field.tagName !== "DIALOG") field.blur();
        return;
      }
      if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        event.preventDefault();
        if (location.pathname === "/search") document.querySelector("#q")?.focus();
        else go("/search");
      } else if (event.key === "g") leader = Date.now();
      else if (Date.now() - leader < 1500) {
        const to = PAGES.find(([, , key]) => key === event.key)?.[0];
        leader = 0;
        if (to) go(to);
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(event);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** From row to row: rows are what can be opened, marked with data-row. */
function step(event) {
  const rows = [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement?.closest?.("[data-row]"));
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))];
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function Session() {
  const session = useData("session", (signal) => get("/v1/session", { signal }));
  const [open, setOpen] = useState(false);
  const who = session.data;
  if (!who) {
    if (session.problem?.kind !== "token") return null;
    return html`<button class="quiet" onClick=${() => setOpen(!open)}>Sign in</button>
      ${open && html`<div class="popover"><${SignIn} done=${() => (setOpen(false), session.reload())} /></div>`}`;
  }
  const name = who.user_id ?? who.tenant_id;
  const leave = () => request("DELETE", "/v1/session").then(() => location.reload());
  return html`<span class="session" title=${`may ${(who.scopes ?? []).join(", ")}`}>${name ?? "all tenants"}</span>
    ${who.auth === "token" && html`<button class="quiet" onClick=${leave}>Sign out</button>`}`;
}

function App() {
  const { path } = useRoute();
  const page = usePage(path);
  const [help, setHelp] = useState(false);
  const main = useRef(null);
  const first = useRef(true);
  useKeys(setHelp);
  useEffect(() => {
    if (!page) return;
    const heading = main.current?.querySelector("h1");
    // A page whose heading comes with its data says so itself, with useTitle.
    entitle(heading?.textContent ?? pageOf(path)?.[1]);
    if (!first.current && !main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    first.current = false;
    announce(heading?.textContent ?? "");
  }, [page]);
  const body = !page || (page.path !== path && !page.Page)
    ? html`<p class="state loading" role="status">Loading …</p>`
    : page.missing
      ? html`<section class="state empty"><h1>No such page</h1><p>Nothing stands at this address. <a href="/">Flow</a> is a good place to begin.</p></section>`
      : page.broken
        ? html`<section class="state trouble" role="alert"><h1>Nothing answers</h1><p>This page could not be loaded from switchboard serve.</p><p><button onClick=${() => location.reload()}>Load again</button></p></section>`
        : html`<${page.Page} key=${page.path} id=${page.id} />`;
  return html`<a class="skip" href="#main">To the content</a>
    <header>
      <a class="brand" href="/"><img src="/static/icon.svg" alt="" width="20" height="20" />Switchboard</a>
      <${Navigation} path=${path} />
      <${PersonBox} />
      <${Session} />
      <button class="quiet" aria-label="Keys" title="Keys (?)" onClick=${() => setHelp(true)}>?</button>
    </header>
    <main id="main" ref=${main} tabindex="-1">${body}</main>
    <div id="announcements" class="hidden" aria-live="polite" role="status"></div>
    <${Help} open=${help} close=${() => setHelp(false)} />`;
}

document.getElementById("app").replaceChildren();
render(html`<${App} />`, document.getElementById("app"));
