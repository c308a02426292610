"""Whether a question must be clarified, and why: a linear model over its form, with one head per answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.understanding import Reason
from processors.understanding.features import MEASURES, PLACES, WORD_PLACES, measures, places, word_places

#: The head that says whether; the others say why.
WHETHER: Final = "whether"
HEADS: Final = (WHETHER, *(reason.value for reason in Reason))
_WEIGHTS: Final = "weights.npz"


class Clarity:
    """The model.  Weights, all floats: ``frame`` (heads, PLACES), ``words`` (heads, WORD_PLACES), ``measures``
    (heads, measures), ``bias`` (heads), ``mean`` and ``deviation`` (measures)."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        heads = len(HEADS)
        shapes = {
            "frame": (heads, PLACES),
            "words": (heads, WORD_PLACES),
            "measures": (heads, len(MEASURES)),
            "bias": (heads,),
        }
        for name, shape in shapes.items():
            found = weights[name].shape if name in weights else ()
            if found != shape:
                raise ValueError(f"{name} has the shape {found}, not {shape}: run make train")
        self._weights = {name: np.asarray(weights[name], dtype=np.float32) for name in weights}

    def scores(self, question: str) -> dict[str, float]:
        """Return the log-odds of each head."""
        own = self._weights
        form = (np.asarray(measures(question), dtype=np.float32) - own["mean"]) / own["deviation"]
        found = own["frame"][:, places(question)].sum(axis=1) + own["measures"] @ form + own["bias"]
        words = word_places(question)
        # As long in all as one word is alone: a long question has no louder words.
        found += own["words"][:, words].sum(axis=1) / math.sqrt(max(len(words), 1))
        return {head: float(score) for head, score in zip(HEADS, found, strict=True)}

    def probability(self, question: str) -> float:
        """Return the probability that the question must be clarified, 0 to 1."""
        return 1 / (1 + math.exp(min(500.0, -self.scores(question)[WHETHER])))

    def reason(self, question: str) -> Reason:
        """Return why it must be clarified, if it must be."""
        scores = self.scores(question)
        return max(Reason, key=lambda reason: scores[reason.value])


@cache
def built_in() -> Clarity:
    """Return the model with the weights that come with the package."""
    with resources.files(__package__).joinpath(_WEIGHTS).open("rb") as file, np.load(file) as arrays:
        return Clarity({name: arrays[name] for name in arrays.files})
