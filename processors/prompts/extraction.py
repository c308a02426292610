"""Notes about the people of a window, asked of a language model (requirement 1).

A model is told neither ids of messages nor of people: messages and known notes have numbers and people letters, so
that it cannot name what is not in front of it.  A note belongs to the person who wrote its message.

It is shown what is known of them, and says of each note whether it is new.  Known notes are no part of what is
remembered of an answer: what a number stood for is written into the answer (:func:`parts`), so a replay asks
nothing, however much is known by then.  How an answer is read is in :mod:`.notes` and, for relations, in
:mod:`.graph`; one call asks for both.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from models.messages import Role
from models.policies import NO_RULES, Rules
from models.ports import KnownNote
from models.summaries import SummaryRequest
from models.windows import Window, WindowMessage
from processors.prompts import graph, policy
from processors.prompts.checks import words_of
from processors.prompts.fence import RULE, fenced
from processors.prompts.prompt import Prompt, items, named_times, told

VERSION = "extraction-5"

#: The version of the prompt that asks for relations as well.
WITH_GRAPH = f"{VERSION}-graph"

#: Room for the answer about one window; what is longer is cut off, and read as far as it goes.
MOST_TOKENS = 3072

#: Known notes that are shown.
MOST_KNOWN = 40

#: Notes and relations of one window that are read; no window of conversation holds more.
MOST_NOTES = 40

#: Of what no person wrote nothing is read but what somebody answers shortly: of a long text so many characters are
#: shown of its beginning, and of its end, where questions stand.
_BEGINNING, _END, _LEFT_OUT = 200, 400, " [...] "

SINGLE = ("name", "age", "birthday", "origin", "home", "occupation", "employer", "partner", "diet")
SEVERAL = ("family", "pet", "language", "education", "possession", "health", "medicine", "like")
STANDING = ("allergy", "constraint", "instruction")
OTHERS = ("favourite", "feedback", "habit", "event", "plan", "other")

CHANGES = ("new", "again", "replaces", "ends", "corrects")

_TASK = f"""keep the notes that a careful assistant keeps about the people it talks with.

The data holds one JSON record per line. First what is known already, if anything is: k (the number of the note), known, at (when it
was said last), by (whose it is, where several people speak). Then messages, in their order: n (the number of the message), by (a
letter for the person who wrote it) or role (assistant, tool, system: no person), at (UTC, and good for the messages after it until
another is named), text ("[...]": something is left out), window (only where several conversations are shown, each by itself).
{RULE}

Read message by message. A note is what a person tells about their own life that still helps in a month: who they are, the people and
pets around them, home, work, money, health, food, tastes, habits, plans, what happened, how they want to be answered. Much of it
falls in passing ("another 6 am shift at the bakery"): note that too. Skip small talk, questions, moods, jokes, ideas that are only
considered, what they say in a role or draft for others, general knowledge, what only the assistant, a tool or a pasted text says, and
wishes for the task at hand ("for this script", "tonight"). Never combine what two people say. If in doubt, skip. One fact is one
note, and each fact is noted once. Nothing to note is an empty list.

Fields of a note, in this order:
- n: the number of the person's message.
- quote: their words in that message, copied exactly, no more than bear it out. A short answer ("yes", "the second") is quoted as it
  is; the question before it explains it.
- note: one full sentence that can be understood next year without the conversation, in the language of the quote. The person is "the
  user" in that language. Names, not "she" or "it"; dates, not "today" or "on Friday", counted from "at". Numbers, names and dates as
  they stand in the messages; add nothing.
- change: against what is known: new; again (a known note says it already); replaces (a known note was true, and this is so now
  instead); ends (something is no longer so, and nothing takes its place); corrects (a known note never was true).
- k: the number of that known note, else 0. Look for it whenever they tell of a change, a move, a cancellation or a new wish.
- about: "user", or whom or what of theirs it is about, in their words ("mum", "Biscuit").
- attribute: one of the list below.
- value: what fills it, 1 to 5 of their own words ("peanuts", "Munich"; the day of a birthday); for favourite the kind first
  ("cuisine: Thai"); "" with other.
- denied: true if they say that the value is not so ("I don't like halloumi": like, halloumi, true).
- date: of an event or a plan, or since when something is so: YYYY-MM-DD, YYYY-MM or YYYY, as far as they say; else "".
- importance: 3 if it does harm to forget it: allergy, illness, diet, home, job, children, partner, a standing wish, a secret; 2 if it is
  clearly worth having; 1 if it is nice to have. Most notes are 2.
- sure: high, or low if they are not sure themselves or you had to guess.

Attributes with one value at a time: {", ".join(SINGLE)}.
With several: {", ".join(SEVERAL)}; favourite; feedback (on the assistant); other (anything else, in the note alone).
Heeded in everything, for ever, so be strict: allergy; constraint (a limit of the person in all they do: a wheelchair, no alcohol;
what a new flat or this trip needs is other); instruction (how to answer, what to do or what to keep secret in every conversation to
come; a wish for this task is none).
habit: done again and again. event: happened once. plan: decided, not done yet; what is only wished for or considered is none."""

_EXAMPLE = """

Example. {"k":1,"known":"The user plays five-a-side football on Tuesdays.","at":"2026-01-12"}
{"n":1,"by":"A","at":"2026-03-09T20:35Z, Monday","text":"I gave up football. Is 15 km too much? Mum turns 60 today!"}
{"notes":[{"n":1,"quote":"I gave up football","note":"The user gave up football by March 2026.","change":"ends","k":1,"about":"user",
"attribute":"habit","value":"football","denied":false,"date":"","importance":2,"sure":"high"},{"n":1,"quote":"Mum turns 60 today",
"note":"The user's mum turned 60 on 9 March 2026.","change":"new","k":0,"about":"Mum","attribute":"birthday","value":"9 March",
"denied":false,"date":"2026-03-09","importance":2,"sure":"high"}]"""

_RELATIONS = ""","relations":[{"n":1,"subject":{"type":"person","name":"","role":"self"},"relation":"mother","object":{"type":
"person","name":"","role":"mother"},"ended":false,"quote":"Mum"}]}"""

SYSTEM = f"Task {VERSION}: {_TASK}{_EXAMPLE}}}"
SYSTEM_WITH_GRAPH = f"Task {WITH_GRAPH}: {_TASK}\n\n{graph.TASK}{_EXAMPLE}{_RELATIONS}"

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _one_of(*names: str) -> Mapping[str, Any]:
    return {"type": "string", "enum": list(names)}


_NOTE: Mapping[str, Any] = {
    "n": _NUMBER,
    "quote": _TEXT,
    "note": _TEXT,
    "change": _one_of(*CHANGES),
    "k": _NUMBER,
    "about": _TEXT,
    "attribute": _one_of(*SINGLE, *SEVERAL, *STANDING, *OTHERS),
    "value": _TEXT,
    "denied": {"type": "boolean"},
    "date": _TEXT,
    "importance": {"type": "integer", "enum": [1, 2, 3]},
    "sure": _one_of("high", "low"),
}


def _schema(**lists: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": each} for name, each in lists.items()},
        "required": list(lists),
        "additionalProperties": False,
    }


_NOTES = {
    "type": "object",
    "properties": _NOTE,
    "required": list(_NOTE),
    "additionalProperties": False,
}
SCHEMA = _schema(notes=_NOTES)
SCHEMA_WITH_GRAPH = _schema(notes=_NOTES, relations=graph.STATEMENT)


def prompt(
    windows: Sequence[Window],
    known: Sequence[KnownNote] = (),
    *,
    with_graph: bool = False,
    rules: Rules = NO_RULES,
) -> Prompt:
    """Return the prompt about windows of one person; messages are numbered through all of them.

    What the tenant's ``rules`` add stands behind the part that providers cache.
    """
    letters = _letters(each.user_id for window in windows for each in window.messages)
    people = {each.user_id for window in windows for each in window.messages if each.role is Role.USER}
    records = [_known(k, each, letters, several=len(people) > 1) for k, each in enumerate(known, 1)]
    for number, (window, before) in enumerate(zip(windows, _befores(windows), strict=False), 1):
        place = {"window": number} if len(windows) > 1 else {}
        records += [{**place, **each, "n": before + each["n"]} for each in _records(window, letters)]
    return Prompt(
        WITH_GRAPH if with_graph else VERSION,
        (SYSTEM_WITH_GRAPH if with_graph else SYSTEM) + policy.addition(rules),
        fenced(records),
        policy.with_categories(SCHEMA_WITH_GRAPH if with_graph else SCHEMA, rules),
        MOST_TOKENS * len(windows),
    )


def records_of(window: Window) -> list[dict[str, Any]]:
    """Return a window's records for a model, the same for the same messages wherever they are in the log."""
    return _records(window, people_of(window))


def _records(window: Window, letters: Mapping[str, str]) -> list[dict[str, Any]]:
    times = named_times(each.sent_at for each in window.messages)
    return [
        {
            "n": number,
            **by_or_role(message, letters),
            **({} if at is None else {"at": at.strftime("%Y-%m-%dT%H:%MZ, %A")}),
            "text": _shown(message),
        }
        for number, (message, at) in enumerate(zip(window.messages, times, strict=True), 1)
    ]


def _known(k: int, note: KnownNote, letters: Mapping[str, str], *, several: bool) -> dict[str, Any]:
    whose = {"by": letters[note.user_id]} if several and note.user_id in letters else {}
    return {"k": k, **whose, "known": note.text, "at": note.said_at.strftime("%Y-%m-%d")}


def by_or_role(message: WindowMessage, letters: Mapping[str, str]) -> dict[str, str]:
    """Return the author of a message: the letter of a person, or a role."""
    if message.role is Role.USER:
        return {"by": letters[message.user_id]}
    return {"role": message.role.value}


def _shown(message: WindowMessage) -> str:
    text = message.content
    if message.role is Role.USER or len(text) <= _BEGINNING + len(_LEFT_OUT) + _END:
        return text
    return f"{text[:_BEGINNING]}{_LEFT_OUT}{text[-_END:]}"


def people_of(shown: Window | SummaryRequest) -> dict[str, str]:
    """Return the letter that each person of a window, or of what is to be summarized, goes by."""
    return _letters(message.user_id for message in shown.messages)


def _letters(user_ids: Any) -> dict[str, str]:
    return {user_id: letter(number) for number, user_id in enumerate(dict.fromkeys(user_ids))}


def letter(number: int) -> str:
    """Return the letter that the person of this number goes by: A, B, ... Z, AA."""
    return chr(ord("A") + number) if number < 26 else letter(number // 26 - 1) + letter(number % 26)


def _befores(windows: Sequence[Window]) -> list[int]:
    """Return how many messages there are before each window, and in all."""
    return [*accumulate((len(each.messages) for each in windows), initial=0)]


def parts(answer: str, windows: Sequence[Window], known: Sequence[KnownNote] = ()) -> list[str]:
    """Cut the answer about windows into one for each, in their order; "" where there is none.

    Each is by itself: messages are numbered in its window, ``known`` is the id of the fact that a number stood for,
    and ``seen`` are the words of a note that stand in the known notes.  Of an answer that was cut off, what stands
    last is left out: it may say half, and so the opposite; and the last window that it speaks of is asked again.
    """
    said = told(answer)
    content = said.content if said is not None and isinstance(said.content, dict) else {}
    if said is None or not isinstance(content.get("notes"), list):
        return [""] * len(windows)
    befores = _befores(windows)
    found: list[dict[str, list[Any]]] = [{"notes": [], "relations": []} for _ in windows]
    last = 0
    for name in ("notes", "relations"):
        given = items(content.get(name))
        cut = said.cut and (name == "relations" or not items(content.get("relations")))
        for each in given[:-1] if cut else given:
            number = each.get("n") if isinstance(each, dict) else None
            place = 0
            if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= befores[-1]:
                place = bisect_left(befores, number) - 1
                each = {**each, "n": number - befores[place]}
                if name == "notes":
                    last = max(last, place)
                    each = _resolved(each, windows[place], known)
            elif isinstance(each, dict):
                each = {**each, "n": 0}
            if len(found[place][name]) < MOST_NOTES:
                found[place][name].append(each)
    whole = last if said.cut and len(windows) > 1 else len(windows)
    return [
        json.dumps(each, ensure_ascii=False, separators=(",", ":")) if place < whole else ""
        for place, each in enumerate(found)
    ]


def _resolved(note: Mapping[str, Any], window: Window, known: Sequence[KnownNote]) -> dict[str, Any]:
    """Return a note with what it says of known notes in words that hold without them."""
    k = note.get("k")
    user_id = window.messages[note["n"] - 1].user_id
    own = [each for each in known if each.user_id == user_id]
    meant = known[k - 1] if isinstance(k, int) and not isinstance(k, bool) and 1 <= k <= len(known) else None
    kept = {name: value for name, value in note.items() if name in _NOTE and name != "k"}
    if meant is not None and meant.user_id == user_id:
        kept["known"] = meant.fact_id
    shown = {word for each in own for word in words_of(each.text)}
    texts = [note.get(name) for name in ("note", "value", "about")]
    words = {word for text in texts if isinstance(text, str) for word in words_of(text[:_LONGEST])}
    if seen := sorted(words & shown):
        kept["seen"] = seen
    return kept


#: Characters of a text in which words are looked for.
_LONGEST = 2_000
