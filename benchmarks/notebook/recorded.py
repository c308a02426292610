"""Recordings: answers to the extraction prompt about windows of the Notebook, as a strong model writes them.

``recordings/*.json`` are written by hand by the prompt alone: the person and conversation, the known notes that
the prompt shows, and the answer.  ``mistakes.json`` are the mistakes of a weak model about one of these
windows.  Reading them asks no model: a change of prompt or checks is measured in a second (``python -m
benchmarks.notebook.recorded``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from models.messages import Role
from models.ports import KnownNote
from models.statements import Change, Statement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.prompts import extraction, notes

_FOLDER = Path(__file__).parent
_MISTAKES = _FOLDER / "recordings" / "mistakes.json"


class Recording(NamedTuple):
    """A window, what was known before it, the answer, and what a careful note-taker keeps of it."""

    window: Window
    known: tuple[KnownNote, ...]
    answer: str
    wanted: tuple[dict[str, Any], ...]
    not_notes: frozenset[str]


class Score(NamedTuple):
    """Wanted notes, those that were found, statements, those that rest on what is no note, notes dropped."""

    wanted: int
    found: int
    statements: int
    noise: int
    dropped: int


def recordings() -> Iterator[tuple[str, Recording]]:
    """Yield the recordings by name."""
    for path in sorted(_MISTAKES.parent.glob("*.json")):
        if path != _MISTAKES:
            yield path.stem, _recording(json.loads(path.read_text(encoding="utf-8")))


def mistakes() -> dict[str, Any]:
    """Return the mistakes of a weak model, by what is wrong; ``conversation`` names their window."""
    found: dict[str, Any] = json.loads(_MISTAKES.read_text(encoding="utf-8"))
    return found


def read(recording: Recording) -> notes.Reading:
    """Read a recording's answer as the extractor does."""
    (part,) = extraction.parts(recording.answer, [recording.window], recording.known)
    return notes.read(part, recording.window)


def score(recording: Recording) -> Score:
    """Return how much of what is wanted is read: as ``score.py`` counts it, of one window."""
    reading = read(recording)
    found = [each for each in recording.wanted if any(_tells(said, each) for said in reading.statements)]
    noise = [each for each in reading.statements if recording.not_notes.issuperset(each.source_message_ids)]
    statements = len(reading.statements)
    return Score(len(recording.wanted), len(found), statements, len(noise), len(reading.dropped))


def _tells(said: Statement, wanted: dict[str, Any]) -> bool:
    text = f"{said.statement}\n{said.quote}".casefold()
    rests = {*wanted["evidence"]}.intersection(said.source_message_ids)
    return bool(rests) and all(any(term.casefold() in text for term in terms) for terms in wanted["terms"])


def _recording(kept: dict[str, Any]) -> Recording:
    person = json.loads((_FOLDER / "dev" / f"{kept['person']}.json").read_text(encoding="utf-8"))
    (session,) = (each for each in person["sessions"] if each["conversation_id"] == kept["conversation_id"])
    window = _window(kept["person"], session)
    ids = {*window.message_ids}
    before = window.messages[0].sent_at
    known = (KnownNote(f"known-{k}", kept["person"], text, before) for k, text in enumerate(kept["known"], 1))
    return Recording(
        window,
        tuple(known),
        json.dumps(kept["answer"], ensure_ascii=False),
        tuple(each for each in person["notes"] if ids.intersection(each["evidence"])),
        frozenset(person["not_notes"]),
    )


def _window(person: str, session: dict[str, Any]) -> Window:
    messages = tuple(
        WindowMessage(
            message_id=said["id"],
            user_id=person,
            role=Role(said["role"]),
            content=said["text"],
            sent_at=datetime.fromisoformat(said["at"]).astimezone(UTC),
            arrived_at=datetime.fromisoformat(said["at"]).astimezone(UTC),
            index=index,
            offset=index,
        )
        for index, said in enumerate(session["messages"])
    )
    return Window(
        window_id=f"w-{session['conversation_id']}",
        conversation_id=session["conversation_id"],
        user_id=person,
        reason=WindowReason.CLOSED,
        message_ids=tuple(each.message_id for each in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(
            topic="chat.messages.v1", partition=0, first_offset=0, last_offset=len(messages) - 1
        ),
    )


def main() -> None:
    """Entry point of ``python -m benchmarks.notebook.recorded``."""
    print(f"{'':18} wanted found said noise dropped changes")
    for name, each in recordings():
        changes = sum(said.change is not Change.NEW for said in read(each).statements)
        print(f"{name:18}" + "".join(f"{figure:6}" for figure in (*score(each), changes)))
        for why in read(each).dropped:
            print(f"  dropped: {why}")


if __name__ == "__main__":
    main()
