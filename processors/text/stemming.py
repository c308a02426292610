"""Words without their inflection: crude stemmers of English and Korean, for whoever compares words with words.

It only has to fold the same word always to the same stem; a stem is nothing to show.
"""

from __future__ import annotations

import re

#: Korean particles, which stand at the end of a word, the longer ones first.  Those of the second pattern are
#: endings of nouns as well, so that more of the word must be left.
_PARTICLE = re.compile(
    "(?<=[가-힣])(?:에게서|에서는|으로는|에서|에게|한테|께서|으로|부터|까지|처럼|보다|하고|은|는|을|를|에)$"
    "|(?<=[가-힣]{2})(?:이랑|이나|이|가|의|도|만|로|와|과|랑|나)$"
)


def without_particle(word: str) -> str:
    """Return a Korean word without the particle at its end; any other word as it is."""
    return _PARTICLE.sub("", word)


def stem_of(word: str) -> str:
    """Return an English word without plural, past and progressive endings; any other word as it is."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    stem = word
    if word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
    elif word.endswith(("ed", "es")) and len(word) > 4:
        stem = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        stem = word[:-1]
    if len(stem) > 3 and stem.endswith("e"):
        stem = stem[:-1]
    if len(stem) > 3 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    return stem
