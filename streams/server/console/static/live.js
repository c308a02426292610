// Live events: one EventSource for what a page watches, in the page's own words.

import { useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { address } from "./api.js";

const KINDS = [
  "message", "punctuation", "window", "candidates", "fact", "summary-requested", "summary",
  "response", "duplicate", "dead-letter", "status",
];

/**
 * Watch. `query` names what; null watches nothing. `on.event(event)` for each, `on.load()` whenever the page has
 * to load anew: at the beginning, and after a gap. Returns "connecting", "live", "broken" or "off".
 */
export function useLive(query, on) {
  const [state, setState] = useState("off");
  const latest = useRef(on);
  latest.current = on;
  const url = query === null ? null : address("/v1/events", query);
  useEffect(() => {
    if (url === null) {
      setState("off");
      return undefined;
    }
    setState("connecting");
    let source;
    let timer;
    let closed = false;
    const open = () => {
      source = new EventSource(url);
      source.addEventListener("ready", (event) => {
        setState("live");
        if (!JSON.parse(event.data).resumed) latest.current.load?.();
      });
      source.addEventListener("gap", () => {
        latest.current.gap?.();
        latest.current.load?.();
      });
      for (const kind of KINDS) {
        source.addEventListener(kind, (event) => latest.current.event?.(JSON.parse(event.data)));
      }
      source.onerror = () => {
        if (closed) return;
        setState("broken");
        if (source.readyState === EventSource.CLOSED) {
          // Refused (not signed in, a part is down): the browser gives up, we ask again now and then.
          source.close();
          timer = setTimeout(open, 4000);
        }
      };
    };
    open();
    return () => {
      closed = true;
      clearTimeout(timer);
      source.close();
    };
  }, [url]);
  return state;
}

/** The events of a stream that was asked for with POST: `yield {id, name, data}`. */
export async function* readEvents(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = { id: "", name: "message", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const at = line.indexOf(":");
        const [field, text] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
        if (field === "id") event.id = text;
        else if (field === "event") event.name = text;
        else if (field === "data") event.data += (event.data ? "\n" : "") + text;
      }
      rest = rest.slice(end + 2);
      if (event.data) yield event;
    }
  }
}
