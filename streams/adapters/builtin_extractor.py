"""The extractor that needs no language model: rules, and sentence embeddings where the rules are unsure.

The rules (:mod:`processors.extraction.statements`) decide alone about most sentences.  What is left is compared
with the prototypes below, in the person's own words: a first-person sentence that no rule knows is admitted if
it is near a prototype of a category, and one that a rule knows only weakly is dropped if it is nearer to
small talk.  Without an embedder the rules alone decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.facts import Category
from models.ports import Embedder, ExtractedStatement, Vectors
from models.windows import Window
from processors.extraction.categories import WEAK
from processors.extraction.rules import Ruling
from processors.extraction.statements import Draft, admit, drafts

#: Cosine similarity to the nearest prototype from which a sentence that no rule knows is admitted, if
#: small talk is not as near.  MiniLM's similarity of unrelated sentences is around 0.1, of paraphrases
#: above 0.6.
ADMIT_FROM = 0.4
ADMIT_MARGIN = 0.1

#: How much nearer to small talk than to anything else a weak statement must be to be dropped.
DROP_MARGIN = 0.15

#: An admitted sentence was understood by nobody: enough to be recalled, less than any rule gives.
ADMITTED_CONFIDENCE = 0.55

PROTOTYPES: dict[Category, tuple[str, ...]] = {
    Category.PREFERENCE: (
        "I'm enjoying this kind of music a lot.",
        "I find crowded places exhausting.",
        "I want my food to be really spicy.",
        "I'd love to travel by train rather than fly.",
        "I always feel better when the room is cool.",
        "I look for hotels with a pool.",
        "I need a quiet place to work.",
        "I could eat pasta every day.",
        "I try to buy organic food.",
    ),
    Category.PROFILE: (
        "I come from a small town in the north.",
        "I want to become a doctor one day.",
        "I'm proud of my daughter, she is at university.",
        "I'm considering a career in teaching.",
        "I've been a musician for most of my life.",
        "I get up at five because of my job.",
        "I'm looking for a new job in marketing.",
        "I'm trying to lose weight this year.",
    ),
    Category.EVENT: (
        "I have an exam on Friday.",
        "I saw the doctor about my knee.",
        "I tried pottery for the first time last weekend.",
        "I'm looking at flats because we want to move.",
        "I found a new apartment last month.",
        "I've been busy preparing my presentation.",
    ),
}
SMALL_TALK = (
    "I'm fine, thank you.",
    "I'm so happy for you!",
    "I agree with you.",
    "I see what you mean.",
    "I can't wait to see you.",
    "I'm glad to hear that.",
    "I'll talk to you later.",
    "I'll let you know.",
    "I hope you have a great day.",
    "I appreciate your support.",
    "I have to go now.",
    "I don't know what to say.",
    "I'm curious what happened.",
    "I'm looking forward to it.",
    "I'm feeling good about it.",
    "I'll keep going and never give up.",
    "I'm excited and ready for the challenge.",
    "I'm grateful for everything.",
    "I'm hungry.",
    "I need to get to the city center.",
    "I need to do some shopping.",
    "I had a rough time but I'm okay now.",
    "I need directions to the nearest station.",
    "I'd like to book a table.",
    "I want you to find a place nearby.",
)


class BuiltinExtractor:
    """Implements :class:`models.ports.Extractor`."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._prototypes: Vectors | None = None

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return "builtin-rules-1" if self._embedder is None else "builtin-rules-1+embeddings"

    async def extract(self, windows: Sequence[Window]) -> list[list[ExtractedStatement]]:
        """Return the statements of each window, in the order of ``windows``.

        All unsure sentences of all windows are embedded in one call.  Raises
        :class:`models.errors.DependencyUnavailable` when the embedder is down or slow.
        """
        found: list[list[Draft]] = []
        for window in windows:
            found.append(drafts(window))
            # A batch of large windows takes a while: let the event loop breathe between two of them.
            await asyncio.sleep(0)
        if self._embedder is not None:
            found = await self._judge(self._embedder, found)
        return [admit(window, each) for window, each in zip(windows, found, strict=True)]

    async def _judge(self, embedder: Embedder, found: list[list[Draft]]) -> list[list[Draft]]:
        unsure = list(dict.fromkeys(draft.spoken for each in found for draft in each if _is_unsure(draft)))
        if not unsure:
            return found
        if self._prototypes is None:
            known = [sentence for category in PROTOTYPES for sentence in PROTOTYPES[category]]
            self._prototypes = await embedder.embed([*known, *SMALL_TALK])
        similarity = await embedder.embed(unsure) @ self._prototypes.T
        judged = {spoken: _Nearness(row) for spoken, row in zip(unsure, similarity, strict=True)}
        return [
            [
                draft if not _is_unsure(draft) else decided
                for draft in each
                if (decided := _decide(draft, judged.get(draft.spoken))) is not None
            ]
            for each in found
        ]


class _Nearness:
    """How near a sentence is to its nearest prototype, and to small talk."""

    def __init__(self, similarity: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
        known = similarity[: -len(SMALL_TALK)]
        self.prototype = float(known.max())
        self.small_talk = float(similarity[-len(SMALL_TALK) :].max())
        self.category = _CATEGORIES[int(known.argmax())]


_CATEGORIES = [category for category, sentences in PROTOTYPES.items() for _ in sentences]


def _is_unsure(draft: Draft) -> bool:
    return draft.ruling.category is None or draft.ruling.confidence <= WEAK


def _decide(draft: Draft, near: _Nearness | None) -> Draft | None:
    """The draft as it may stay, or None."""
    if near is None:
        return draft
    if draft.ruling.category is None:
        if near.prototype < max(ADMIT_FROM, near.small_talk + ADMIT_MARGIN):
            return None
        return replace(draft, ruling=Ruling(draft.ruling.statement, near.category, ADMITTED_CONFIDENCE))
    return None if near.small_talk > near.prototype + DROP_MARGIN else draft
