"""Train and measure the model that decides which earlier statement a new one ends.

    python -m benchmarks.notebook.endings PEOPLE_FOLDER [--write] [--test FOLDER]

Pairs come from Notebook people (an ended note × the message that ends it), from ``strips.jsonl`` and from
``pairs.jsonl``.  People are left out in turns; a note counts as lost if all sentences that tell it are ended
although it holds.  Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.notebook.labels import HERE, Person, people, strip_people, window_of
from benchmarks.notebook.vectors import Vectors, embedded
from models.messages import Role
from models.statements import Kind, Statement
from processors.extraction.keeper import Judgement, judge
from processors.extraction.reading import statements
from processors.extraction.units import Unit, units_of
from processors.facts.merging.endings import NEAREST, meant, telling
from processors.facts.merging.pair_features import features, with_telling
from processors.facts.merging.statement_features import ComparedStatement, read
from processors.retrieval.embedding.wording import text_of
from streams.llm.onnx_reader import ReaderModel

#: Words whose rarity is known, and the messages that a word of none is taken to be in.
_WORDS, _RARE = 1_500, 3
#: How much the logistic regression over pairs is regularized, and the size of a cue beside a vector.
_C, _CUE_SCALE = 0.001, 0.3
#: The size of the numbers of the later vector, the earlier, and their product, beside scaled features.
_VECTOR_SCALES = (10.0, 10.0, 384.0)
#: The group of the pairs written by hand, among how many strangers each is put, how many of them are left out
#: together, and into how many parts the others are divided to train the model of the later statement.
_HAND, _STRANGERS, _BLOCK, _INNER_FOLDS = "hand", (0, 6, 15), 12, 4
_LABELS = ("none", "same", "ends", "replaces")
_THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
_FOLDS = 8


class Told(NamedTuple):
    """A fact: which notes it tells, and which it ends.

    ``None``: another sentence of its message ends it, or nobody can say.
    """

    said: ComparedStatement
    message_id: str
    notes: frozenset[str]
    ends: dict[str, bool | None]
    names: frozenset[str]


class Row(NamedTuple):
    """A pair: ``label`` is an index of the labels, -1 where nobody can say.

    ``said`` is the later statement, ``was`` the earlier one.
    """

    group: str
    new: int
    old: int
    label: int
    features: NDArray[np.float32]
    said: ComparedStatement
    was: ComparedStatement


#: A statement and the message that it is of.
Stored = tuple[Statement, dict[str, Any]]


def judged_units(person: Person, session: dict[str, Any]) -> list[tuple[Unit, Judgement]]:
    """Return the units of a session as the extractor judges them."""
    units = units_of(window_of(person, session))
    return [*zip(units, judge(_reader().read([unit.sentence for unit in units])), strict=True)]


@cache
def _reader() -> ReaderModel:
    return ReaderModel()


def stored(person: Person) -> Iterator[Stored]:
    """Yield the statements that the extractor makes of a person, with their messages."""
    for session in person["sessions"]:
        messages = {each["id"]: each for each in session["messages"]}
        for found in statements(judged_units(person, session)):
            yield found, {**messages[found.source_message_ids[0]], "conversation": session["conversation_id"]}


def told(person: Person, facts: Sequence[Stored], vectors: Vectors) -> list[Told]:
    """Return the facts of a person (of :func:`stored`), with the notes that they tell and end."""
    notes = {note["id"]: note for note in person["notes"]}
    found: list[Told] = []
    for each, message in facts:
        low = f"{each.statement} {each.quote}".lower()
        names = frozenset(
            n for n, note in notes.items() if any(t.lower() in low for g in note["terms"] for t in g)
        )
        tells = frozenset(
            n
            for n, note in notes.items()
            if message["id"] in note["evidence"]
            and all(any(t.lower() in low for t in g) for g in note["terms"])
        )
        ends = {n: None for n, note in notes.items() if (note["ends"] or {}).get("by") == message["id"]}
        text = text_of(each.statement)
        said = ComparedStatement(
            text,
            _unit(vectors[text]),
            each.kind,
            each.importance,
            datetime.fromisoformat(message["at"]),
            each.attribute,
            message["conversation"],
        )
        found.append(Told(said, message["id"], tells, dict(ends), names))
    _choose(found, notes)
    return found


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / (float(np.linalg.norm(vector)) or 1.0)


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
        earlier = [n for n in range(at) if sentences[n].said.said_at < new.said.said_at]
        before = sorted(earlier, key=lambda n: -float(sentences[n].said.vector @ new.said.vector))[:NEAREST]
        pairs = features(new.said, [sentences[n].said for n in before], weights, unknown) if before else ()
        for old_at, pair in zip(before, pairs, strict=True):
            old = sentences[old_at]
            label = _label(new, old, notes, ended_at)
            rows.append(Row(person["person"], at, old_at, label, pair, new.said, old.said))
    return rows


def _label(new: Told, old: Told, notes: dict[str, Any], ended_at: dict[str, str]) -> int:
    ended = [n for n in old.notes if n in new.ends]
    if ended:
        also_holds = any(n not in ended_at for n in old.notes)
        if also_holds or not any(new.ends[n] for n in ended):
            return -1
        return 3 if any(notes[n].get("replaced_by") in new.notes for n in ended) else 2
    if old.notes & new.notes:
        return 1
    over = [n for n in old.notes if n in ended_at and str(new.said.said_at.date()) >= ended_at[n]]
    return -1 if over else 0


def by_hand(
    pairs: Sequence[dict[str, str]], vectors: Vectors, weights: dict[str, float], unknown: float
) -> list[Row]:
    """Return the pairs written by hand, alone and among statements of other topics."""
    start, random, rows = datetime(2026, 2, 1, tzinfo=UTC), np.random.default_rng(0), []

    def said(pair: dict[str, str], which: str, days: int) -> ComparedStatement:
        kind = Kind(pair[f"{which}_kind"])
        importance = 3 if kind is Kind.INSTRUCTION else 2
        vector = _unit(vectors[pair[which]])
        return ComparedStatement(pair[which], vector, kind, importance, start + timedelta(days=days))

    for at, pair in enumerate(pairs):
        new = said(pair, "new", int(random.integers(1, 150)))
        strangers = [
            pairs[n] for n in random.permutation(len(pairs))[:60] if pairs[n]["group"] != pair["group"]
        ][: _STRANGERS[-1]]
        for others in (strangers[:most] for most in _STRANGERS):
            olds = [said(pair, "old", 0), *(said(each, "old", 0) for each in others)]
            found = features(new, olds, weights, unknown)
            rows.append(Row(_HAND, at, 0, _LABELS.index(pair["verdict"]), found[0], new, olds[0]))
            rows += [Row(_HAND, at, n, 0, found[n], new, olds[n]) for n in range(1, min(4, len(olds)))]
    return rows


class Fit(NamedTuple):
    """A regression over scaled features of pairs and their vectors.

    ``telling``: that of the later statement alone; ``meaning``: the weights of the vectors; ``plain``: those of
    the features in a regression without vectors.
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: NDArray[np.float32]
    telling: NDArray[np.float32]
    meaning: NDArray[np.float32]
    plain: NDArray[np.float32]

    def chance(self, rows: Sequence[Row]) -> NDArray[np.float32]:
        logits = np.array([telling(row.said, self.telling) for row in rows], dtype=np.float32)
        pairs = with_telling(np.stack([row.features for row in rows]), logits)
        score = ((pairs - self.mean) / self.scale) @ self.weights[1:] + self.weights[0]
        score += meant(*_vectors(rows), self.meaning)
        return np.asarray(1 / (1 + np.exp(-score)), dtype=np.float32)


def trained(rows: Sequence[Row], wanted: Sequence[Sequence[int]] = ((2, 3),)) -> list[Fit]:
    """Return a regression for each group of labels: replacements against ends alone, others against all."""
    alone, logits = fit_telling(rows), tellings(rows)
    pairs = with_telling(np.stack([row.features for row in rows]), logits)
    labels = np.array([row.label for row in rows])
    scaler = StandardScaler().fit(pairs[labels >= 0])
    new, old = _vectors(rows)
    scaled = (part * scale for part, scale in zip((new, old, new * old), _VECTOR_SCALES, strict=True))
    inputs = np.hstack([scaler.transform(pairs), *scaled]).astype(np.float32)
    found = []
    for some in wanted:
        of = (2, 3) if tuple(some) == (3,) else (0, 1, 2, 3)
        here = np.isin(labels, of)
        wanted_here = np.isin(labels[here], some)
        weights = _regression(inputs[here], wanted_here)
        plain = _regression(inputs[here, : pairs.shape[1]], wanted_here)
        parts = np.split(weights[len(plain) :], len(_VECTOR_SCALES))
        meaning = np.stack([part * scale for part, scale in zip(parts, _VECTOR_SCALES, strict=True)])
        numbers = (scaler.mean_, scaler.scale_, weights[: len(plain)], alone, meaning, plain)
        found.append(Fit(*(np.asarray(each, dtype=np.float32) for each in numbers)))
    return found


def _regression(inputs: NDArray[np.float32], wanted: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return an intercept and the weights of the inputs."""
    model = LogisticRegression(C=_C, max_iter=200).fit(inputs, wanted)
    return np.asarray(np.concatenate([model.intercept_, model.coef_[0]]), dtype=np.float32)


def _vectors(rows: Sequence[Row]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.stack([row.said.vector for row in rows]), np.stack([row.was.vector for row in rows])


def fit_telling(rows: Sequence[Row]) -> NDArray[np.float32]:
    """Return the regression that tells whether a statement ends anything from its cues and its vector."""
    labels: dict[tuple[str, int], int] = {}
    said: dict[tuple[str, int], ComparedStatement] = {}
    for row in rows:
        name = row.group, row.new
        said[name] = row.said
        ends = 1 if row.label >= 2 else -1 if row.label < 0 else 0
        known = labels.get(name, 0)
        labels[name] = 1 if 1 in (known, ends) else min(known, ends)
    names = [name for name, label in labels.items() if label >= 0]
    cues = np.array([read(said[name].text).cues for name in names], dtype=np.float32) * _CUE_SCALE
    inputs = np.hstack([cues, np.stack([said[name].vector for name in names])])
    model = LogisticRegression(C=1.0, max_iter=500).fit(inputs, [labels[name] for name in names])
    coefficients = model.coef_[0].copy()
    coefficients[: cues.shape[1]] *= _CUE_SCALE
    return np.asarray(np.concatenate([model.intercept_, coefficients]), dtype=np.float32)


def tellings(rows: Sequence[Row]) -> NDArray[np.float32]:
    """Return for each pair the logit that its later statement ends anything, by a model without its group."""
    groups = sorted({row.group for row in rows})
    folds = [
        (row.new // _BLOCK if row.group == _HAND else groups.index(row.group)) % _INNER_FOLDS for row in rows
    ]
    models = [
        fit_telling([row for row, fold in zip(rows, folds, strict=True) if fold != number])
        for number in range(_INNER_FOLDS)
    ]
    known: dict[tuple[str, int], float] = {}
    for row, fold in zip(rows, folds, strict=True):
        if (row.group, row.new) not in known:
            known[row.group, row.new] = telling(row.said, models[fold])
    return np.array([known[row.group, row.new] for row in rows], dtype=np.float32)


def left_out(rows: Sequence[Row], hand: Sequence[Row]) -> NDArray[np.float32]:
    """Return for each pair the probability by a model that knows nothing of the person."""
    names = sorted({row.group for row in rows})
    chances = np.zeros(len(rows), dtype=np.float32)
    for number in range(_FOLDS):
        tested = set(names[number::_FOLDS])
        (model,) = trained([*(row for row in rows if row.group not in tested), *hand])
        at = [n for n, row in enumerate(rows) if row.group in tested]
        chances[at] = model.chance([rows[n] for n in at])
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
        (model,) = trained([*rows, *(row for row in hand if row.new // _BLOCK % 5 != number)])
        at = [n for n, row in enumerate(hand) if row.new // _BLOCK % 5 == number]
        chances[at] = model.chance([hand[n] for n in at])
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


def write(fits: Sequence[Fit], words: dict[str, float], unknown: float, threshold: float, path: Path) -> None:
    """Write the weights of models trained on all pairs: what ends, what replaces, what says it again."""
    np.savez_compressed(
        path,
        mean=fits[0].mean,
        scale=fits[0].scale,
        telling=fits[0].telling,
        pairs=np.stack([each.weights for each in fits]),
        plain=np.stack([each.plain for each in fits]),
        meaning=np.stack([each.meaning for each in fits]).astype(np.float16),
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
    parser.add_argument("--threshold", type=float, default=0.55)
    parser.add_argument("--cache", type=Path, default=Path("build/notebook-vectors.npz"))
    asked = parser.parse_args()
    pairs = [json.loads(line) for line in (HERE / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    training, testing = people(asked.people), people(asked.test) if asked.test else []
    strips = strip_people()
    everybody = (*training, *strips, *testing)
    facts = {person["person"]: [*stored(person)] for person in everybody}
    wanted = [text_of(found.statement) for some in facts.values() for found, _ in some]
    wanted += [pair[which] for pair in pairs for which in ("old", "new")]
    vectors = embedded(wanted, asked.cache)
    words, unknown = rarities(training)

    def of(some: Sequence[Person]) -> dict[str, tuple[Person, list[Told]]]:
        return {each["person"]: (each, told(each, facts[each["person"]], vectors)) for each in some}

    known = of(training)
    rows = [row for person, sentences in known.values() for row in rows_of(person, sentences, words, unknown)]
    apart = [row for each, said in of(strips).values() for row in rows_of(each, said, words, unknown)]
    hand = [*apart, *by_hand(pairs, vectors, words, unknown)]
    print(
        f"{len(rows)} pairs of {len(known)} people, {len(apart)} of {len(strips)} strips, {len(pairs)} by hand",
        flush=True,
    )
    fits = trained([*rows, *hand], ((2, 3), (3,), (1,)))
    if asked.write:
        write(fits, words, unknown, asked.threshold, asked.write)
    if testing:
        tested = of(testing)
        others = [
            row for person, sentences in tested.values() for row in rows_of(person, sentences, words, unknown)
        ]
        print("people of the test folder")
        report(tested, others, fits[0].chance(others))
    print("people left out", flush=True)
    report(known, rows, left_out(rows, hand))
    report_by_hand([*rows, *apart], hand[len(apart) :])


if __name__ == "__main__":
    main()
