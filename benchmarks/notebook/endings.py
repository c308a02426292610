"""Train and measure the model that decides which earlier statement a new one ends.

    python -m benchmarks.notebook.endings PEOPLE_FOLDER [--write] [--test FOLDER]

Pairs come from Notebook people (an ended note × the message that ends it) and from ``pairs.jsonl``.  People are
left out in turns; a note counts as lost if all sentences that tell it are ended although it holds.  Needs
scikit-learn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.notebook.labels import HERE, Person, labelled, people
from models.messages import Role
from models.statements import Kind
from processors.extraction.units import Unit, leans
from processors.merging.endings import NEAREST
from processors.merging.pair_features import Said, features, read
from streams.adapters.onnx_embedder import OnnxEmbedder

#: Words whose rarity is known, and the messages that a word of none is taken to be in.
_WORDS, _RARE = 1_500, 3
#: How much the logistic regression is regularized, and how much a pair of ``pairs.jsonl`` counts.
_C, _WEIGHT = 0.003, 2.0
#: Of a hundred sentences that no note asks for, so many are kept by mistake.
_NOISE = 15
_LABELS = ("none", "same", "ends", "replaces")
_THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
_FOLDS = 8


class Told(NamedTuple):
    """A sentence as a fact: which notes it tells, and which it ends.

    ``None``: another sentence of its message ends it, or nobody can say.
    """

    said: Said
    message_id: str
    notes: frozenset[str]
    ends: dict[str, bool | None]
    is_kept: bool | None
    names: frozenset[str]


class Row(NamedTuple):
    """A pair: ``label`` is an index of the labels, -1 where nobody can say."""

    group: str
    new: int
    old: int
    label: int
    features: NDArray[np.float32]


Vectors = dict[str, NDArray[np.float32]]


def statement_of(unit: Unit) -> str:
    """Return about what the extractor stores of a sentence."""
    if unit.number == 0 and unit.asked and len(unit.text.split()) <= 5:
        return f"{unit.asked} – {unit.text}"
    return f"{unit.before} {unit.text}" if leans(unit) and unit.before else unit.text


def told(person: Person, vectors: Vectors) -> list[Told]:
    """Return the sentences of a person that would be facts, and some that should not be."""
    every = list(labelled(person))
    alone = Counter(each.unit.message.message_id for each in every)
    notes = {note["id"]: note for note in person["notes"]}
    found: list[Told] = []
    noise = 0
    for each in every:
        message = each.unit.message
        noise += each.keep is False
        text = statement_of(each.unit)
        if (each.keep is False and noise % 100 >= _NOISE) or text not in vectors:
            continue
        low = text.lower()
        names = frozenset(
            n for n, note in notes.items() if any(t.lower() in low for g in note["terms"] for t in g)
        )
        tells = frozenset(
            n
            for n, note in notes.items()
            if message.message_id in note["evidence"] and (alone[message.message_id] == 1 or n in names)
        )
        ends = {n: None for n, note in notes.items() if (note["ends"] or {}).get("by") == message.message_id}
        kind, importance = Kind(each.kind or "state"), each.importance or 1
        said = Said(
            text, vectors[text], kind, importance, message.sent_at, "", message.message_id.rsplit("-", 1)[0]
        )
        found.append(Told(said, message.message_id, tells, dict(ends), each.keep, names))
    _choose(found, notes)
    return found


def _choose(found: Sequence[Told], notes: dict[str, Any]) -> None:
    """Say which sentence of a message ends a note: that which tells what replaces it, or names it."""
    of_message: defaultdict[str, list[Told]] = defaultdict(list)
    for each in found:
        of_message[each.message_id].append(each)
    for here in of_message.values():
        for note_id in here[0].ends:
            replacing = notes[note_id].get("replaced_by")
            chosen = [each for each in here if replacing in each.notes] or [
                each for each in here if note_id in each.names
            ]
            for each in chosen or (here if len(here) == 1 else []):
                each.ends[note_id] = True


def rows_of(person: Person, sentences: Sequence[Told], weights: dict[str, float], unknown: float) -> list[Row]:
    """Return each sentence with the nearest that were said before it."""
    notes = {note["id"]: note for note in person["notes"]}
    ended_at = {n: note["ends"]["at"] for n, note in notes.items() if note["ends"]}
    rows = []
    for at, new in enumerate(sentences):
        before = sorted(range(at), key=lambda n: -float(sentences[n].said.vector @ new.said.vector))[:NEAREST]
        pairs = features(new.said, [sentences[n].said for n in before], weights, unknown)
        for old_at, pair in zip(before, pairs, strict=True):
            old = sentences[old_at]
            rows.append(Row(person["person"], at, old_at, _label(new, old, notes, ended_at), pair))
    return rows


def _label(new: Told, old: Told, notes: dict[str, Any], ended_at: dict[str, str]) -> int:
    ended = [n for n in old.notes if n in new.ends]
    if ended:
        if not any(new.ends[n] for n in ended):
            return -1
        return 3 if any(notes[n].get("replaced_by") in new.notes for n in ended) else 2
    if old.notes & new.notes:
        return 1
    over = [n for n in old.notes if n in ended_at and str(new.said.said_at.date()) >= ended_at[n]]
    says_so = any(n in new.names or notes[n].get("replaced_by") in new.notes for n in over)
    return -1 if says_so or new.is_kept is None else 0


def by_hand(
    pairs: Sequence[dict[str, str]], vectors: Vectors, weights: dict[str, float], unknown: float
) -> list[Row]:
    """Return the pairs written by hand, alone and among statements of other topics."""
    start, random, rows = datetime(2026, 2, 1, tzinfo=UTC), np.random.default_rng(0), []

    def said(pair: dict[str, str], which: str, days: int) -> Said:
        kind = Kind(pair[f"{which}_kind"])
        importance = 3 if kind is Kind.INSTRUCTION else 2
        return Said(pair[which], vectors[pair[which]], kind, importance, start + timedelta(days=days))

    for at, pair in enumerate(pairs):
        new = said(pair, "new", int(random.integers(1, 150)))
        strangers = [
            pairs[n] for n in random.permutation(len(pairs))[:20] if pairs[n]["group"] != pair["group"]
        ][:6]
        for others in ([], strangers):
            olds = [said(pair, "old", 0), *(said(each, "old", 0) for each in others)]
            found = features(new, olds, weights, unknown)
            rows.append(Row("hand", at, 0, _LABELS.index(pair["verdict"]), found[0]))
            rows += [Row("hand", at, n, 0, found[n]) for n in range(1, min(3, len(olds)))]
    return rows


class Fit(NamedTuple):
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: NDArray[np.float32]

    def chance(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        score = ((rows - self.mean) / self.scale) @ self.weights[1:] + self.weights[0]
        return np.asarray(1 / (1 + np.exp(-score)), dtype=np.float32)


def fit(
    rows: Sequence[Row], wanted: Sequence[int], of: Sequence[int] = (0, 1, 2, 3), scaled: Fit | None = None
) -> Fit:
    """Return the regression that tells labels ``wanted`` from the others of ``of``."""
    some = [row for row in rows if row.label in of]
    pairs = np.stack([row.features for row in some])
    scaler = StandardScaler().fit(pairs)
    mean, scale = (scaler.mean_, scaler.scale_) if scaled is None else (scaled.mean, scaled.scale)
    model = LogisticRegression(C=_C, max_iter=300)
    model.fit(
        (pairs - mean) / scale,
        [row.label in wanted for row in some],
        sample_weight=[_WEIGHT if row.group == "hand" else 1.0 for row in some],
    )
    weights = np.concatenate([model.intercept_, model.coef_[0]])
    return Fit(*(np.asarray(each, dtype=np.float32) for each in (mean, scale, weights)))


def left_out(rows: Sequence[Row], hand: Sequence[Row]) -> NDArray[np.float32]:
    """Return for each pair the probability by a model that knows nothing of the person."""
    names = sorted({row.group for row in rows})
    chances = np.zeros(len(rows), dtype=np.float32)
    for number in range(_FOLDS):
        tested = set(names[number::_FOLDS])
        model = fit([*(row for row in rows if row.group not in tested), *hand], (2, 3))
        at = [n for n, row in enumerate(rows) if row.group in tested]
        chances[at] = model.chance(np.stack([rows[n].features for n in at]))
    return chances


def report(
    known: dict[str, tuple[Person, list[Told]]], rows: Sequence[Row], chances: NDArray[np.float32]
) -> None:
    """Print per threshold how many notes that hold are lost, and how many ended ones are caught."""
    for threshold in _THRESHOLDS:
        ended: defaultdict[str, set[int]] = defaultdict(set)
        for row, chance in zip(rows, chances, strict=True):
            if chance > threshold:
                ended[row.group].add(row.old)
        counts: Counter[str] = Counter()
        for name, (person, sentences) in known.items():
            for note in person["notes"]:
                here = {n for n, each in enumerate(sentences) if note["id"] in each.notes}
                which = "ended" if note["ends"] else "living"
                counts[which] += bool(here)
                counts[f"{which} gone"] += bool(here) and here <= ended[name]
        print(
            f"threshold {threshold:.2f}: lost {counts['living gone']} of {counts['living']}"
            f" ({counts['living gone'] / counts['living']:.4f}),"
            f" caught {counts['ended gone']} of {counts['ended']}"
            f" ({counts['ended gone'] / counts['ended']:.2f})"
        )


def report_by_hand(rows: Sequence[Row], hand: Sequence[Row]) -> None:
    """Print per threshold how many pairs written by hand are right, each fifth left out in turn."""
    chances = np.zeros(len(hand))
    for number in range(5):
        model = fit([*rows, *(row for row in hand if row.new % 5 != number)], (2, 3))
        at = [n for n, row in enumerate(hand) if row.new % 5 == number]
        chances[at] = model.chance(np.stack([hand[n].features for n in at]))
    ends = np.array([row.label >= 2 for row in hand])
    first = np.array([row.old == 0 for row in hand])
    for threshold in _THRESHOLDS:
        right, wrong = (chances[first & ends] > threshold).mean(), (chances[first & ~ends] > threshold).mean()
        print(f"by hand, threshold {threshold:.2f}: caught {right:.2f}, wrong {wrong:.3f}")


def rarities(persons: Sequence[Person]) -> tuple[dict[str, float], float]:
    """Return how rare the commonest words are: the logarithm of how many messages come to one with it."""
    messages = [
        read(message["text"]).words
        for person in persons
        for session in person["sessions"]
        for message in session["messages"]
        if message["role"] == Role.USER
    ]
    counts = Counter(word for words in messages for word in words)
    found = {word: math.log(len(messages) / count) for word, count in counts.most_common(_WORDS)}
    return found, math.log(len(messages) / _RARE)


def stored_vectors(cache: Path | None) -> Vectors:
    """Return the vectors of earlier runs, by text."""
    if cache is None or not cache.exists():
        return {}
    with np.load(cache, allow_pickle=False) as stored:
        return dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))


async def embedded(texts: Sequence[str], known: Vectors) -> Vectors:
    """Return the vectors of texts, in half precision as the log has them; ``known``: those of earlier runs."""
    found = dict(known)
    missing = sorted(set(texts) - found.keys())
    embedder = OnnxEmbedder()
    await embedder.start()
    for start in range(0, len(missing), 64):
        some = missing[start : start + 64]
        found |= dict(zip(some, await embedder.embed(some), strict=True))
    await embedder.close()
    return {text: np.asarray(vector, dtype=np.float16).astype(np.float32) for text, vector in found.items()}


def write(rows: Sequence[Row], words: dict[str, float], unknown: float, threshold: float, path: Path) -> None:
    """Write the weights of a model trained on all pairs."""
    ending = fit(rows, (2, 3))
    replacing, same = fit(rows, (3,), (2, 3), ending), fit(rows, (1,), (0, 1, 2, 3), ending)
    np.savez_compressed(
        path,
        mean=ending.mean,
        scale=ending.scale,
        ending=ending.weights,
        replacing=replacing.weights,
        same=same.weights,
        threshold=np.float32(threshold),
        words=np.array([*words]),
        rarity=np.array([*words.values()], dtype=np.float32),
        unknown=np.float32(unknown),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("people", type=Path, help="folder of Notebook people to train on")
    parser.add_argument("--test", type=Path, help="folder of people to measure on besides")
    parser.add_argument("--write", type=Path, help="where to write the weights (.npz)")
    parser.add_argument("--threshold", type=float, default=0.65)
    parser.add_argument("--cache", type=Path, help="an .npz of vectors, read and written")
    asked = parser.parse_args()
    pairs = [json.loads(line) for line in (HERE / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    training, testing = people(asked.people), people(asked.test) if asked.test else []
    texts = [statement_of(each.unit) for person in (*training, *testing) for each in labelled(person)]
    texts += [pair[which] for pair in pairs for which in ("old", "new")]
    vectors = asyncio.run(embedded(texts, stored_vectors(asked.cache)))
    if asked.cache:
        np.savez(
            asked.cache, texts=np.array([*vectors]), vectors=np.stack([*vectors.values()]).astype(np.float16)
        )
    words, unknown = rarities(training)
    known = {person["person"]: (person, told(person, vectors)) for person in training}
    rows = [row for person, sentences in known.values() for row in rows_of(person, sentences, words, unknown)]
    hand = by_hand(pairs, vectors, words, unknown)
    print(f"{len(rows)} pairs of {len(known)} people, {len(pairs)} by hand")
    report(known, rows, left_out(rows, hand))
    report_by_hand(rows, hand)
    if testing:
        model = fit([*rows, *hand], (2, 3))
        tested = {person["person"]: (person, told(person, vectors)) for person in testing}
        others = [
            row for person, sentences in tested.values() for row in rows_of(person, sentences, words, unknown)
        ]
        print("people of the test folder")
        report(tested, others, model.chance(np.stack([row.features for row in others])))
    if asked.write:
        write([*rows, *hand], words, unknown, asked.threshold, asked.write)


if __name__ == "__main__":
    main()
