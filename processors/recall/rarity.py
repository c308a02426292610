"""How well texts fit a question by their words: BM25, and which of the words each has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from processors.recall.question import words_of

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
        split = {text: words_of(text) for place in places for text in place if text}
        asked = dict.fromkeys(words_of(query))
        length = {text: len(words) for text, words in split.items()} | {"": 0}
        # most texts have none of the words, which is told sooner than they are counted
        among = frozenset(asked)
        counts = {
            text: Counter(filter(among.__contains__, words))
            for text, words in split.items()
            if not among.isdisjoint(words)
        }
        seen = Counter(word for times in counts.values() for word in times)
        total = len(split)
        self.rarity: Mapping[str, float] = {
            word: math.log1p((total - seen[word] + 0.5) / (seen[word] + 0.5)) for word in asked
        }
        self._whole = sum(self.rarity.values())
        self._shares: dict[frozenset[str], float] = {}
        average = max(1.0, sum(length.values()) / max(1, total))

        def bm25(parts: Sequence[str], usual: float) -> float:
            times = Counter[str]()
            for text in parts:
                if text in counts:
                    times.update(counts[text])
            damping = _K1 * (1 - _B + _B * sum(length[text] for text in parts) / usual)
            return sum(
                self.rarity[word] * count * (_K1 + 1) / (count + damping) for word, count in times.items()
            )

        nothing = frozenset[str]()
        held = {text: frozenset(times) for text, times in counts.items()}
        self.alone = [bm25((text,), average) if text in counts else 0.0 for _, text, _ in places]
        self.around = [
            bm25(place, 3 * average) if any(text in counts for text in place) else 0.0 for place in places
        ]
        self.counts = [length[text] for _, text, _ in places]
        self.held = [held.get(text, nothing) for _, text, _ in places]
        self.held_before = [held.get(text, nothing) for text, _, _ in places]
        self.held_around = [nothing.union(*(held[text] for text in place if text in held)) for place in places]
        self.coverage = [self.share(each) for each in self.held]

    def share(self, words: frozenset[str]) -> float:
        """Return which share of the question's words these are, by rarity."""
        found = self._shares.get(words)  # most candidates hold the same few
        if found is None:
            among = sum(self.rarity[word] for word in sorted(words))
            found = self._shares[words] = among / self._whole if self._whole else 0.0
        return found
