"""What is said in the form that the tables have.

"Teal is my favourite colour" is "My favourite colour is teal", "have been living" is "live", "my sister lives" is
"live".
"""

from __future__ import annotations

import re

from processors.extraction.english import words
from processors.extraction.parsing import Clause, Mood, without_opener

_BASES = dict(
    each.split(":")
    for each in words(
        "loved:love liked:like hated:hate enjoyed:enjoy preferred:prefer lived:live worked:work disliked:dislike adored:adore "
        "had:have played:play"
    )
)
#: "I have played chess" is past, "I have played chess for ten years" is not.
_LASTING = frozenset(("lived", "worked", "played", "had"))
_STILL = re.compile(r"\b(?:for|since|all|whole|ever)\b", re.IGNORECASE)
_GERUNDS = {"living": "live", "working": "work"}
#: For how long it has been so, counted back from when it is said, is no part of what is so.
_SO_FAR = re.compile(
    r"\s+(?:for|over|since) (?:[\w-]+ ){1,4}(?:years?|months?|weeks?|days?|decades?|ages)\b.*", re.IGNORECASE
)
_ADVERBS = re.compile(
    r"(?:(?:really|always|quite|so|very|a bit|more|totally|super|pretty|getting|just) )+", re.IGNORECASE
)


def perfected(clause: Clause) -> tuple[Clause, bool]:
    """ "Have been living" is "live"; "have always loved" is "love"; what else was done stays a past."""
    first, _, rest = clause.rest.partition(" ")
    first = first.lower()
    if first == "been" and (adverbs := _ADVERBS.match(rest)) is not None:
        rest = rest[adverbs.end() :]
    if clause.mood is Mood.BE and first in _GERUNDS and rest:
        return clause._replace(mood=Mood.DO, rest=f"{_GERUNDS[first]} {rest}"), False
    if clause.mood is not Mood.HAVE:
        return clause, False
    if first in ("always", "never", "long"):
        clause = clause._replace(
            adverbs=clause.adverbs | {first}, negated=clause.negated or first == "never", rest=rest
        )
        first, _, rest = rest.partition(" ")
    if first == "been" and rest.lower().startswith("to "):
        return clause._replace(mood=Mood.DID, rest=f"been {rest}"), True
    if first == "been":
        inner, _, after = rest.partition(" ")
        if inner.lower() in _GERUNDS:
            after = _SO_FAR.sub("", after)
            return clause._replace(mood=Mood.DO, rest=f"{_GERUNDS[inner.lower()]} {after}"), False
        return clause._replace(mood=Mood.BE, rest=_SO_FAR.sub("", rest) or "been"), False
    if first in _LASTING and not (clause.adverbs & {"always", "long"} or _STILL.search(rest)):
        return clause._replace(mood=Mood.DID), True
    if first in _BASES and not clause.negated:
        return clause._replace(mood=Mood.DO, rest=_SO_FAR.sub("", f"{_BASES[first]} {rest}")), False
    if first == "got" and re.match(r"(?:an?|two|three|my|no|some|\d)\b", rest):
        return clause._replace(mood=Mood.DO, rest=f"have {rest}"), False
    return clause._replace(mood=Mood.DID), True


_IRREGULAR = {"has": "have", "goes": "go", "studies": "study", "teaches": "teach", "does": "do"}


def base_form(clause: Clause) -> str:
    """The verb of "my sister lives" as in "I live"."""
    verb, _, rest = clause.rest.partition(" ")
    if clause.mood is not Mood.DO or not verb.endswith("s") or verb.endswith("ss"):
        return clause.rest
    base = _IRREGULAR.get(verb.lower(), verb[:-1])
    return f"{base} {rest}" if rest else base


_NOT_A_THING = (
    r"(?!(?:it|that|this|these|those|he|she|they|there|here|what|which|who|one|so|and|but|to|if|when|is|are|i|my|we|play|find|keep|set|stick|just|"
    r"please|take|use|make|turn|start|put|show|get|let|go|can|could|also|yes|no|because|of course)\b)"
)
_MUCH = r"(?:(?:very|really|so|always|just|more|still|definitely|actually) )*"
_FAVOURITE = r"(?:all-time |absolute )?(?:fav(?:ou?rite|e)?s?|go-to|preferred|usual)(?: [\w-]+){0,3}"
_NO_LIKING = r"(?! (?:the|that|this|your|all|how|it|these|those|seeing|hearing|to (?:hear|see))\b)"

#: Ways to say something without "I": what it looks like, and what it says.
# fmt: off
_ROWS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), says)
    for pattern, says in (
        (rf"{_NOT_A_THING}(?P<v>[\w'& -]{{2,50}}?)(?:'s| is| are|,? that's) {_MUCH}my (?P<x>{_FAVOURITE})\W*$", "my {x} is {v}"),
        (rf"{_NOT_A_THING}(?P<v>[\w'& -]{{2,40}}?) (?:works? best|(?:is|are) {_MUCH}(?:important|essential|crucial|best|perfect|a must|key|ideal|better)) (?:for|to) me\b", "I like {v}"),
        (r"(?:and |but )*(?P<v>(?:the )?[\w-]+(?: [\w-]+){0,2}?)(?: (?:really|just))? (?:(?:doesn't|does not|don't|do not) (?:really )?matter|(?:is|are) (?:irrelevant|no object|not (?:important|an issue)))\b", "I don't care about {v}"),
        (rf"{_MUCH}(?P<v>(?:love|hate|adore|dislike|enjoy|can't stand|don't (?:like|eat|drink)){_NO_LIKING}\b .*)", "I {v}"),
        (r"(?:remember,? |but |and )*no (?P<v>[\w-]+(?: (?:or|and) [\w-]+)?) for me\b", "I avoid {v}"),
        (r"(?P<v>not a fan of\b .*)", "I'm {v}"),
    )
)
# fmt: on


def in_first_person(text: str) -> str:
    """Return the sentence that ``text`` stands for; ``""`` if it is none of these."""
    core = _BEGINS.sub(lambda word: word[0].lower(), without_opener(text))
    for pattern, says in _ROWS:
        if (match := pattern.match(core)) is not None:
            return says.format(**match.groupdict())
    return ""


def presupposed(text: str) -> str:
    """What a sentence takes as known, even if it asks: "is there anything for my nut allergy?"."""
    match = _ALLERGY.search(text)
    return f"I'm allergic to {match['v']}" if match is not None and not _NO_MORE.search(text) else ""


_ALLERGY = re.compile(r"\bmy (?!food |bad |severe )(?P<v>[\w-]+) (?:allergy|intolerance)\b", re.IGNORECASE)
_NO_MORE = re.compile(
    r"\b(?:outgr[eo]wn?|cured|got over|gotten over|lost|no longer|used to|any ?more|if)\b", re.IGNORECASE
)
#: A word that is no name, although a sentence begins with it.
_BEGINS = re.compile(r"^[A-Z](?=[a-z]+(?:ing|[- ]free)\b)")
