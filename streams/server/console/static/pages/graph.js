// Whom and what a person speaks of, and how it hangs together: drawn, and as a table.

import { html, useMemo } from "../vendor/preact-htm.js";
import { address, get, useData } from "../api.js";
import { Chip, ConversationLink, day, Empty, inert, number, plural, Said, Shown, useNarrow } from "../parts.js";
import { setQuery } from "../router.js";

const MOST = 200;
const [WIDTH, HEIGHT] = [1000, 480];

/** `as`: the moment, and by which clock, `{time, clock}`; `round` changes when there may be more. */
export default function Graph({ id, query, as, round }) {
  const wanted = { user_id: id, q: query.q, entity_id: query.entity, steps: 2, limit: MOST };
  const data = useData(`graph ${JSON.stringify(wanted)} ${round}`, (signal) => get(address("/v1/graph", wanted), { signal }));
  const submit = (event) => {
    event.preventDefault();
    setQuery({ q: new FormData(event.target).get("q").trim(), entity: "" }, { push: true });
  };
  return html`<form class="tools" role="search" onSubmit=${submit}><label>around <input name="q" value=${query.q ?? ""} placeholder="my sister" autocomplete="off" dir="auto" /></label> <button>Show</button>
      ${(query.q || query.entity) && html`<button type="button" onClick=${() => setQuery({ q: "", entity: "" }, { push: true })}>Show all</button>`}</form>
    <${Shown} of=${data} what="the graph">${(found) => html`<${Whole} id=${id} found=${found} chosen=${query.entity ?? ""} asked=${query.q || query.entity} as=${as} />`}<//>`;
}

/** Whether a relation held, or was known, at a moment. */
function held(relation, { time, clock }) {
  if (clock === "known") return Date.parse(relation.learned_at) <= time;
  return Date.parse(relation.valid_from) <= time && (!relation.valid_to || Date.parse(relation.valid_to) > time);
}

function Whole({ id, found, chosen, asked, as }) {
  const narrow = useNarrow();
  const over = (each) => Boolean(each.valid_to) && Date.parse(each.valid_to) <= as.time;
  const relations = useMemo(() => found.relations.filter((each) => held(each, as)).map((each) => ({ ...each, over: over(each) })).sort((a, b) => a.over - b.over || b.evidence_count - a.evidence_count), [found, as.time, as.clock]);
  if (!found.entities.length) {
    return asked
      ? html`<${Empty} title="Nobody of that name in it"><p>Nothing that ${html`<${Said} text=${id} />`} speaks of is called so.</p><//>`
      : html`<${Empty} title="Nobody in it yet"><p>People, pets, places and organizations appear here as soon as it is plainly said what they are: “my sister Anna works at the library”. What is known otherwise stands under facts.</p><//>`;
  }
  if (!relations.length) return html`<${Empty} title="Nothing held then"><p>${plural(found.relations.length, "tie")} are known; none ${as.clock === "known" ? "was known" : "held"} at that time.</p><//>`;
  return html`${!narrow && html`<section class="panel"><${Drawing} id=${id} entities=${found.entities} relations=${relations} chosen=${chosen} /></section>`}
    <${Ties} id=${id} entities=${found.entities} relations=${relations} chosen=${chosen} />
    ${found.is_cut && html`<p class="muted">There is more: the ${number(MOST)} nearest ties are shown. Ask around somebody to see theirs.</p>`}`;
}

/* ---- the drawing: the person in the middle, then those whom they speak of, then what is tied to these ---------- */

const isSelf = (entity) => entity.role === "self" || (entity.name === "user" && entity.aliases.includes("I"));
const nameOf = (entity, id) => (isSelf(entity) ? id : entity.name);

/** Place each entity: on rings by how many ties it is away, on its ring beside those it hangs on. */
function layout(entities, relations) {
  const near = new Map(entities.map((each) => [each.entity_id, []]));
  for (const each of relations) {
    near.get(each.from_id)?.push(each.to_id);
    near.get(each.to_id)?.push(each.from_id);
  }
  const tied = entities.filter((each) => near.get(each.entity_id).length);
  const root = (tied.find(isSelf) ?? tied.reduce((a, b) => (near.get(b.entity_id).length > near.get(a.entity_id).length ? b : a))).entity_id;
  const level = new Map([[root, 0]]);
  const children = new Map();
  const queue = [root];
  for (let at = 0; at < queue.length; at += 1) {
    const mine = near.get(queue[at]).filter((each) => near.has(each) && !level.has(each));
    children.set(queue[at], [...new Set(mine)]);
    for (const each of children.get(queue[at])) {
      level.set(each, level.get(queue[at]) + 1);
      queue.push(each);
    }
    if (at === queue.length - 1) {
      // What hangs on nothing that is shown stands on the first ring, too.
      const alone = tied.find((each) => !level.has(each.entity_id));
      if (alone) {
        level.set(alone.entity_id, 1);
        children.get(root).push(alone.entity_id);
        queue.push(alone.entity_id);
      }
    }
  }
  const weight = (each) => Math.max(1, (children.get(each) ?? []).reduce((sum, one) => sum + weight(one), 0));
  const places = new Map();
  const deepest = Math.min(2, Math.max(...level.values())) || 1;
  const put = (each, from, to) => {
    const ring = (Math.min(level.get(each), 2) / deepest) ** 0.8;
    const angle = (from + to) / 2;
    places.set(each, [WIDTH / 2 + Math.cos(angle) * ring * (WIDTH / 2 - 130), HEIGHT / 2 + Math.sin(angle) * ring * (HEIGHT / 2 - 40)]);
    const all = children.get(each) ?? [];
    const whole = all.reduce((sum, one) => sum + weight(one), 0);
    let begin = from;
    for (const one of all) {
      const end = begin + ((to - from) * weight(one)) / whole;
      put(one, begin, end);
      begin = end;
    }
  };
  put(root, -Math.PI / 2, 1.5 * Math.PI);
  return places;
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const words = (relation) => relation.replaceAll("_", " ");

function Drawing({ id, entities, relations, chosen }) {
  const places = useMemo(() => layout(entities, relations), [entities, relations]);
  const ys = [...places.values()].map(([, y]) => y);
  const top = Math.min(...ys) - 30;
  return html`<svg class="graph" viewBox="0 ${top} ${WIDTH} ${Math.max(...ys) + 40 - top}" role="group" aria-label=${`${plural(places.size, "entity", "entities")} and ${plural(relations.length, "tie")}; the table below says the same`}>
    ${relations.map((each) => {
      const [a, b] = [places.get(each.from_id), places.get(each.to_id)];
      return a && b && html`<g key=${each.relation_id} class=${each.over ? "over" : ""}><line x1=${a[0]} y1=${a[1]} x2=${b[0]} y2=${b[1]} />
        <text class="small" x=${(a[0] + b[0]) / 2} y=${(a[1] + b[1]) / 2 + 4} text-anchor="middle">${words(each.relation)}</text></g>`;
    })}
    ${entities.filter((each) => places.has(each.entity_id)).map((each) => {
      const [x, y] = places.get(each.entity_id);
      const name = nameOf(each, id);
      return html`<g key=${each.entity_id}><a href=${address(location.pathname, { tab: "graph", entity: each.entity_id })} aria-label=${`${name}, ${each.type}`}><title>${`${name}, ${each.type}, spoken of ${each.mentions}×`}</title>
        <circle class="${isSelf(each) ? "self" : each.type} ${each.entity_id === chosen ? "chosen" : ""}" cx=${x} cy=${y} r=${isSelf(each) ? 11 : 7} /><text x=${x} y=${y + (isSelf(each) ? 28 : 22)} text-anchor="middle">${inert(short(name, 28))}</text></a></g>`;
    })}</svg>`;
}

/* ---- the same as a table, with the sentence that says so ------------------------------------------------------- */

function Ties({ id, entities, relations, chosen }) {
  const known = new Map(entities.map((each) => [each.entity_id, each]));
  const of = known.get(chosen);
  const name = (entityId, given) => {
    const entity = known.get(entityId);
    return html`<a href=${address(location.pathname, { tab: "graph", entity: entityId })}><${Said} text=${entity ? nameOf(entity, id) : given} /></a>`;
  };
  return html`${of && html`<section class="panel"><h2><${Said} text=${nameOf(of, id)} /> <${Chip}>${of.type}<//></h2><p class="muted">spoken of ${number(of.mentions)}×, ${day(of.first_said_at)} to ${day(of.last_said_at)}${of.aliases.length ? html` · also called ${of.aliases.map((each, at) => html`${at ? ", " : ""}“<${Said} text=${each} />”`)}` : ""}</p></section>`}
    <div class="tablebox"><table class="cards"><thead><tr><th>who</th><th>is tied by</th><th>to</th><th>since</th><th class="num">said</th><th>the latest sentence that says so</th></tr></thead>
    <tbody>${relations.map((each) => {
      const source = each.provenance.at(-1);
      return html`<tr key=${each.relation_id} class=${each.over ? "faded" : ""}><td>${name(each.from_id, each.from_name)}</td><td>${words(each.relation)}</td><td>${name(each.to_id, each.to_name)}</td>
        <td data-label="since">${day(each.valid_from)}${each.valid_to ? ` until ${day(each.valid_to)}` : ""}</td><td class="num" data-label="said">${each.evidence_count}×</td>
        <td class="wide quote">${source && html`“<${Said} text=${short(source.quote, 160)} />” <${ConversationLink} id=${source.conversation_id} at=${source.message_id}>where<//>`}</td></tr>`;
    })}</tbody></table></div>`;
}
