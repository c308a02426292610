"""Samples to train the reader model on: sentences in context with what is known of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.notebook.labels import (
    HERE,
    Labelled,
    chats,
    labelled,
    labelled_chat,
    people,
    single,
    window_of,
)
from models.readings import ACTS, KINDS, Act, Sentence
from processors.extraction.units import Unit

#: Questions of an assistant that ask for nothing in particular.
_ASKED = (
    "Anything else?",
    "How can I help you today?",
    "What would you like to do next?",
    "Shall I go on?",
    "Does that help?",
    "Is there anything else on your mind?",
    "Do you want another example?",
)
#: Weights of sentences of chats by file.  Who marked them was stricter than who wrote the people, in the other
#: files of chats most of all.
_OF_CHATS, _OF_OTHER_CHATS = {"chats": 0.5}, 0.1
#: Weights of single sentences that are no notes, and of sentences of people as those by which nothing is done.
_OF_SINGLES, _OF_CHATTER = 0.5, 0.1
#: How much more a note that must not be forgotten counts.
_MUST = 1.25
#: What is not known of a sentence.
UNKNOWN = -1
_STANDING = ("state", "profile", "relation", "preference")


class Sample(NamedTuple):
    """A sentence; ``group``: what is left out together.  Classes are indices, :data:`UNKNOWN` if not labelled.

    ``level``: 0 (no note) to 3; ``kind`` of :data:`KINDS`; ``act`` of :data:`ACTS`.  ``weight`` is that of
    ``level``, ``act_weight`` that of ``act``.
    """

    group: str
    sentence: Sentence
    level: int = UNKNOWN
    kind: int = UNKNOWN
    act: int = UNKNOWN
    weight: float = 1.0
    act_weight: float = 1.0


def sample_of(each: Labelled, weight: float = 1.0) -> Sample:
    """Return the sample of a labelled unit."""
    if each.keep is None:
        return Sample(each.group, each.unit.sentence)
    kind = KINDS.index(each.kind) if each.keep and each.kind else UNKNOWN
    level = each.importance if each.keep else 0
    return Sample(each.group, each.unit.sentence, level, kind, weight=weight * (_MUST if level == 3 else 1.0))


def told() -> list[Labelled]:
    """Return the labelled units of people and of single sentences."""
    found = [each for person in people(HERE / "people") for each in labelled(person)]
    for name, keep in (("notes", True), ("not_notes", False)):
        for number, line in enumerate(_lines(f"{name}.jsonl")):
            row = json.loads(line)
            kind = row["kind"] if keep else ""
            units = single(f"{name}-{number % 97}", row["text"], keep, kind, row.get("importance", 0))
            own = row.get("own") or []
            found += [
                each
                for each in units
                if not any(each.unit.text in part or part in each.unit.text for part in own)
            ]
    for n, line in enumerate(_lines("plain_notes.txt")):
        kind, importance, text = line.split(" ", 2)
        found += _twice(f"notes-{n % 97}", text, n, True, kind, int(importance))
    for n, line in enumerate(_lines("small_talk.txt")):
        found += _twice(f"not_notes-{n % 97}", line, n, False)
    return [*found, *_mixed()]


def _mixed() -> Iterator[Labelled]:
    """Yield the sentences of messages of a plain note behind or before small talk: only the note is one."""
    talk = [each for each in _lines("small_talk.txt") if " || " not in each and each[-1] in ".!?"]
    for n, line in enumerate(_lines("plain_notes.txt")):
        kind, importance, text = line.split(" ", 2)
        said = talk[7 * n % len(talk)]
        if " || " in text or text[-1] not in ".!?":
            continue
        message = f"{said} {text}" if n % 3 else f"{text} {said}"
        for each in single(f"notes-{n % 97}", message, True, kind, int(importance)):
            yield each._replace(keep=False, kind="", importance=0) if each.unit.text in said else each


def _lines(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").splitlines()


def _twice(group: str, text: str, n: int, keep: bool, kind: str = "", importance: int = 0) -> list[Labelled]:
    """Return a sentence alone and, unless it has a question, behind one that asks for nothing in particular."""
    found = single(group, text, keep, kind, importance)
    if " || " not in text:
        found += single(group, f"{_ASKED[n % len(_ASKED)]} || {text}", keep, kind, importance)
    return found


def acts() -> list[Sample]:
    """Return the sentences of ``acts.jsonl``: text, role, act, language, and perhaps what was asked."""
    found = []
    for number, line in enumerate(_lines("acts.jsonl")):
        row = json.loads(line)
        said = {"id": "m", "role": row["role"], "at": "2026-03-01T10:00:00+00:00", "text": row["text"]}
        (message,) = window_of({"person": "p"}, {"conversation_id": "c", "messages": [said]}).messages
        unit = Unit(message, 0, len(row["text"]), row["text"], 0, row.get("asked", ""), row.get("asked", ""))
        found.append(Sample(f"acts-{number % 97}", unit.sentence, act=ACTS.index(Act(row["act"]))))
    return found


def known() -> list[Sample]:
    """Return everything that is trained on, unlabelled sentences left out."""
    written = acts()
    texts = {each.sentence.text for each in written}
    found = []
    for each in told():
        sample = sample_of(each, _OF_SINGLES if _is_single(each) and not each.keep else 1.0)
        if _does_nothing(each) and each.unit.text not in texts:
            sample = sample._replace(act=ACTS.index(Act.NONE), act_weight=_OF_CHATTER)
        found.append(sample)
    found += [sample_of(each) for person in people(HERE / "kinds") for each in labelled(person)]
    for path in sorted(HERE.glob("chats*.jsonl")):
        if path.stem != "chats_unseen":
            weight = _OF_CHATS.get(path.stem, _OF_OTHER_CHATS)
            found += [sample_of(each, weight) for chat in chats(path) for each in labelled_chat(chat)]
    return [*(each for each in found if each.level != UNKNOWN), *written]


def _is_single(each: Labelled) -> bool:
    return each.group.startswith(("notes-", "not_notes-"))


def _does_nothing(each: Labelled) -> bool:
    """Return whether a sentence of a person tells no note, or what is, was or is liked."""
    if _is_single(each):
        return False
    return each.keep is False or (bool(each.keep) and each.kind in _STANDING and each.importance < 3)


def of_people(folder: str) -> Iterator[Labelled]:
    """Yield the labelled units of the people of a folder."""
    for person in people(HERE / folder):
        yield from labelled(person)
