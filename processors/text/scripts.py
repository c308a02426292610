"""Script of a text, as far as a language model's input depends on it."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

#: Letters of Latin script, those with marks included.
_LATIN = ("LATIN ", "MODIFIER LETTER ")


def latin_share(text: str) -> float:
    """Return the share of a text's letters, digits and pictures that are Latin letters or digits; 0 of none."""
    if text.isascii():
        return float(any(map(str.isalnum, text)))
    known = unknown = 0
    for sign in text:
        kind = _kind(sign)
        known += kind == 1
        unknown += kind == -1
    return known / (known + unknown) if known else 0.0


@lru_cache(maxsize=1 << 14)
def _kind(sign: str) -> int:
    """Return 1 for a Latin letter or digit, -1 for one of another script or a picture, 0 for anything else."""
    category = unicodedata.category(sign)
    if category[0] == "L":
        return 1 if unicodedata.name(sign, "").startswith(_LATIN) else -1
    if category == "Nd":
        return 1 if sign.isascii() else -1
    return -1 if category in ("So", "Sk") else 0
