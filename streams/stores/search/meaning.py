"""Texts that can be compared by meaning: those for whose words the embedder has tokens.

All texts of a script that a model does not know get nearly the same vector.  By it a word that nobody said is
as near as any other, so such texts are compared by their words alone.
"""

from __future__ import annotations

from models.ports import Embedder, ReportsCoverage

#: A text is understood if the model has words for so much of it.
LEAST_COVERAGE = 0.5


def understands(embedder: Embedder, text: str) -> bool:
    """Say whether the cosines of a text's vector mean anything; an embedder that reports nothing knows all."""
    return not isinstance(embedder, ReportsCoverage) or embedder.coverage(text) >= LEAST_COVERAGE
