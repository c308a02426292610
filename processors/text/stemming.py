"""English words without their inflection: one crude stemmer, for whoever compares words with words.

It only has to fold the same word always to the same stem; a stem is nothing to show.
"""

from __future__ import annotations


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
