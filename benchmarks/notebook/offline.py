"""Measure the extractor alone on Notebook people, without a running system and without endings.

The same counts as ``score.py``: a living note is kept if a quotation of one of its messages has its terms;
noise is the share of quotations that come from messages that are no notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.notebook.labels import Labelled, Person, window_of
from models.statements import Kind
from processors.extraction.keeper import Judgement
from processors.extraction.reading import statements
from processors.extraction.units import units_of

#: Person, message and number of a unit.
Unit = tuple[str, str, int]


class Row(NamedTuple):
    """Counts at one floor: kept and all living notes by importance, quotations, and those that are noise."""

    kept: dict[int, list[int]]
    facts: int
    noise: int
    missing: list[str]
    noisy: list[str]


#: Floors of the probability at which the tables count.
FLOORS = (0.1, 0.2, 0.3, 0.38, 0.5, 0.6)


def table(
    people: list[Person],
    probabilities: Mapping[Unit, float],
    floors: tuple[float, ...] = FLOORS,
) -> str:
    """Return a line for each floor: share of notes kept by importance, noise, number of quotations."""
    lines = []
    for floor in floors:
        row = count(people, probabilities, floor)
        kept = ", ".join(
            f"importance {level}: {found / max(1, of):.3f}"
            for level, (found, of) in sorted(row.kept.items(), reverse=True)
        )
        lines.append(f"  floor {floor:.2f}: {kept}, noise {row.noise / max(1, row.facts):.3f} of {row.facts}")
    return "\n".join(lines)


def units_kept(units: Sequence[Labelled], probabilities: Iterable[float]) -> str:
    """Return a line for each floor: share of marked notes kept by importance, precision, sentences kept."""
    judged = [(each, p) for each, p in zip(units, probabilities, strict=True) if each.keep is not None]
    lines = []
    for floor in FLOORS:
        kept = [each for each, p in judged if p >= floor]
        shares = []
        for level in (3, 2, 1):
            of = [p for each, p in judged if each.keep and each.importance == level]
            shares.append(f"importance {level}: {sum(p >= floor for p in of) / max(1, len(of)):.3f}")
        right = sum(bool(each.keep) for each in kept) / max(1, len(kept))
        lines.append(f"  floor {floor:.2f}: {', '.join(shares)}, precision {right:.3f} of {len(kept)}")
    return "\n".join(lines)


def count(people: list[Person], probabilities: Mapping[Unit, float], floor: float) -> Row:
    """Count what is kept of people at a floor."""
    row = Row({level: [0, 0] for level in (1, 2, 3)}, 0, 0, [], [])
    facts = noise = 0
    for person in people:
        said = [*_said(person, probabilities, floor)]
        not_notes = set(person["not_notes"])
        facts += len(said)
        noisy = [text for message_id, text in said if message_id in not_notes]
        noise += len(noisy)
        row.noisy.extend(noisy)
        for note in person["notes"]:
            if note.get("ends"):
                continue
            is_kept = any(message_id in note["evidence"] and _has(text, note) for message_id, text in said)
            row.kept[note["importance"]][0] += is_kept
            row.kept[note["importance"]][1] += 1
            if not is_kept:
                row.missing.append(f"{note['importance']} {note['text']}")
    return row._replace(facts=facts, noise=noise)


def _said(person: Person, probabilities: Mapping[Unit, float], floor: float) -> Iterator[tuple[str, str]]:
    # The floor of the reader is fixed: what is above the one asked for is put above it.
    for session in person["sessions"]:
        judged = []
        for unit in units_of(window_of(person, session)):
            found = probabilities[person["person"], unit.message.message_id, unit.number]
            judged.append((unit, Judgement(1.0 if found >= floor else 0.0, Kind.STATE, 2)))
        for each in statements(judged):
            yield each.source_message_ids[0], each.statement


def _has(text: str, note: dict[str, Any]) -> bool:
    folded = text.lower()
    return all(any(term.lower() in folded for term in alternatives) for alternatives in note["terms"])
