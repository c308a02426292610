#!/usr/bin/env python3
"""Score of a running Switchboard on made-up people, against the notes of a careful note-taker.

    score.py [--url http://127.0.0.1:8371] [--token SB] [--suffix RUN] [--json FILE] PERSON.json ...

Needs nothing but Python.  Each person's sessions are sent in order through POST /v1/messages (times as in the file), every session is closed,
and all of it is read back: facts, the context at certain moments, and what a search finds.  A suffix keeps runs apart.

A fact that itself tells the end of a note ("Porto is cancelled") is neither stale nor harm: `context_harm` leaves it out, `context_harm_raw` counts it.
`context_harm_alone` counts only what the reader of the prompt cannot know to be over: the message that ends the note, and what replaces it, are not in the prompt.
A note's terms may stand in facts that tell something else, also in facts said after the end.  `ended_right` counts these as the note, as whoever wrote
the terms meant them to be found; `ended_told` counts only facts from the messages that the note names as its evidence.
"""

import argparse, json, re, sys, time, urllib.error, urllib.parse, urllib.request


class Api:
    def __init__(self, url, token):
        self.url, self.head = (
            url.rstrip("/"),
            {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})},
        )

    def __call__(self, method, path, body=None, **query):
        query = {k: v for k, v in query.items() if v is not None}
        r = urllib.request.Request(
            self.url + path + ("?" + urllib.parse.urlencode(query) if query else ""),
            method=method,
            headers=self.head,
            data=None if body is None else json.dumps(body).encode(),
        )
        with urllib.request.urlopen(r, timeout=60) as answer:
            return json.loads(answer.read() or b"null")


def feed(api, person, suffix):
    """Send the sessions; return the context, as text, after each message that a moment names."""
    user, contexts, wanted = person["person"] + suffix, {}, {m["after"] for m in person["moments"]}
    for session in person["sessions"]:
        conversation, part, index = session["conversation_id"] + suffix, [], -1
        for n, m in enumerate(session["messages"]):
            index += 1
            part.append(
                {
                    "message_id": m["id"] + suffix,
                    "conversation_id": conversation,
                    "role": m["role"],
                    "content": m["text"],
                    "sent_at": m["at"],
                }
            )
            last = n == len(session["messages"]) - 1
            if m["id"] in wanted or last:
                position = api("POST", "/v1/messages", {"user_id": user, "messages": part})["messages"][-1][
                    "position"
                ]
                part = []
            if m["id"] in wanted:
                contexts[m["id"]] = context(api, conversation, user, index)
        api("POST", f"/v1/conversations/{urllib.parse.quote(conversation)}/close")
        for _ in range(30):
            if api("GET", "/v1/progress", position=position, wait=10)["state"] in (
                "extracted",
                "searchable",
                "refused",
                "dead-lettered",
            ):
                break
        time.sleep(1)
    return contexts


def context(api, conversation, user, index):
    for _ in range(120):
        try:
            made = api("GET", "/v1/context", conversation_id=conversation, user_id=user)
            if (made.get("context") or {}).get("after_index", -1) >= index:
                items = [i for i in made["context"]["items"] if i.get("left_out") is None]
                return {
                    "prompt": made["prompt"],
                    "recent": " \n ".join(i["text"] for i in items if i["tier"] == "recent"),
                    "memory": [(i["tier"], i["text"], i["id"]) for i in items if i["tier"] != "recent"],
                }
        except urllib.error.HTTPError as e:
            if e.code != 404:
                raise
        time.sleep(0.25)
    return None


def facts(api, user, status):
    found, start = [], None
    while True:
        page = api("GET", "/v1/facts", user_id=user, status=status, limit=200, start=start)
        found += page["facts"]
        start = page.get("next")
        if not start:
            return found


def said(fact):
    return " ".join([fact["statement"], *(p.get("quote") or "" for p in fact.get("provenance", []))]).lower()


def has(text, note):
    return all(any(term.lower() in text for term in alternatives) for alternatives in note["terms"])


def shows(text, note, texts):
    """A note is at hand in a text if its terms are, or if one of the sentences that say it is quoted."""
    text = text.lower()
    return has(text, note) or any(texts[e].lower() in text for e in note["evidence"] if len(texts[e]) > 12)


def tells_end(text, notes, note, texts):
    """The end of a note is at hand if what replaces it is, or if the message that ends it is quoted."""
    ends, text = note["ends"] or {}, text.lower()
    by, instead = texts.get(ends.get("by"), ""), notes.get(note.get("replaced_by"))
    sentences = [part for part in re.split(r"(?<=[.!?…])\s+|\n", by.lower()) if len(part) > 12] or [by.lower()]
    return any(part in text for part in sentences if part) or bool(instead and shows(text, instead, texts))


def score(api, person, suffix, contexts):
    user = person["person"] + suffix
    texts = {m["id"]: m["text"] for s in person["sessions"] for m in s["messages"]}
    active, every = facts(api, user, "active"), facts(api, user, "any")
    of = lambda fact: {
        i.removesuffix(suffix) if suffix else i
        for p in fact.get("provenance", [])
        for i in p.get("message_ids", [])
    }
    living = [n for n in person["notes"] if not n.get("ends")]
    over = [n for n in person["notes"] if n.get("ends")]
    hit = lambda note, fs: [
        f
        for f in fs
        if has(said(f), note) and (of(f) & set(note["evidence"]) or has(f["statement"].lower(), note))
    ]
    r = {"person": person["person"], "facts": len(active)}
    for level in (3, 2, 1):
        mine = [n for n in living if n["importance"] == level]
        r[f"kept_{level}"] = [sum(bool(hit(n, active)) for n in mine), len(mine)]
    r["missing"] = [f"{n['importance']} {n['text']}" for n in living if not hit(n, active)]
    # What ended must not stand among what holds; a fact that says that it is over ("no longer ...", "gave up ...") is right.
    stale = [(n, f) for n in over for f in hit(n, active) if n["ends"]["by"] not in of(f)]
    r["ended_right"] = [len(over) - len({n["id"] for n, _ in stale}), len(over)]
    told = {n["id"] for n, f in stale if of(f) & set(n["evidence"])}
    r["ended_told"] = [len(over) - len(told), len(over)]
    r["ended_known"] = [sum(bool(hit(n, every)) for n in over), len(over)]
    r["stale"] = [f["statement"] for _, f in stale]
    noise = set(person["not_notes"])
    evidence = {e for n in person["notes"] for e in n["evidence"]} | {n["ends"]["by"] for n in over}
    r["noise"] = [sum(bool(of(f)) and of(f) <= noise for f in active), len(active)]
    r["unasked"] = [
        sum(bool(of(f)) and not of(f) & evidence and not of(f) <= noise for f in active),
        len(active),
    ]
    r["noisy"] = [f["statement"] for f in active if of(f) and of(f) <= noise]
    notes = {n["id"]: n for n in person["notes"]}
    messages = {f["fact_id"]: of(f) for f in every}
    must = must_300 = nice = must_all = nice_all = harm = harm_raw = harm_alone = harm_all = words = 0
    for m in person["moments"]:
        c = contexts.get(m["after"]) or {"prompt": "", "recent": "", "memory": []}
        short, left = [], 300  # in the prompt's order, as many items as fit into 300 words
        for _, text, _ in c["memory"]:
            if len(text.split()) <= left:
                short.append(text)
                left -= len(text.split())
        words += len(" ".join(t for _, t, _ in c["memory"]).split())
        must_all += len(m["must"])
        nice_all += len(m.get("nice", []))
        harm_all += len(m.get("harm", []))
        must += sum(shows(c["prompt"], notes[i], texts) for i in m["must"])
        must_300 += sum(shows(" \n ".join([*short, c["recent"]]), notes[i], texts) for i in m["must"])
        nice += sum(shows(c["prompt"], notes[i], texts) for i in m.get("nice", []))
        known = [(t.lower(), fact_id) for tier, t, fact_id in c["memory"] if tier in ("facts", "instructions")]
        for note in (notes[i] for i in m.get("harm", [])):
            by = (note.get("ends") or {}).get("by")
            harm_raw += has(" \n ".join(t for t, _ in known), note)
            alone = has(" \n ".join(t for t, i in known if by not in messages.get(i, ())), note)
            harm += alone
            harm_alone += alone and not tells_end(c["prompt"], notes, note, texts)
    r["must_in_300_words"] = [must_300, must_all]
    r["context_must"], r["context_nice"], r["context_harm"] = (
        [must, must_all],
        [nice, nice_all],
        [harm, harm_all],
    )
    r["context_harm_raw"], r["context_harm_alone"] = [harm_raw, harm_all], [harm_alone, harm_all]
    r["context_words"] = round(words / max(1, len(person["moments"])))
    found = empty = asked = nothing = 0
    r["unfound"] = []
    for q in person["questions"]:
        results = api("POST", "/v1/search", {"user_id": user, "q": q["q"], "limit": 5})["results"]
        if not q["notes"] and not q["evidence"]:
            nothing += 1
            empty += not results
            continue
        asked += 1
        ids = {i.removesuffix(suffix) if suffix else i for x in results for i in x.get("message_ids", [])}
        text = " ".join(x["text"] for x in results).lower()
        good = bool(ids & set(q["evidence"])) or any(has(text, notes[i]) for i in q["notes"])
        found += good
        if not good:
            r["unfound"].append(q["q"])
    r["answered"], r["unanswerable_empty"] = [found, asked], [empty, nothing]
    return r


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--url", default="http://127.0.0.1:8371")
    p.add_argument("--token", default="")
    p.add_argument("--suffix", default="")
    p.add_argument("--json")
    p.add_argument("--verbose", action="store_true")
    p.add_argument(
        "--read-only",
        action="store_true",
        help="send nothing: the people were sent before (moments are left out)",
    )
    a = p.parse_args()
    api = Api(a.url, a.token)
    all_ = []
    for file in a.files:
        person = json.load(open(file))
        all_.append(score(api, person, a.suffix, {} if a.read_only else feed(api, person, a.suffix)))
        if a.verbose:
            print(json.dumps(all_[-1], indent=1, ensure_ascii=False))
    rows = [
        ("kept_3", "notes that must not be forgotten, kept"),
        ("kept_2", "notes worth having, kept"),
        ("kept_1", "notes nice to have, kept"),
        ("ended_right", "ended notes that do not stand as if they held"),
        ("ended_told", "ended notes of whose own sentences none stands as if it held"),
        ("ended_known", "ended notes that are known with their end"),
        ("noise", "facts from what is no note (lower is better)"),
        ("unasked", "facts that no note asks for (read them)"),
        ("must_in_300_words", "what must be at hand, in the first 300 words of memory and the last messages"),
        (
            "context_must",
            "… in the whole context (at 1,500 tokens random turns reach .94 on people this short)",
        ),
        ("context_nice", "what is good to have at hand, in the context"),
        ("context_harm", "what would harm, said as known (lower is better)"),
        ("context_harm_raw", "… with the facts that tell of the end"),
        ("context_harm_alone", "… where the prompt does not show the message that tells of the end either"),
        ("answered", "questions with the evidence among the first five"),
        ("unanswerable_empty", "questions that nothing answers, left empty"),
    ]
    for key, words in rows:
        parts = [x[key] for x in all_]
        n, d = sum(x for x, _ in parts), sum(x for _, x in parts)
        print(
            f"{key:20} {n:4} of {d:4} {n / d if d else 0:6.3f}  {words}   "
            + " ".join(f"{x}/{y}" for x, y in parts)
        )
    print(
        f"{'context_words':20} "
        + " ".join(str(x["context_words"]) for x in all_)
        + "  words of memory in a context, by person"
    )
    print(
        "the worst: notes that must not be forgotten and are, ended ones that stand, questions without their evidence"
    )
    for x in all_:
        forgotten = [f"forgotten: {text[2:]}" for text in x["missing"] if text.startswith("3")]
        stale = [f"stands: {text}" for text in dict.fromkeys(x["stale"])]
        for text in [*forgotten[:4], *stale[:3], *(f"unfound: {q}" for q in x["unfound"][:3])]:
            print(f"  {x['person']}: {text}")
    if a.json:
        json.dump(all_, open(a.json, "w"), indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
