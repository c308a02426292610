// Where we are is what the address says: every view can be sent to somebody.

import { useEffect, useState } from "./vendor/preact-htm.js";

const listeners = new Set();

export function here() {
  return { path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) };
}

function tell() {
  for (const listener of listeners) listener(here());
}

addEventListener("popstate", tell);

export function go(url, { replace = false } = {}) {
  if (url === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  tell();
}

/** Change parts of the query; empty values leave it. Nothing of it makes a step in the history unless `push`. */
export function setQuery(changes, { push = false } = {}) {
  const query = { ...here().query, ...changes };
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  go(location.pathname + (text ? `?${text}` : ""), { replace: !push });
}

export function useRoute() {
  const [route, setRoute] = useState(here);
  useEffect(() => {
    listeners.add(setRoute);
    return () => listeners.delete(setRoute);
  }, []);
  return route;
}

/** Links within the console change the page without loading it anew. */
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (/^\/(v1|static)\//.test(link.pathname) || (link.hash && link.pathname === location.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
  scrollTo(0, 0);
});
