#!/usr/bin/env python3
"""Checks notebook files against BRIEF.md.  python3 check.py FILE...   (exit 1 if any file has an error)

Errors are breaches of the brief; warnings are for the eye. If tags/PERSON.json stands beside this script
({"n1": "d|p|q" + optional "o"}: told directly / in passing / only by question and answer; o: about others),
the rules of the craft that need a human's judgement are counted too.
"""

import json, os, re, sys
from collections import Counter
from datetime import datetime

KINDS = {"state", "preference", "event", "instruction", "profile", "relation"}
ISO = re.compile(r"^2026-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


def has(text, alts):
    t = text.lower()
    return any(a.lower() in t for a in alts)


def check(path):
    E, W = [], []
    e, w = E.append, W.append
    try:
        d = json.load(open(path, encoding="utf-8"))
    except Exception as x:
        return [f"not valid JSON: {x}"], [], {}
    keys = {"person", "voice", "sessions", "notes", "not_notes", "moments", "questions"}
    for k in keys - set(d):
        e(f"missing key {k}")
    for k in set(d) - keys:
        w(f"extra key {k}")
    if keys - set(d):
        return E, W, {}
    if os.path.basename(path) != d["person"] + ".json":
        w("file name is not PERSON.json")
    if not d["voice"].strip():
        e("empty voice")

    # sessions
    S, M, order = d["sessions"], {}, []
    if not 5 <= len(S) <= 7:
        e(f"{len(S)} sessions, not 5 to 7")
    last = ""
    cids = Counter(s["conversation_id"] for s in S)
    for c, n in cids.items():
        if n > 1:
            e(f"conversation_id twice: {c}")
        if not c.startswith(d["person"] + "-"):
            w(f"conversation_id {c} does not start with the person")
    for s in S:
        c, ms = s["conversation_id"], s["messages"]
        if not 12 <= len(ms) <= 26:
            e(f"{c}: {len(ms)} messages, not 12 to 26")
        turns = sum(a["role"] != b["role"] for a, b in zip(ms, ms[1:]))
        if ms and turns < 0.6 * (len(ms) - 1):
            e(f"{c}: user and assistant hardly alternate ({turns} of {len(ms) - 1})")
        if ms and ms[0]["role"] != "user":
            w(f"{c}: first message is not the user's")
        run = 0
        for i, m in enumerate(ms, 1):
            if set(m) != {"id", "role", "at", "text"}:
                e(f"{c}: odd keys in message {m.get('id')}")
            if m["id"] in M:
                e(f"message id twice: {m['id']}")
            if m["id"].rsplit("-", 1)[-1] != str(i):
                w(f"{c}: id {m['id']} at place {i}")
            if m["role"] not in ("user", "assistant"):
                e(f"{m['id']}: role {m['role']}")
            if not ISO.match(m["at"]):
                e(f"{m['id']}: date {m['at']}")
            else:
                try:
                    datetime.strptime(m["at"], "%Y-%m-%dT%H:%M:%SZ")
                except ValueError:
                    e(f"{m['id']}: no such date {m['at']}")
            if m["at"] <= last:
                e(f"{m['id']}: dates do not ascend ({last} then {m['at']})")
            last = m["at"]
            if not m["text"].strip():
                e(f"{m['id']}: empty text")
            run = run + 1 if m["role"] == "assistant" else 0
            if run > 1:
                w(f"{m['id']}: two assistant messages in a row")
            m = dict(m, pos=len(order), conv=c)
            M[m["id"]] = m
            order.append(m)
    if order:
        days = (
            datetime.strptime(order[-1]["at"][:10], "%Y-%m-%d")
            - datetime.strptime(order[0]["at"][:10], "%Y-%m-%d")
        ).days
        if not 58 <= days <= 280:
            e(f"sessions span {days} days, not 2 to 9 months")
    user = lambda i: i in M and M[i]["role"] == "user"
    pos = lambda i: M[i]["pos"]

    # notes
    N = {}
    for n in d["notes"]:
        i = n.get("id")
        if i in N:
            e(f"note id twice: {i}")
        N[i] = n
    if not 24 <= len(N) <= 40:
        e(f"{len(N)} notes, not 24 to 40")
    evid = set()
    for i, n in N.items():
        need = {"id", "text", "kind", "importance", "evidence", "terms", "ends", "replaced_by"}
        if need - set(n):
            e(f"{i}: missing {sorted(need - set(n))}")
            continue
        if set(n) - need - {"needs_all"}:
            w(f"{i}: extra keys {sorted(set(n) - need - {'needs_all'})}")
        if n["kind"] not in KINDS:
            e(f"{i}: kind {n['kind']}")
        if n["importance"] not in (1, 2, 3):
            e(f"{i}: importance {n['importance']}")
        if not n["text"].strip():
            e(f"{i}: empty text")
        bad = [x for x in n["evidence"] if not user(x)]
        if bad or not n["evidence"]:
            e(f"{i}: evidence not a user message: {bad or 'none'}")
            continue
        if len(set(n["evidence"])) != len(n["evidence"]):
            e(f"{i}: evidence twice")
        evid |= set(n["evidence"])
        if not n["terms"] or not all(
            isinstance(g, list) and g and all(t.strip() for t in g) for g in n["terms"]
        ):
            e(f"{i}: terms must be non-empty lists")
            continue
        for g in n["terms"]:
            for x in g:
                if len(x) < 4 and x.isalpha() and len(g) < 9:
                    w(f"{i}: term {x!r} is short and may match inside other words")
        if len(n["terms"]) > 2:
            w(f"{i}: {len(n['terms'])} inner term lists")
        texts = [M[x]["text"] for x in n["evidence"]]
        for g in n["terms"]:
            if not any(has(t, g) for t in texts):
                e(f"{i}: none of {g} in the evidence")
            elif not n.get("needs_all"):
                for x in n["evidence"]:
                    if not has(M[x]["text"], g):
                        w(f"{i}: {x} alone has none of {g}")
            if not has(n["text"], g):
                w(f"{i}: note text has none of {g}")
        if n["ends"] is not None:
            if set(n["ends"]) != {"by", "at"} or not user(n["ends"]["by"]):
                e(f"{i}: ends {n['ends']}")
                continue
            b = n["ends"]["by"]
            if pos(b) <= min(pos(x) for x in n["evidence"]):
                e(f"{i}: ends before it is told")
            if any(pos(x) > pos(b) for x in n["evidence"]):
                e(f"{i}: evidence after its end")
            if n["ends"]["at"] != M[b]["at"][:10]:
                w(f"{i}: ends at {n['ends']['at']}, message of {M[b]['at'][:10]}")
        if n["replaced_by"] is not None:
            r = n["replaced_by"]
            if r not in N:
                e(f"{i}: replaced_by {r}?")
            elif r == i or n["ends"] is None:
                e(f"{i}: replaced_by without an end")
            elif max(pos(x) for x in N[r]["evidence"] if user(x)) < min(pos(x) for x in n["evidence"]):
                e(f"{i}: {r} is older")
    if E:
        return E, W, {}
    ended = [i for i, n in N.items() if n["ends"]]
    if len(ended) < 5:
        e(f"{len(ended)} ended notes, not 5")
    told = {i: min(pos(x) for x in n["evidence"]) for i, n in N.items()}
    for i, n in N.items():
        if n.get("needs_all"):
            told[i] = max(pos(x) for x in n["evidence"])
    end = {i: pos(N[i]["ends"]["by"]) for i in ended}

    # not_notes
    nn = d["not_notes"]
    if not 15 <= len(nn) <= 30:
        e(f"{len(nn)} not_notes, not 15 to 30")
    if len(set(nn)) != len(nn):
        e("not_notes twice")
    for x in nn:
        if not user(x):
            e(f"not_note {x}: no user message")
        if x in evid:
            e(f"not_note {x} is evidence of a note")
        if x in {N[i]["ends"]["by"] for i in ended}:
            e(f"not_note {x} ends a note")

    # moments
    if not 8 <= len(d["moments"]) <= 12:
        e(f"{len(d['moments'])} moments, not 8 to 12")
    seen = set()
    for m in d["moments"]:
        a = m["after"]
        if set(m) != {"after", "must", "nice", "harm"}:
            e(f"moment {a}: keys")
            continue
        if not user(a):
            e(f"moment after {a}: no user message")
            continue
        if a in seen:
            e(f"moment {a} twice")
        seen.add(a)
        p = pos(a)
        if p + 1 >= len(order) or order[p + 1]["role"] != "assistant" or order[p + 1]["conv"] != M[a]["conv"]:
            e(f"moment {a}: no assistant message follows")
        if not m["must"]:
            w(f"moment {a}: no must")
        al = m["must"] + m["nice"] + m["harm"]
        if len(set(al)) != len(al):
            e(f"moment {a}: a note twice")
        for k in ("must", "nice", "harm"):
            for i in m[k]:
                if i not in N:
                    e(f"moment {a}: {k} {i}?")
                    continue
                if told[i] > p:
                    e(f"moment {a}: {k} {i} is not told yet")
                if k != "harm" and i in end and end[i] < p:
                    e(f"moment {a}: {k} {i} has ended")
                if k == "harm" and not (i in end and end[i] <= p):
                    w(f"moment {a}: harm {i} has not ended (misleading?)")

    # questions
    Q = d["questions"]
    if not 12 <= len(Q) <= 16:
        e(f"{len(Q)} questions, not 12 to 16")
    none = [q for q in Q if not q["notes"]]
    if len(none) not in (3, 4):
        e(f"{len(none)} unanswerable questions, not 3 or 4")
    for q in Q:
        if not {"q", "notes", "evidence"} <= set(q):
            e(f"question keys: {q}")
            continue
        if not q["q"].strip():
            e("empty question")
        for i in q["notes"]:
            if i not in N:
                e(f"question {q['q']!r}: note {i}?")
        for x in q["evidence"]:
            if not user(x):
                e(f"question {q['q']!r}: evidence {x}?")
        if bool(q["notes"]) != bool(q["evidence"]):
            e(f"question {q['q']!r}: notes without evidence or the reverse")
        ok = {
            x
            for i in q["notes"]
            if i in N
            for x in N[i]["evidence"] + ([N[i]["ends"]["by"]] if N[i]["ends"] else [])
        }
        for x in q["evidence"]:
            if x not in ok:
                w(f"question {q['q']!r}: {x} is no evidence of its notes")
        for i in q["notes"]:
            if i in N and not set(N[i]["evidence"]) & set(q["evidence"]):
                w(f"question {q['q']!r}: no evidence of {i}")
        a = q.get("as_of")
        if a is not None and not re.match(r"^2026-\d\d-\d\d$", a):
            e(f"question {q['q']!r}: as_of {a}")

    # craft, by tags
    tf = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tags", d["person"] + ".json")
    craft = None
    if os.path.exists(tf):
        T = json.load(open(tf))
        if set(T) != set(N):
            e("tags do not match the notes")
        passing = sum("p" in t or "q" in t for t in T.values())
        qa = sum("q" in t for t in T.values())
        oth = sum("o" in t for t in T.values())
        craft = dict(in_passing_or_qa=passing, passing=sum("p" in t for t in T.values()), qa=qa, others=oth)
        if craft["passing"] * 3 < len(N):
            e(f"{craft['passing']} of {len(N)} notes told in passing, not a third")
        if qa < 4:
            e(f"{qa} notes by question and answer, not 4")
        if oth < 3:
            e(f"{oth} notes about others, not 3")

    imp = Counter(n["importance"] for n in N.values())
    um = [m for m in order if m["role"] == "user"]
    used = evid | set(nn) | {N[i]["ends"]["by"] for i in ended}
    C = dict(
        sessions=len(S),
        messages=len(order),
        user=len(um),
        per_session=[len(s["messages"]) for s in S],
        span=(order[0]["at"][:10], order[-1]["at"][:10]),
        notes=len(N),
        imp3=imp[3],
        imp2=imp[2],
        imp1=imp[1],
        ended=len(ended),
        replaced=sum(n["replaced_by"] is not None for n in N.values()),
        not_notes=len(nn),
        moments=len(d["moments"]),
        questions=len(Q),
        unanswerable=len(none),
        craft=craft,
        neither=[m["id"] for m in um if m["id"] not in used],
        words=sum(len(m["text"].split()) for m in um),
    )
    return E, W, C


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rc = 0
    for p in sys.argv[1:]:
        E, W, C = check(p)
        print(f"== {p}: {'OK' if not E else str(len(E)) + ' ERRORS'}, {len(W)} warnings")
        for x in E:
            print("  ERROR", x)
        for x in W:
            print("  warn ", x)
        for k, v in C.items():
            print(f"  {k}: {v}")
        rc |= bool(E)
    sys.exit(rc)
