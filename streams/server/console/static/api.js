// The public API, and nothing else: whatever the pages show can be had with curl.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact-htm.js";

const TIMEOUT_MS = 20000;

/** What went wrong. `kind`: offline, token, rights, down, missing, busy, full, wrong. */
export class Problem extends Error {
  constructor(kind, status, detail, body = {}) {
    super(detail);
    this.kind = kind;
    this.status = status;
    this.body = body;
  }
}

const KINDS = { 401: "token", 403: "rights", 404: "missing", 409: "busy", 429: "busy", 502: "down", 503: "down", 504: "down" };

export function address(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  return text ? `${path}?${text}` : path;
}

/** A path with its ids in place: path`/v1/facts/${id}`. */
export function path(strings, ...ids) {
  return String.raw({ raw: strings }, ...ids.map((id) => encodeURIComponent(id)));
}

export async function request(method, url, { body, signal, accept = "application/json", timeout = TIMEOUT_MS, headers: more = {} } = {}) {
  const headers = { ...more, accept: accept === "application/json" ? accept : `${accept}, application/problem+json` };
  if (body !== undefined) headers["content-type"] = "application/json";
  const limits = [signal, timeout ? AbortSignal.timeout(timeout) : null].filter(Boolean);
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: limits.length ? AbortSignal.any(limits) : undefined,
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem("offline", 0, "");
  }
  if (answer.ok) return answer;
  let told = {};
  try {
    told = await answer.json();
  } catch {
    told = {}; // a proxy's own page
  }
  const kind = told.type?.endsWith(":too-many-turns") ? "full" : KINDS[answer.status];
  throw new Problem(kind ?? "wrong", answer.status, told.detail ?? answer.statusText, told);
}

export async function get(url, options) {
  return (await request("GET", url, options)).json();
}

export async function send(method, url, body, options) {
  const answer = await request(method, url, { body, ...options });
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

/** What `load(signal)` answers, again whenever `key` changes or `reload()` is called. */
export function useData(key, load) {
  const [state, setState] = useState({ key, loading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (key === null) return undefined;
    const abort = new AbortController();
    setState((before) => ({ ...(before.key === key ? before : {}), key, loading: true, problem: undefined }));
    latest.current(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ key, data, loading: false }),
      (problem) => !abort.signal.aborted && setState((before) => ({ key, data: before.data, problem, loading: false })),
    );
    return () => abort.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const unsigned = state.problem?.kind === "token";
  useEffect(() => {
    // Whoever signs in, in whichever form, has signed in for all of the page.
    if (!unsigned) return undefined;
    addEventListener("signed-in", reload);
    return () => removeEventListener("signed-in", reload);
  }, [unsigned]);
  const fresh = state.key === key ? state : { key, loading: true };
  return { ...fresh, reload };
}

/** The rows of a list as `useData`, `step` more of them with each `further()`. */
export function usePages(key, path, query, field, step) {
  const most = useRef(step);
  const data = useData(key, (signal) => getAll(path, { limit: step, ...query }, field, signal, most.current));
  const further = () => {
    most.current += step;
    data.reload();
  };
  return { ...data, further };
}

/** Every page of a list up to `most` rows; `more` says whether there are others. */
export async function getAll(path, query, field, signal, most = 2000) {
  const rows = [];
  const waiting = [];
  let cursor;
  let first;
  do {
    const page = await get(address(path, { ...query, ...(cursor ? { [query.cursorName ?? "cursor"]: cursor } : {}), cursorName: undefined }), { signal });
    first ??= page;
    rows.push(...page[field]);
    waiting.push(...(page.waiting ?? []));
    cursor = page.next;
  } while (cursor && rows.length < most);
  return { ...first, [field]: rows, waiting, more: Boolean(cursor) };
}
