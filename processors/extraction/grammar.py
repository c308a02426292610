"""Third person: pronouns turned, verbs conjugated, tenses told apart.  Shallow, and enough for chat."""

from __future__ import annotations

import re

from processors.extraction.lexicon import IRREGULAR_PARTICIPLES, IRREGULAR_PAST, NOT_PAST_ED, SAME_IN_PAST

#: Present forms that take no regular ending.
THIRD = {
    "am": "is",
    "are": "is",
    "were": "was",
    "ain't": "isn't",
    "aren't": "isn't",
    "weren't": "wasn't",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
}


def third_person(text: str) -> str:
    """Turn what follows the verb: I -> they, my -> their; what stands in double quotes stays."""
    parts = _QUOTED.split(text)
    for n in range(0, len(parts), 2):
        parts[n] = _PRONOUN.sub(_replace_pronoun, parts[n])
    return "".join(parts)


def conjugate(verb: str) -> str:
    """Third person singular, present tense."""
    if verb in THIRD:
        return THIRD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def is_past(verb: str) -> bool:
    """Whether a verb as written after "I" is in the past tense."""
    return (verb in IRREGULAR_PAST and verb not in SAME_IN_PAST) or (
        verb.endswith("ed") and len(verb) > 3 and verb not in NOT_PAST_ED
    )


def is_participle(word: str) -> bool:
    """Whether a word after "have" makes a perfect."""
    return word in IRREGULAR_PARTICIPLES or is_past(word)


_QUOTED = re.compile(r'("[^"]*"|“[^”]*”)')
#: "My" and "Me" inside a clause are names ("My Neighbor Totoro"), so only lower case is turned.
_PRONOUN = re.compile(
    r"\b(?:I am|i am|I was|i was|[Ii]'(?:m|ve|d|ll)|I|i|my|mine|myself|me|we're|we've|we'd|we'll|we|our|ours|"
    r"us|ourselves)\b(?!\.[a-z]|[’'-][a-z])"
)
_PRONOUNS = {
    "i am": "they are",
    "i was": "they were",
    "i'm": "they're",
    "i've": "they've",
    "i'd": "they'd",
    "i'll": "they'll",
    "i": "they",
    "my": "their",
    "mine": "theirs",
    "myself": "themselves",
    "me": "them",
    "we're": "they're",
    "we've": "they've",
    "we'd": "they'd",
    "we'll": "they'll",
    "we": "they",
    "our": "their",
    "ours": "theirs",
    "us": "them",
    "ourselves": "themselves",
}


def _replace_pronoun(match: re.Match[str]) -> str:
    return _PRONOUNS[match[0].lower()]
