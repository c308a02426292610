// What a conversation is after some of its events. The same fold draws what is live and what is played again.

export const blank = () => ({
  messages: [], // {id, role, user, content, at, place, row, number}: `number` counts from the conversation's beginning, `row` from the log's
  byId: new Map(),
  windows: [], // {id, from, to, overlap, reason, ids, at, facts: [...]}
  facts: new Map(), // the latest version of each
  outcomes: [], // {factId, windowId, at, change, candidate, ids}: what came of which window
  requests: new Map(),
  summaries: [],
  closed: [],
  seen: new Set(),
});

const key = (event) => `${event.topic}/${event.partition}/${event.offset}`;

/** Fold one event in; returns the same story, changed. */
export function fold(story, event) {
  if (story.seen.has(key(event))) return story; // the log and the stream overlap where one follows the other
  story.seen.add(key(event));
  const value = event.value;
  if (event.kind === "message" && value && !story.byId.has(value.message_id)) {
    const message = {
      id: value.message_id, role: value.role, user: value.user_id, content: value.content, at: event.at,
      said: value.sent_at, place: event, tokens: event.tokens ?? 0, metadata: value.metadata ?? {},
      row: story.messages.length, number: event.index ?? (story.messages.at(-1)?.number ?? -1) + 1,
    };
    story.messages.push(message);
    story.byId.set(message.id, message);
  } else if (event.kind === "punctuation" && value) {
    story.closed.push({ at: event.at, after: story.messages.length - 1 });
  } else if (event.kind === "window" && value) {
    if (!story.windows.some((each) => each.id === value.window_id)) {
      story.windows.push({
        id: value.window_id, from: value.from_index, to: value.to_index, overlap: value.overlap,
        reason: value.reason, ids: value.message_ids, at: event.at,
      });
      story.windows.sort((a, b) => a.from - b.from);
    }
  } else if (event.kind === "fact") {
    foldFact(story, event);
  } else if (event.kind === "candidates" && value) {
    const window = story.windows.find((each) => each.id === value.provenance.window_id);
    if (window) window.read ??= event.at;
  } else if (event.kind === "summary-requested" && value) {
    story.requests.set(value.request_id, { ...value, at: event.at });
  } else if (event.kind === "summary" && value) {
    if (!story.summaries.some((each) => each.summary_id === value.summary_id)) {
      const replaced = new Set(value.replaces);
      story.summaries = story.summaries.filter((each) => !replaced.has(each.summary_id));
      story.summaries.push({ ...value, at: event.at });
    }
    story.requests.delete(value.request_id);
  }
  return story;
}

function foldFact(story, event) {
  const fact = event.value;
  if (!fact) {
    story.facts.delete(event.key);
    story.outcomes = story.outcomes.filter((each) => each.factId !== event.key);
    return;
  }
  const known = story.facts.get(fact.fact_id);
  if (known && known.version > fact.version) return;
  story.facts.set(fact.fact_id, fact);
  // A compacted topic has but the last version; its own history says which window caused which change.
  const mine = new Map(fact.provenance.map((each) => [each.window_id, each]));
  const changes = fact.changes?.length ? fact.changes : [{ version: fact.version, change: fact.change, at: fact.changed_at, confidence_after: fact.confidence, window_id: fact.provenance.at(-1)?.window_id }];
  for (const change of changes) {
    if (story.outcomes.some((each) => each.factId === fact.fact_id && each.version === change.version)) continue;
    const source = mine.get(change.window_id);
    const message = change.message_id ?? source?.message_ids.at(-1);
    if (!story.byId.has(message) && !story.windows.some((each) => each.id === change.window_id)) continue;
    story.outcomes.push({
      factId: fact.fact_id, version: change.version, change: change.change, windowId: change.window_id,
      before: change.confidence_before, after: change.confidence_after, quote: source?.quote ?? "",
      ids: source?.message_ids ?? (message ? [message] : []), at: change.at,
    });
  }
}

/** Seed 004: what was said and is in no summary yet, and the summaries. */
export function tokensOf(story) {
  const inSummary = (number) => story.summaries.some((each) => number >= each.from_index && number <= each.to_index);
  const messages = story.messages.reduce((sum, each) => sum + (inSummary(each.number) ? 0 : each.tokens), 0);
  const summaries = story.summaries.reduce((sum, each) => sum + each.tokens, 0);
  return { messages, summaries, total: messages + summaries };
}

/** How many of the first messages have no windows because the log has let go of them. */
export function bareOf(story, policy) {
  const kept = policy.windows_kept_seconds ? Date.now() - policy.windows_kept_seconds * 1000 : 0;
  const ids = new Set(story.windows.flatMap((each) => each.ids));
  const end = story.messages.findIndex((each) => ids.has(each.id) || Date.parse(each.at) > kept);
  return end < 0 ? story.messages.length : end;
}

/** What has been said since the last window: from which row and message on, how many, of how many, and when it closes by itself. */
export function openWindow(story, policy, bare) {
  const last = story.windows.at(-1);
  const end = last ? story.messages.findIndex((each) => each.id === last.ids.at(-1)) : -1;
  const closed = story.closed.at(-1)?.after ?? -1;
  if (end >= story.messages.length - 1 || closed >= story.messages.length - 1 || bare >= story.messages.length) return null;
  const begin = story.messages[0].number; // its first messages may be older than the log keeps
  const overlap = last && end > closed ? Math.min(policy.window_overlap, end + 1 + begin) : 0;
  const from = Math.max(bare || -Infinity, Math.max(end, closed) + 1 - overlap);
  return {
    from: Math.max(0, from), to: story.messages.length - 1, number: from + begin, count: story.messages.length - from, size: policy.window_size, overlap,
    closesAt: Date.parse(story.messages.at(-1).at) + policy.idle_seconds * 1000,
  };
}
