"""Labels for training from Notebook people: which sentences a careful note-taker would keep, and as what.

A note names the messages that say it, not the sentences.  A sentence of such a message is kept if one of the
note's terms stands in it; a message of one sentence is kept whole.  The other sentences of a message that tells
a note are left out of training: they may be part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from models.messages import Role
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.units import Unit, units_of

HERE = Path(__file__).parent

Person = dict[str, Any]


class Labelled(NamedTuple):
    """A unit with its label.

    ``keep`` is ``None`` where nobody can say; ``kind`` and ``importance`` are those of the note that it tells,
    ``""`` and 0 if it tells none; ``ends``: it ends or replaces an earlier note.
    """

    group: str
    unit: Unit
    keep: bool | None
    kind: str = ""
    importance: int = 0
    ends: bool = False
    weight: float = 1.0


def people(folder: str | Path) -> list[Person]:
    """Return the people of a folder, by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.json"))]


def strip_people() -> list[Person]:
    """Return the people of ``strips.jsonl``: each sentence is a message and a note, a day is a session."""
    lines = (HERE / "strips.jsonl").read_text(encoding="utf-8").splitlines()
    return [_strip_person(json.loads(line)) for line in lines]


def _strip_person(strip: dict[str, Any]) -> Person:
    sessions: dict[str, list[dict[str, str]]] = {}
    notes: dict[int, dict[str, Any]] = {}
    for line in strip["lines"]:
        day, number = line["at"][:10], line["n"]
        said = sessions.setdefault(day, [])
        at = f"{day}T10:{len(said) % 60:02}:00+00:00"
        if line.get("asked"):
            said.append({"id": f"q{number}", "role": "assistant", "at": at, "text": line["asked"]})
        said.append({"id": f"m{number}", "role": "user", "at": at, "text": line["say"]})
        terms = [re.findall(r"\w+", line["say"])]
        notes[number] = {
            "id": f"n{number}",
            "terms": terms,
            "evidence": [f"m{number}"],
            "ends": None,
            "replaced_by": None,
        }
        replaced = line.get("replaces", [])
        for earlier in (*line.get("ends", []), *replaced):
            notes[earlier]["ends"] = {"by": f"m{number}", "at": day}
            notes[earlier]["replaced_by"] = f"n{number}" if earlier in replaced else None
        for earlier in line.get("same", []):
            notes[earlier]["evidence"].append(f"m{number}")
    name = strip["person"]
    days = [{"conversation_id": f"{name}-{day}", "messages": said} for day, said in sessions.items()]
    return {"person": name, "sessions": days, "notes": [*notes.values()], "not_notes": []}


def window_of(person: Person, session: dict[str, Any]) -> Window:
    """Return a whole session as one window."""
    messages = tuple(
        WindowMessage(
            message_id=each["id"],
            user_id=person["person"],
            role=Role(each["role"]),
            content=each["text"],
            sent_at=datetime.fromisoformat(each["at"]),
            arrived_at=datetime.fromisoformat(each["at"]),
            index=index,
            offset=index,
        )
        for index, each in enumerate(session["messages"])
    )
    return Window(
        window_id=session["conversation_id"],
        conversation_id=session["conversation_id"],
        user_id=person["person"],
        reason=WindowReason.CLOSED,
        message_ids=tuple(each.message_id for each in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(topic="notebook", partition=0, first_offset=0, last_offset=len(messages) - 1),
    )


def labelled(person: Person) -> Iterator[Labelled]:
    """Yield the units of a person with their labels."""
    telling: dict[str, list[dict[str, Any]]] = {}
    ending: dict[str, list[dict[str, Any]]] = {}
    for note in person["notes"]:
        for message_id in note["evidence"]:
            telling.setdefault(message_id, []).append(note)
        if note.get("ends"):
            ending.setdefault(note["ends"]["by"], []).append(note)
    not_notes = set(person["not_notes"])
    for session in person["sessions"]:
        units = units_of(window_of(person, session))
        alone = _counts(units)
        for unit in units:
            yield _label(
                person["person"], unit, telling, ending, not_notes, is_only=alone[unit.message.message_id] == 1
            )


def _counts(units: Sequence[Unit]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for unit in units:
        counts[unit.message.message_id] = counts.get(unit.message.message_id, 0) + 1
    return counts


def _label(
    group: str,
    unit: Unit,
    telling: dict[str, list[dict[str, Any]]],
    ending: dict[str, list[dict[str, Any]]],
    not_notes: set[str],
    *,
    is_only: bool,
) -> Labelled:
    message_id, text = unit.message.message_id, unit.text.lower()
    told = telling.get(message_id, [])
    ended = ending.get(message_id, [])
    here = [
        note
        for note in told
        if is_only or any(term.lower() in text for group in note["terms"] for term in group)
    ]
    ends_here = [note for note in ended if is_only or any(t.lower() in text for g in note["terms"] for t in g)]
    if here:
        best = max(
            here,
            key=lambda note: (
                sum(any(t.lower() in text for t in g) for g in note["terms"]) / len(note["terms"]),
                note["importance"],
            ),
        )
        return Labelled(group, unit, True, best["kind"], max(n["importance"] for n in here), bool(ended))
    if ends_here:
        return Labelled(group, unit, True, ends_here[0]["kind"], ends_here[0]["importance"], True)
    if told or ended:
        return Labelled(group, unit, None)
    return Labelled(group, unit, False, weight=1.5 if message_id in not_notes else 1.0)


def chats(path: Path) -> Iterator[Person]:
    """Yield the chats of a file as people of one session, with message ids ``m0``, ``m1`` …

    ``marks``: for each message the notes (``q``, ``kind``, ``importance``) and the doubtful sentences.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        said: list[dict[str, str]] = []
        marks: dict[str, dict[str, Any]] = {}
        for number, each in enumerate(chat["messages"]):
            role = "user" if "u" in each else "assistant"
            at = f"2026-03-01T10:{number:02}:00+00:00"
            said.append({"id": f"m{number}", "role": role, "at": at, "text": each.get("u") or each["a"]})
            marks[f"m{number}"] = {"notes": each.get("notes", []), "maybe": each.get("maybe", [])}
        session = {"conversation_id": chat["id"], "messages": said}
        yield {"person": chat["id"], "sessions": [session], "marks": marks}


def labelled_chat(person: Person) -> Iterator[Labelled]:
    """Yield the units of a chat with their labels: its notes are marked sentence by sentence."""
    for unit in units_of(window_of(person, person["sessions"][0])):
        marks = person["marks"][unit.message.message_id]
        told = [note for note in marks["notes"] if _covers(unit, note["q"])]
        if told:
            best = max(told, key=lambda note: int(note["importance"]))
            yield Labelled(person["person"], unit, True, best["kind"], best["importance"])
        elif any(_covers(unit, doubtful) for doubtful in marks["maybe"]):
            yield Labelled(person["person"], unit, None)
        else:
            yield Labelled(person["person"], unit, False)


def _covers(unit: Unit, quoted: str) -> bool:
    """Return whether a marked quotation and a unit are the same words, for the most part."""
    at = unit.message.content.find(quoted)
    shared = min(unit.end, at + len(quoted)) - max(unit.start, at)
    return at >= 0 and shared > 0 and 2 * shared >= min(unit.end - unit.start, len(quoted))


def single(group: str, text: str, keep: bool, kind: str = "", importance: int = 0) -> list[Labelled]:
    """Return the units of a message that stands alone, all with the same label.

    ``question || answer`` is an answer with the assistant's question before it.
    """
    asked, _, said = text.rpartition(" || ")
    said_at = "2026-03-01T10:00:00+00:00"
    messages = [{"id": "q", "role": "assistant", "at": said_at, "text": asked}] if asked else []
    messages.append({"id": "m", "role": "user", "at": said_at, "text": said})
    units = units_of(window_of({"person": group}, {"conversation_id": group, "messages": messages}))
    return [Labelled(group, each, keep, kind, importance) for each in units]
