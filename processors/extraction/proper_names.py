"""Names of things: without what only says of what kind they are, and the kind that they tell."""

from __future__ import annotations

import re


def named_topic(name: str, topic: str) -> str:
    """The subject of a name: that which it tells by itself, else ``topic``."""
    if " by " in name and topic not in ("book", "film"):
        return "music"
    return "radio station" if _ON_AIR.search(name) and topic not in ("news", "podcast") else topic


def bare_name(name: str) -> str:
    """A name without quotation marks, and without the noun that says what it is of: "Nordwind podcast"."""
    return _NOUN.sub("", _QUOTES.sub("", name).strip(" .,"))


_QUOTES = re.compile(r"(?<![^\W_])['\"‘’“”]|['\"‘’“”](?![^\W_])")
_NOUN = re.compile(
    r"(?<=\w) (?:(?:(?-i:charging|radio|podcast|gas|grocery|music|news) )?(?:stations?|networks?|podcasts?|restaurants?|"
    r"stores?|supermarkets?|shows?|apps?|playlists?|chains?|features?)|(?-i:charge points?|podcast|album|song|radio|music))$",
    re.IGNORECASE,
)
_ON_AIR = re.compile(r"\b(?:FM|AM|Radio)\b|\b\d{2,3}\.\d$")
