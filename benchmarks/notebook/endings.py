"""Train and measure the model that decides which earlier fact a new one ends.

    python -m benchmarks.notebook.endings PEOPLE_FOLDER [--write FILE] [--test FOLDER]

Pairs come from Notebook people (an ended note × the message that ends it), as the facts that the extractor
makes of them, and from ``pairs.jsonl``.  People are left out in turns; a note counts as gone if all facts that
tell it are ended.  Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.notebook.labels import HERE, Person, people, window_of
from benchmarks.notebook.train import embedded
from models.messages import Role
from models.statements import Kind, Statement
from processors.embedding.wording import text_of
from processors.extraction.features import texts
from processors.extraction.keeper import judge
from processors.extraction.reading import statements
from processors.extraction.units import units_of
from processors.merging.endings import MOST_ENDED, NEAREST, may_end
from processors.merging.pair_features import Said, features, names, read

#: Words whose rarity is known, and the messages that a word of none is taken to be in.
_WORDS, _RARE = 1_500, 3
#: How much the logistic regression is regularized.
_C = 0.003
#: How near a fact of theirs may be to a sentence written by hand that does not end it.
_STRANGE, _STRANGERS = 0.5, 4
_LABELS = ("none", "same", "ends", "replaces")
_THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
#: From which probability on a fact of importance 1, 2 and 3 is ended; chosen on the people left out in turns.
_ENDED_FROM = (0.55, 0.55, 0.6)
_FOLDS = 8

Floats = NDArray[np.float32]
Vectors = dict[str, Floats]


class Told(NamedTuple):
    """A fact, the message that says it, the notes that it tells, has all terms of, and has a term of."""

    said: Said
    message_id: str
    notes: frozenset[str]
    shown: frozenset[str]
    mentioned: frozenset[str]


class Row(NamedTuple):
    """A pair: ``label`` is an index of the labels, or -1; the new vector follows the features."""

    group: str
    new: int
    old: int
    label: int
    features: Floats
    weight: float = 1.0


def told(persons: Sequence[Person], cache: Path) -> dict[str, list[Told]]:
    """Return what the extractor makes of people, in the order in which they said it."""
    windows = {
        person["person"]: [units_of(window_of(person, session)) for session in person["sessions"]]
        for person in persons
    }
    every = [unit for sessions in windows.values() for units in sessions for unit in units]
    vectors = embedded(texts(every), cache)
    found: dict[str, list[Statement]] = {}
    for name, sessions in windows.items():
        found[name] = []
        for units in filter(None, sessions):
            judged = judge(units, np.stack([vectors[text] for text in texts(units)]))
            found[name] += statements([*zip(units, judged, strict=True)])
    vectors = embedded([text_of(each.statement) for some in found.values() for each in some], cache)
    return {person["person"]: [*_told(person, found[person["person"]], vectors)] for person in persons}


def _told(person: Person, found: Sequence[Statement], vectors: Vectors) -> Iterator[Told]:
    place = {
        message["id"]: (datetime.fromisoformat(message["at"]), session["conversation_id"])
        for session in person["sessions"]
        for message in session["messages"]
    }
    for each in found:
        (message_id,) = each.source_message_ids
        text = text_of(each.statement)
        low = f"{each.statement} {each.quote}".lower()
        terms = {n["id"]: n["terms"] for n in person["notes"]}
        tells = {
            n["id"] for n in person["notes"] if message_id in n["evidence"] and _has(low, terms[n["id"]], all)
        }
        shown = {note_id for note_id, some in terms.items() if _has(each.statement.lower(), some, all)}
        mentioned = {note_id for note_id, some in terms.items() if _has(low, some, any)}
        at, conversation = place[message_id]
        said = Said(text, vectors[text], each.kind, each.importance, at, each.attribute, conversation)
        yield Told(said, message_id, frozenset(tells), frozenset(shown | tells), frozenset(mentioned))


def _has(text: str, terms: Sequence[Sequence[str]], of: Any) -> bool:
    return bool(of(any(term.lower() in text for term in some) for some in terms))


def rows_of(person: Person, facts: Sequence[Told], weights: dict[str, float], unknown: float) -> Iterator[Row]:
    """Yield each fact with the nearest that were said before it in other messages."""
    notes = {note["id"]: note for note in person["notes"]}
    ends = _ends(facts, notes)
    for at, new in enumerate(facts):
        before = [n for n in range(at) if facts[n].message_id != new.message_id]
        near = sorted(before, key=lambda n: -float(facts[n].said.vector @ new.said.vector))[:NEAREST]
        pairs = _pairs(new.said, [facts[n].said for n in near], weights, unknown)
        for old, pair in zip(near, pairs, strict=True):
            yield Row(person["person"], at, old, _label(new, facts[old], ends[at], notes), pair)


def _pairs(new: Said, others: Sequence[Said], weights: dict[str, float], unknown: float) -> Floats:
    return np.hstack([features(new, others, weights, unknown), np.tile(new.vector, (len(others), 1))])


def _ends(facts: Sequence[Told], notes: dict[str, Any]) -> list[frozenset[str]]:
    """Return which notes each fact ends: the one of a message that tells what holds instead, or names it."""
    found: list[set[str]] = [set() for _ in facts]
    for note_id, note in notes.items():
        here = [n for n, each in enumerate(facts) if note["ends"] and each.message_id == note["ends"]["by"]]
        chosen = [n for n in here if note.get("replaced_by") in facts[n].notes] or [
            n for n in here if note_id in facts[n].mentioned
        ]
        for at in chosen or (here if len(here) == 1 else []):
            found[at].add(note_id)
    return [frozenset(each) for each in found]


def _label(new: Told, old: Told, ends: frozenset[str], notes: dict[str, Any]) -> int:
    over = {n for n in old.notes if notes[n]["ends"]}
    by_this = {n for n in over if notes[n]["ends"]["by"] == new.message_id}
    if by_this:
        if not by_this & ends or (over != old.notes and len(old.notes) > 1):
            return -1
        return 3 if any(notes[n].get("replaced_by") in new.notes for n in by_this) else 2
    if old.notes & new.notes:
        return 1
    gone = {n for n in over if notes[n]["ends"]["at"] <= str(new.said.said_at.date())}
    says_so = any(n in new.mentioned or notes[n].get("replaced_by") in new.notes for n in gone)
    return -1 if says_so and gone == old.notes else 0


def by_hand(
    pairs: Sequence[dict[str, str]],
    vectors: Vectors,
    known: dict[str, list[Told]],
    weights: dict[str, float],
    unknown: float,
) -> Iterator[Row]:
    """Yield the pairs written by hand, each alone and among the facts of somebody."""
    random, persons = np.random.default_rng(0), [*known.values()]

    def said(pair: dict[str, str], which: str, at: datetime) -> Said:
        kind = Kind(pair[f"{which}_kind"])
        importance = 3 if kind is Kind.INSTRUCTION else int(random.choice([2, 3]))
        return Said(pair[which], vectors[pair[which]], kind, importance, at)

    for at, pair in enumerate(pairs):
        facts = persons[random.integers(len(persons))]
        here = int(random.integers(len(facts) // 4, len(facts)))
        new = said(pair, "new", facts[here].said.said_at)
        days = int(random.choice([0, 1, 5, 20, 60, 120]))
        old = said(pair, "old", new.said_at - timedelta(days=days, minutes=5))
        strange = [each.said for each in facts[:here] if each.said.vector @ new.vector < _STRANGE]
        near = sorted(strange, key=lambda each: -float(each.vector @ new.vector))[: NEAREST - 1]
        for olds in ([old], [old, *near]):
            found = _pairs(new, olds, weights, unknown)
            yield Row("hand", at, 0, _LABELS.index(pair["verdict"]), found[0])
            yield from (Row("hand", at, n, 0, found[n], 0.5) for n in range(1, min(len(olds), _STRANGERS + 1)))


class Fit(NamedTuple):
    """A regression over rows as they are: weights after an intercept."""

    weights: Floats

    def chance(self, rows: Floats) -> Floats:
        score = rows @ self.weights[1:] + self.weights[0]
        return np.asarray(1 / (1 + np.exp(-score)), dtype=np.float32)


def fit(
    rows: Sequence[Row], wanted: Sequence[int], of: Sequence[int] = (0, 1, 2, 3), columns: int | None = None
) -> Fit:
    """Return the regression that tells labels ``wanted`` from others of ``of``, by the first ``columns``."""
    some = [row for row in rows if row.label in of]
    scaler = StandardScaler()
    pairs = scaler.fit_transform(np.stack([row.features[:columns] for row in some]))
    model = LogisticRegression(C=_C, max_iter=300)
    model.fit(pairs, [row.label in wanted for row in some], sample_weight=[row.weight for row in some])
    weights = model.coef_[0] / scaler.scale_
    return Fit(np.concatenate([model.intercept_ - weights @ scaler.mean_, weights]).astype(np.float32))


def left_out(rows: Sequence[Row], hand: Sequence[Row]) -> Floats:
    """Return for each pair the probability by a model that knows nothing of the person."""
    groups = sorted({row.group for row in rows})
    chances = np.zeros(len(rows), dtype=np.float32)
    for number in range(_FOLDS):
        tested = set(groups[number::_FOLDS])
        model = fit([*(row for row in rows if row.group not in tested), *hand], (2, 3))
        at = [n for n, row in enumerate(rows) if row.group in tested]
        chances[at] = model.chance(np.stack([rows[n].features for n in at]))
    return chances


def report(
    persons: Sequence[Person],
    known: dict[str, list[Told]],
    rows: Sequence[Row],
    chances: Floats,
    weights: dict[str, float],
    unknown: float,
) -> None:
    """Print per threshold how many notes are gone: of those that hold, by importance, and of the ended ones."""
    surest: dict[str, defaultdict[int, float]] = {name: defaultdict(float) for name in known}
    for group, old, chance in _surest(known, rows, chances, weights, unknown):
        surest[group][old] = max(surest[group][old], chance)
    for thresholds in (*((each,) * 3 for each in _THRESHOLDS), _ENDED_FROM):
        counts: Counter[str] = Counter()
        for person in persons:
            facts, gone = known[person["person"]], surest[person["person"]]
            for note in person["notes"]:
                by = note["ends"] and note["ends"]["by"]
                which_tell = [each.notes if by else each.shown for each in facts]  # as ``score.py`` counts
                here = [
                    n for n, some in enumerate(which_tell) if note["id"] in some and facts[n].message_id != by
                ]
                which = "ended" if by else f"living {note['importance']}"
                counts[which] += bool(here)
                counts[f"{which} gone"] += bool(here) and all(
                    gone[n] > thresholds[facts[n].said.importance - 1] for n in here
                )
        print("from", *thresholds, "on: gone of", ", ".join(_shares(counts)))


def _shares(counts: Counter[str]) -> Iterator[str]:
    for which in ("living 3", "living 2", "living 1", "ended"):
        gone, every = counts[f"{which} gone"], counts[which]
        yield f"{which}: {gone} of {every} ({gone / max(1, every):.3f})"


def _surest(
    known: dict[str, list[Told]],
    rows: Sequence[Row],
    chances: Floats,
    weights: dict[str, float],
    unknown: float,
) -> Iterator[tuple[str, int, float]]:
    """Yield what each fact may end, as the product decides it."""
    of_new: defaultdict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
    for row, chance in zip(rows, chances, strict=True):
        of_new[row.group, row.new].append((float(chance), row.old))
    for (group, new), olds in of_new.items():
        for chance, old in sorted(olds, reverse=True)[:MOST_ENDED]:
            if may_end(known[group][new].said, known[group][old].said, weights, unknown):
                yield group, old, chance


def report_by_hand(rows: Sequence[Row], hand: Sequence[Row]) -> None:
    """Print per threshold how many pairs written by hand are right, each fifth left out in turn."""
    chances = np.zeros(len(hand))
    for number in range(5):
        model = fit([*rows, *(row for row in hand if row.new * 5 // (1 + hand[-1].new) != number)], (2, 3))
        at = [n for n, row in enumerate(hand) if row.new * 5 // (1 + hand[-1].new) == number]
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


def write(rows: Sequence[Row], words: dict[str, float], unknown: float, path: Path) -> None:
    """Write the weights of a model trained on all pairs."""
    columns = len(names())
    ending = fit(rows, (2, 3)).weights
    np.savez_compressed(
        path,
        ending=ending[: columns + 1],
        telling=ending[columns + 1 :],
        replacing=fit(rows, (3,), (2, 3), columns).weights,
        same=fit(rows, (1,), columns=columns).weights,
        thresholds=np.array(_ENDED_FROM, dtype=np.float32),
        words=np.array([*words]),
        rarity=np.array([*words.values()], dtype=np.float32),
        unknown=np.float32(unknown),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("people", type=Path, help="folder of Notebook people to train on")
    parser.add_argument("--test", type=Path, help="folder of people to measure on besides")
    parser.add_argument("--write", type=Path, help="where to write the weights (.npz)")
    parser.add_argument("--cache", type=Path, default=Path("build/notebook-vectors.npz"))
    asked = parser.parse_args()
    pairs = [json.loads(line) for line in (HERE / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    training, testing = people(asked.people), people(asked.test) if asked.test else []
    known, tested = told(training, asked.cache), told(testing, asked.cache)
    vectors = embedded([pair[which] for pair in pairs for which in ("old", "new")], asked.cache)
    rarity = rarities(training)
    rows = [row for person in training for row in rows_of(person, known[person["person"]], *rarity)]
    hand = [*by_hand(pairs, vectors, known, *rarity)]
    print(f"{len(rows)} pairs of {len(known)} people, {len(pairs)} by hand")
    if asked.write:
        write([*rows, *hand], *rarity, asked.write)
    report(training, known, rows, left_out(rows, hand), *rarity)
    report_by_hand(rows, hand)
    if testing:
        print("people of the test folder")
        others = [row for person in testing for row in rows_of(person, tested[person["person"]], *rarity)]
        chances = fit([*rows, *hand], (2, 3)).chance(np.stack([row.features for row in others]))
        report(testing, tested, others, chances, *rarity)


if __name__ == "__main__":
    main()
