"""Dialogues whose topic boundaries people marked, and how well boundaries that were found match them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from processors.conversations.episodes.boundaries import CONTEXT, FEATURES, features
from processors.conversations.episodes.traits import Traits, traits_of
from streams.llm.onnx_embedder import OnnxEmbedder

#: 1 where a boundary comes before the turn.  The first is always 0.
Labels = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Role, text, and 1 if a boundary comes before it, of each turn of a dialogue.
Turns = list[tuple[str, str, int]]


class Dialogue(NamedTuple):
    """Turns, and where people found boundaries; a row of features for each turn but the first."""

    traits: list[Traits]
    labels: Labels
    rows: Floats


def read(file: Path, limit: int) -> list[Turns]:
    """Return the dialogues of a file: (role, text, 1 if a boundary comes before it) for each turn."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines()[: limit or None]:
        turns, boundary = [], 0
        for part in json.loads(line)["dialogue"].split("[NEWLINE]"):
            if part.strip() == "[BOUNDARY]":
                boundary = 1
            elif part.strip():
                who, _, text = part.strip().partition(": ")
                turns.append(("user" if who == "user" else "assistant", text.strip(), boundary))
                boundary = 0
        found.append(turns)
    return found


def joined(file: Path, seed: int) -> list[Turns]:
    """Return dialogues made of pieces of the chats of a file, each of three chats in one language.

    A boundary comes before the first turn of the second and the third.
    """
    by_language: dict[str, list[list[tuple[str, str]]]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        said = [("user", each["u"]) if "u" in each else ("assistant", each["a"]) for each in chat["messages"]]
        by_language.setdefault(chat["lang"], []).append(said)
    random = Random(seed)
    found = []
    for chats in by_language.values():
        for _ in range(len(chats)):
            pieces = [_piece(said, random) for said in random.sample(chats, 3)]
            found.append(
                [(role, text, int(at == 0)) for piece in pieces for at, (role, text) in enumerate(piece)]
            )
    return found


def _piece(said: list[tuple[str, str]], random: Random) -> list[tuple[str, str]]:
    """Return three to ten turns of a chat, in half of the cases from its beginning: greetings are no sign."""
    size = min(len(said), random.randint(3, 10))
    begin = random.choice([0, random.randint(0, len(said) - size)])
    return said[begin : begin + size]


async def prepared(turns: list[Turns], embedder: OnnxEmbedder) -> list[Dialogue]:
    """Return the dialogues with vectors and features."""
    texts = list(dict.fromkeys(text for dialogue in turns for _, text, _ in dialogue if text))
    vectors: dict[str, bytes] = {"": b""}
    for begin in range(0, len(texts), 256):
        some = texts[begin : begin + 256]
        made = await embedder.embed(some)
        vectors.update(zip(some, (row.astype("<f2").tobytes() for row in made), strict=True))
    return [_dialogue(dialogue, vectors) for dialogue in turns]


def _dialogue(turns: list[tuple[str, str, int]], vectors: dict[str, bytes]) -> Dialogue:
    traits = [traits_of(str(n), role, text, vectors[text]) for n, (role, text, _) in enumerate(turns)]
    labels = np.array([boundary for *_, boundary in turns])
    labels[0] = 0
    rows = [features(*around(traits, at)) or [0.0] * len(FEATURES) for at in range(1, len(traits))]
    return Dialogue(traits, labels, np.array(rows).reshape(-1, len(FEATURES)))


def around(traits: list[Traits], at: int) -> tuple[list[Traits], Traits, Traits | None]:
    """Return the traits known to the service when it decides on a boundary before turn ``at``."""
    return traits[max(0, at - CONTEXT) : at], traits[at], traits[at + 1] if at + 1 < len(traits) else None


def measured(dialogues: Sequence[Dialogue], found: Sequence[Labels]) -> dict[str, float]:
    """Return F1, Pk, WD and the score of what was found."""
    truth = np.concatenate([each.labels[1:] for each in dialogues])
    guess = np.concatenate([each[1:] for each in found])
    f1 = 2 * int((truth & guess).sum()) / max(1, int(truth.sum() + guess.sum()))
    windows = [_windows(each.labels, labels) for each, labels in zip(dialogues, found, strict=True)]
    pk, wd = np.array(windows).mean(0)
    return {"f1": f1, "pk": float(pk), "wd": float(wd), "score": float((2 * f1 + 2 - pk - wd) / 4)}


def _windows(truth: Labels, found: Labels) -> tuple[float, float]:
    """Return Pk and WindowDiff of a dialogue."""
    turns = len(truth)
    half = max(1, round(turns / (2 * (int(truth.sum()) + 1))))
    if turns <= half:
        return 0.0, 0.0
    one, other = np.cumsum(truth), np.cumsum(found)
    expected, actual = one[half:] - one[:-half], other[half:] - other[:-half]
    return float(((expected > 0) != (actual > 0)).mean()), float((expected != actual).mean())
