// Every operation of the API, from its own description, with the line that does the same from a terminal.

import { html } from "../vendor/preact-htm.js";
import { get, useData } from "../api.js";
import { plural, Shown } from "../parts.js";
import { setQuery, useRoute } from "../router.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

export default function Reference() {
  const { query } = useRoute();
  const data = useData("openapi", (signal) => get("/v1/openapi.json", { signal }));
  return html`<div class="head"><h1>API</h1><a href="/v1/openapi.json" target="_blank" rel="noreferrer">openapi.json</a></div>
    <${Shown} of=${data} what="the description">${(api) => html`<${Operations} api=${api} query=${query} />`}<//>`;
}

function Operations({ api, query }) {
  const all = Object.entries(api.paths).flatMap(([path, item]) => METHODS.filter((each) => item[each]).map((method) => ({ path, method, of: item[method] })));
  const wanted = (query.q ?? "").toLowerCase();
  const shown = all.filter(({ path, method, of }) => `${method} ${path} ${of.summary ?? ""}`.toLowerCase().includes(wanted));
  return html`<p class="muted lead">${api.info?.title} ${api.info?.version} · ${plural(all.length, "operation")}. Whatever this console shows comes from here.</p>
    <div class="tools"><label>filter <input value=${query.q ?? ""} onInput=${(event) => setQuery({ q: event.target.value })} autocomplete="off" /></label></div>
    <section class="panel">${shown.map((each) => html`<${Operation} key=${each.method + each.path} api=${api} ...${each} open=${query.op === each.of.operationId} />`)}</section>`;
}

/** A text in which `names` stand between backticks. */
const Prose = ({ text = "" }) => text.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));

function example(api, of) {
  const content = of.requestBody?.content?.["application/json"];
  if (!content) return null;
  const given = content.example ?? Object.values(content.examples ?? {})[0]?.value;
  return given === undefined ? "{}" : JSON.stringify(given);
}

function curl(api, path, method, of) {
  const parameters = (of.parameters ?? []).map((each) => ({ ...each, value: each.example ?? Object.values(each.examples ?? {})[0]?.value }));
  const filled = parameters.filter((each) => each.in === "path").reduce((text, each) => text.replace(`{${each.name}}`, encodeURIComponent(each.value ?? each.name.toUpperCase())), path);
  const query = parameters.filter((each) => each.in === "query" && each.value !== undefined).map((each) => `${each.name}=${encodeURIComponent(each.value)}`).join("&");
  const body = example(api, of);
  const stream = Object.values(of.responses ?? {}).some((each) => each.content?.["text/event-stream"]);
  return [
    `curl${stream ? " -N" : ""}${method === "get" ? "" : ` -X ${method.toUpperCase()}`} '${location.origin}${filled}${query ? `?${query}` : ""}'`,
    ...(body ? ["-H 'content-type: application/json'", `-d '${body.replaceAll("'", "'\\''")}'`] : []),
  ].join(" \\\n  ");
}

function Operation({ api, path, method, of, open }) {
  const toggled = (event) => {
    if (event.target.open) setQuery({ op: of.operationId });
    else if (open) setQuery({ op: "" });
  };
  const answers = Object.entries(of.responses ?? {});
  return html`<details class="operation" open=${open} onToggle=${toggled}><summary data-row><span class="method">${method.toUpperCase()}</span><code>${path}</code><span class="muted"><${Prose} text=${of.summary} /></span></summary>
    ${of.description && html`<p><${Prose} text=${of.description} /></p>`}
    ${(of.parameters ?? []).length > 0 && html`<dl class="facts">${of.parameters.map((each) => html`<dt class="mono">${each.name}${each.required ? " *" : ""}</dt><dd class="muted">${[each.in, each.schema?.type, each.schema?.enum?.join(" | "), each.description].filter(Boolean).join(" · ")}</dd>`)}</dl>`}
    <p class="muted">answers ${answers.map(([status]) => status).join(", ")}</p>
    <pre tabindex="0" aria-label="The same with curl">${curl(api, path, method, of)}</pre></details>`;
}
