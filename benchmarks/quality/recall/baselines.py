"""Baselines: BM25 or the cosine of whole turns alone, here, and figures that were published."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.recall.measures import Outcome, distinct
from benchmarks.quality.recall.sets import Asked, Person
from models.ports import Embedder
from processors.retrieval.recall.question import words_of

#: R@5 and R@10: LoCoMo's paper and design notes on BEAM, measured elsewhere.
PUBLISHED = {
    "locomo": {"text-embedding-3-small": (0.599, 0.694)},
    "beam": {"BM25": (0.348, 0.418), "MiniLM": (0.484, 0.605)},
}
_K1, _B = 1.2, 0.75
_CHARACTERS = 4_000


def by_words(set_: str, people: Sequence[Person]) -> list[Outcome]:
    """Return the results of BM25, with stems and without stop words."""
    found = []
    for person in people:
        texts = [Counter(words_of(message.content)) for message in person.messages]
        lengths = [each.total() for each in texts]
        average = sum(lengths) / len(lengths)
        holding = Counter(word for each in texts for word in each)
        for asked in person.questions:
            scores = np.zeros(len(texts))
            for word in dict.fromkeys(words_of(asked.query)):
                rarity = math.log1p((len(texts) - holding[word] + 0.5) / (holding[word] + 0.5))
                for at, text in enumerate(texts):
                    if count := text[word]:
                        damping = _K1 * (1 - _B + _B * lengths[at] / average)
                        scores[at] += rarity * count * (_K1 + 1) / (count + damping)
            found.append(_outcome(set_, person, asked, scores))
    return found


async def by_meaning(set_: str, people: Sequence[Person], embedder: Embedder) -> list[Outcome]:
    """Return the results by cosine of question and turn."""
    found = []
    for person in people:
        texts = await embedder.embed(
            [message.content[:_CHARACTERS].strip() or "-" for message in person.messages]
        )
        queries = await embedder.embed([asked.query for asked in person.questions])
        for asked, query in zip(person.questions, queries, strict=True):
            found.append(_outcome(set_, person, asked, texts @ query))
    return found


def _outcome(set_: str, person: Person, asked: Asked, scores: NDArray[Any]) -> Outcome:
    order = np.argsort(-scores, kind="stable")[:10]
    return Outcome(set_, asked, distinct([(person.messages[at].message_id,) for at in order]))
