"""Clusters of a person's sentences that say the same in several conversations (HDBSCAN).

A function of the sentences and their vectors alone, whatever order they come in.  A density is no meaning: of
each cluster only what is near the member in the middle counts, and what numbers, names, dates or a denial tell
apart from it does not (:func:`processors.facts.merging.guards.excludes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.vectors import SpokenSentence
from processors.facts.merging.guards import excludes

#: How near the others of a cluster must be to the one in the middle, on vectors of the built-in model.
RECUR_FROM = 0.75

#: What was said in so many conversations comes up again.
FEWEST_CONVERSATIONS = 2

_MIN_CLUSTER_SIZE = 2

_I = re.compile(r"\bI\b")


class SentenceVector(NamedTuple):
    """A sentence, and its vector: of unit length, shape ``(dimensions,)``, float32."""

    sentence_id: str
    sentence: SpokenSentence
    vector: NDArray[np.float32]


class Recurring(NamedTuple):
    """Recurring statement: the sentence in the middle, then all, in the order of the log."""

    middle: SentenceVector
    members: tuple[SentenceVector, ...]


def recurring(told: Sequence[SentenceVector], near_from: float = RECUR_FROM) -> list[Recurring]:
    """Return one person's recurring statements, in the order of their first occurrence.

    Vectors must be of one model.
    """
    ordered = sorted(told, key=_place)
    if len(ordered) < _MIN_CLUSTER_SIZE:
        return []
    vectors = np.stack([each.vector for each in ordered])
    found = [
        each
        for members in _clusters(vectors)
        for each in _around_middles([ordered[n] for n in members], near_from)
    ]
    return sorted(found, key=lambda each: _place(each.members[0]))


def _place(told: SentenceVector) -> tuple[float, str]:
    return told.sentence.arrived_at.timestamp(), told.sentence_id


def _clusters(vectors: NDArray[np.float32]) -> Iterator[list[int]]:
    """Yield the rows of each cluster, in order."""
    # Imported here: it takes seconds to load, and it is an extra (``clusters``).
    from sklearn.cluster import HDBSCAN

    # On vectors of unit length the Euclidean distance orders pairs as the cosine does.  A person who said one
    # thing twice and little else has one cluster.
    density = HDBSCAN(min_cluster_size=_MIN_CLUSTER_SIZE, min_samples=1, allow_single_cluster=True, copy=True)
    labels = density.fit_predict(vectors.astype(np.float64))
    for label in range(int(labels.max(initial=-1)) + 1):
        yield np.flatnonzero(labels == label).tolist()


def _around_middles(members: Sequence[SentenceVector], near_from: float) -> Iterator[Recurring]:
    """Yield what recurs of a cluster: what is around its middle, and then the same of the rest."""
    left = list(members)
    while len(left) >= _MIN_CLUSTER_SIZE:
        found = _around_middle(left, near_from)
        if len({each.sentence.conversation_id for each in found.members}) >= FEWEST_CONVERSATIONS:
            yield found
        taken = {each.sentence_id for each in found.members}
        left = [each for each in left if each.sentence_id not in taken]


def _without_capital_i(told: SentenceVector) -> str:
    """Return the sentence so that whoever says "I" in it is not taken for a name."""
    return _I.sub("i", told.sentence.text)


def _around_middle(members: Sequence[SentenceVector], near_from: float) -> Recurring:
    vectors = np.stack([each.vector for each in members]).astype(np.float64)
    # Of two that are as near the one that was said first; rounded, as sums differ from machine to machine.
    middle = int(np.argmax(np.round(vectors @ vectors.mean(axis=0), 6)))
    text = _without_capital_i(members[middle])
    near = np.round(vectors @ vectors[middle], 6) >= near_from
    kept = tuple(
        each
        for each, is_near in zip(members, near, strict=True)
        if each is members[middle] or (is_near and not excludes(_without_capital_i(each), text))
    )
    return Recurring(members[middle], kept)
