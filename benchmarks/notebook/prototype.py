"""The yardstick of the Notebook: a logistic regression over cues and vectors of whole messages.

No sentences, kinds, slots or endings: what an afternoon's work keeps.  Trained on ``people/`` alone; quotations
are whole messages.  ``python -m benchmarks.notebook`` prints it below its table.  Needs scikit-learn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.notebook import score
from benchmarks.notebook.labels import HERE, Person, people
from benchmarks.notebook.vectors import embedded
from models.messages import Role

#: The probability from which on a message is kept, and characters of the question that are read with it.
_FLOOR, _ASKED = 0.6, 200

#: As the table counts it.
_SHOWS: Callable[..., bool] = score.shows

_CUES = [
    re.compile(each, re.IGNORECASE)
    for each in (
        r"\b(i|im|i'm|i’m|me|my|mine|we|our|us)\b",
        r"\?",
        r"\b(always|never|every|usually|since|anymore|no longer|from now on|until|years?|months?)\b",
        r"^(please|stop|don't|do not|no |never|keep|use|write|give|answer|call|make|from now)",
        r"\b(would|could|might|maybe|perhaps|if)\b",
        r"\b(love|hate|like|prefer|allerg|favou?rite|can't stand|enjoy)\w*",
        r"\b(wife|husband|son|daughter|kids?|mum|mom|dad|mother|father|brother|sister|partner|friend|dog|cat)\b",
        r"\b(moved?|started|quit|stopped|bought|sold|married|born|died|broke|hired|left|joined|passed|signed)\b",
        r"\d",
        r"(?-i:[A-Z][a-z]+)",
        r"\b(today|tonight|now|this (morning|evening|week))\b",
        r"\b(thanks|thank you|lol|haha|ok|okay|great|perfect|nice)\b",
        r"\b(write|draft|translate|imagine|pretend)\b",
    )
]


class Said(NamedTuple):
    """A message of a person, the assistant's message before it, and whether a note rests on it."""

    person: str
    message_id: str
    text: str
    asked: str
    is_evidence: bool


def line(tested: Sequence[Person], cache: Path) -> str:
    """Return a line of what the prototype keeps of people; ``cache``: vectors of earlier runs (.npz)."""
    kept = _kept(tested, cache)
    found, living = Counter[int](), Counter[int]()
    noise = shown = musts = 0
    for person in tested:
        name, texts = person["person"], _texts(person)
        for note in person["notes"]:
            if not note.get("ends"):
                living[note["importance"]] += 1
                found[note["importance"]] += any((name, each) in kept for each in note["evidence"])
        noise += sum((name, each) in kept for each in person["not_notes"])
        for hits, of in _at_hand(person, texts, kept):
            shown, musts = shown + hits, musts + of
    shares = ", ".join(
        f"importance {level}: {found[level]}/{living[level]} ({found[level] / max(1, living[level]):.2f})"
        for level in (3, 2, 1)
    )
    return (
        f"prototype (whole messages, no endings): {shares}, noise {noise}/{len(kept)} "
        f"({noise / max(1, len(kept)):.2f}), must be at hand {shown}/{musts} ({shown / max(1, musts):.2f}) "
        "if all that is kept fits"
    )


def _kept(tested: Sequence[Person], cache: Path) -> set[tuple[str, str]]:
    trained = [each for person in people(HERE / "people") for each in _said(person)]
    asked = [each for person in tested for each in _said(person)]
    wanted = [text for each in (*trained, *asked) for text in _embedded(each)]
    vectors = embedded(wanted, cache)
    model = LogisticRegression(C=1, max_iter=2000)
    model.fit(_features(trained, vectors), [each.is_evidence for each in trained])
    chances = model.predict_proba(_features(asked, vectors))[:, 1]
    return {(each.person, each.message_id) for each, p in zip(asked, chances, strict=True) if p >= _FLOOR}


def _said(person: Person) -> Iterator[Said]:
    evidence = {each for note in person["notes"] for each in note["evidence"]}
    evidence |= {note["ends"]["by"] for note in person["notes"] if note.get("ends")}
    for session in person["sessions"]:
        asked = ""
        for each in session["messages"]:
            if each["role"] == Role.USER:
                yield Said(person["person"], each["id"], each["text"], asked, each["id"] in evidence)
            else:
                asked = each["text"]


def _embedded(said: Said) -> tuple[str, str]:
    return said.text, f"{said.asked[-_ASKED:]} {said.text}"


def _features(said: Sequence[Said], vectors: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    cues = [
        [*(float(bool(cue.search(each.text))) for cue in _CUES), min(len(each.text), 300) / 300]
        for each in said
    ]
    both = [np.concatenate([vectors[text] for text in _embedded(each)]) for each in said]
    return np.hstack([np.stack(both), np.array(cues, dtype=np.float32)])


def _texts(person: Person) -> dict[str, str]:
    return {each["id"]: each["text"] for session in person["sessions"] for each in session["messages"]}


def _at_hand(
    person: dict[str, Any], texts: dict[str, str], kept: set[tuple[str, str]]
) -> Iterator[tuple[int, int]]:
    """Yield for each moment how many notes that must be at hand what is kept or was just said shows."""
    notes, order = {note["id"]: note for note in person["notes"]}, [*texts]
    for moment in person["moments"]:
        at = order.index(moment["after"])
        recent = order[max(0, at - 6) : at + 1]
        at_hand = [
            texts[each] for each in order[: at + 1] if each in recent or (person["person"], each) in kept
        ]
        text = "\n".join(at_hand)
        has = [each for each in moment["must"] if _SHOWS(text, notes[each], texts)]
        yield len(has), len(moment["must"])
