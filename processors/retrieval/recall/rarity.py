"""How well texts fit a question by their words: BM25, and which of the words each has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from processors.retrieval.recall.question import asked_words, words_of

#: BM25 (Robertson and Zaragoza, "The probabilistic relevance framework", 2009).
_K1, _B = 1.2, 0.75


class Rarity:
    """The words of a question among candidates and their neighbours, whose texts stand for what was said.

    ``places``: of each candidate the text before it, its own and the one after it; ``""`` where there is none.
    ``alone`` and ``around`` are BM25 of its text, and of all three; ``counts`` the words of its text that say
    something; ``held``, ``held_before`` and ``held_around`` which of the question's words stand in its text, in
    the one before it, and in all three; ``coverage`` their share in its text, by ``rarity`` (inverse document
    frequency).
    """

    def __init__(self, query: str, places: Sequence[tuple[str, str, str]]) -> None:
        texts = dict.fromkeys(chain.from_iterable(places))
        texts.pop("", None)
        split = dict(zip(texts, map(words_of, texts), strict=True))
        asked = dict.fromkeys(asked_words(query))
        length = dict(zip(split, map(len, split.values()), strict=True)) | {"": 0}
        # most texts have none of the words, which is told sooner than they are counted
        among = frozenset(asked)
        counts = {text: _times(among, words) for text, words in split.items() if not among.isdisjoint(words)}
        seen = Counter(chain.from_iterable(counts.values()))
        total = len(split)
        self.rarity: Mapping[str, float] = {
            word: math.log1p((total - seen[word] + 0.5) / (seen[word] + 0.5)) for word in asked
        }
        self._whole = sum(self.rarity.values())
        self._shares: dict[frozenset[str], float] = {}
        average = max(1.0, sum(length.values()) / max(1, total))

        def bm25(times: Mapping[str, int], words: int, usual: float) -> float:
            damping = _K1 * (1 - _B + _B * words / usual)
            return sum(
                [self.rarity[word] * count * (_K1 + 1) / (count + damping) for word, count in times.items()]
            )

        nothing = frozenset[str]()
        held = {text: frozenset(times) for text, times in counts.items()}
        self.counts = [length[text] for _, text, _ in places]
        self.held = [held.get(text, nothing) for _, text, _ in places]
        self.coverage = [self._share(each) for each in self.held]
        self.alone, self.around = [0.0] * len(places), [0.0] * len(places)
        for at, place in enumerate(places):
            parts = [counts[text] for text in place if text in counts]
            if not parts:
                continue
            _, text, _ = place
            if text in counts:
                self.alone[at] = bm25(counts[text], length[text], average)
            together = parts[0] if len(parts) == 1 else _sum(parts)
            self.around[at] = bm25(together, sum([length[text] for text in place]), 3 * average)

    def _share(self, words: frozenset[str]) -> float:
        """Return the share of these words in the question, weighted by rarity."""
        found = self._shares.get(words)  # most candidates hold the same few
        if found is None:
            among = sum(self.rarity[word] for word in sorted(words))
            found = self._shares[words] = among / self._whole if self._whole else 0.0
        return found


def _times(among: frozenset[str], words: Iterable[str]) -> dict[str, int]:
    """Return how often words of a set occur, as a :class:`Counter` does, which takes longer for so few."""
    times: dict[str, int] = {}
    for word in filter(among.__contains__, words):
        times[word] = times.get(word, 0) + 1
    return times


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    times: dict[str, int] = {}
    for part in parts:
        for word, count in part.items():
            times[word] = times.get(word, 0) + count
    return times
