"""Slots: the few attributes that are read from kept English sentences of the first person.

A slot makes three wordings of one thing one fact, and lets a new home take the place of the old.  One table; a
sentence that fits no row is kept as it is, without a slot.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from models.statements import Polarity, Precision
from processors.text.dates import find_dates

_NAME = r"(?-i:[A-ZÀ-Þ][\w'’-]+(?: (?:de |da |van |von |la |al-)?[A-ZÀ-Þ][\w'’-]+){0,3})"
_PLACE = r"(?:(?-i:[A-ZÀ-Þ][\w'’-]+(?:[ -](?:de |da |upon |on |la )?[A-ZÀ-Þ][\w'’-]+){0,3})|(?!a\b|an\b|the\b|my\b|our\b|this\b|that\b|two\b|here\b|with\b)[a-zà-ÿ]{3,}(?=[.,!;]|$| (?:now|with|since|for|and|but)\b))"
_I = r"(?:\bi['’]?m|\bi am|\bim)"
_NOW = r"(?: (?:now|still|currently|just|also|actually|already|finally|recently|back))*"
#: With "ex", "late" or "business" before it, it is another person.
_PARTNER = r"(?:(?:new|lovely|dear|wonderful|amazing|beautiful) )?(?:wife|husband|partner|spouse|girlfriend|boyfriend|fianc[ée]e?)"
_END = r"(?=[.,!?;:()]| (?:and|but|so|since|for|because|which|who|with|at|in|from|until|now|too|as well|anymore|any more)\b|\s*$)"


class Slot(NamedTuple):
    """A slot that a sentence fills; ``since``: when it began, where the sentence says so."""

    attribute: str
    value: str
    polarity: Polarity = Polarity.AFFIRMED
    since: datetime | None = None
    since_precision: Precision | None = None


_ROWS = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE))
    for attribute, pattern in (
        ("name", rf"\bmy (?:full |real |first )?name(?:['’]s| is)(?: now)? (?P<v>{_NAME})"),
        ("age", rf"{_I}{_NOW} (?P<v>\d\d?)(?: years? old| now)?(?=[.,!;]|$| and\b)"),
        ("age", r"\bi(?:['’]ve)?(?: just)? turned (?P<v>\d\d?)\b"),
        (
            "birthday",
            r"\bmy birthday(?:['’]s| is)(?: on)?(?: the)? (?P<v>\d\d?(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+|[A-Z][a-z]+ \d\d?)",
        ),
        (
            "birthday",
            r"\bi was born on(?: the)? (?P<v>\d\d?(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+(?: \d{4})?|[A-Z][a-z]+ \d\d?(?:,? \d{4})?)",
        ),
        ("origin", rf"(?:{_I}|\bi come)(?: originally)? from (?P<v>{_NAME})"),
        ("origin", rf"\bi (?:grew up|was born) in (?P<v>{_NAME})"),
        (
            "home",
            rf"\b(?:i|we)(?:['’]ve|['’]re| have| are|['’]m| am)?{_NOW} (?:live[sd]?|living|moved|relocated|settled)(?: back)?(?: over)? (?:in|to) (?P<v>{_PLACE})",
        ),
        (
            "occupation",
            rf"\bi(?:['’]m)?{_NOW} work(?:ing)?{_NOW} as (?:an? |the )?(?P<v>[\w -]{{3,40}}?){_END}",
        ),
        ("occupation", rf"\bmy job is (?:an? |the )?(?P<v>[\w -]{{3,40}}?){_END}"),
        (
            "employer",
            rf"\bi(?:['’]m|['’]ve)?{_NOW} (?:work|working|started|start)(?: a new job| working)?{_NOW} (?:at|for) (?:the )?(?P<v>{_NAME})",
        ),
        (
            "relationship",
            rf"(?:{_I}|\bi got|\bwe got|\bwe['’]?re){_NOW} (?P<v>single|married|divorced|engaged|widowed|separated)\b",
        ),
        # Not "my wife called Mia": that was a telephone call.
        (
            "partner",
            rf"\bmy {_PARTNER}(?:['’]s name is|['’]s (?:called|named)| is (?:called|named)) (?P<v>{_NAME})",
        ),
        (
            "partner",
            rf"\bi(?:['’]ve)? (?:have|got)(?: got)? an? {_PARTNER} (?:called|named) (?P<v>{_NAME})",
        ),
        (
            "diet",
            rf"(?:{_I}|\bi(?:['’]ve)? (?:became|become|went|gone|go)|\bi(?:['’]ve)? decided to (?:become|go|be))(?P<no> (?:not|no longer))?{_NOW}(?: an?)? (?:strict |strictly |fully )?(?P<v>vegan|vegetarian|pescatarian|flexitarian|keto|halal|kosher)\b",
        ),
        (
            "language",
            r"\bi speak (?:fluent |some |a little |good )?(?P<v>(?-i:[A-Z][a-z]+)(?:(?:,| and|, and) (?-i:[A-Z][a-z]+))*)",
        ),
        (
            "allergy",
            rf"{_I}(?P<no> not)?{_NOW}(?: (?:very|really|highly|severely|badly|terribly|deathly))? allergic to (?P<v>[\w ,'’-]{{3,60}}?)(?=[.!?;:(]| (?:but|so|since|because|anymore|any more)\b|, (?:so|but|the|it|which)\b|\s*$)",
        ),
        (
            "medicine",
            r"\b(?:i take|i['’]?m on|i am on)(?: my)? (?P<v>[a-z][\w-]{4,}(?: \d+ ?m?g)?)(?= (?:for|every|twice|once|daily|each|in the)\b| \d)",
        ),
        (
            "pet",
            rf"\bmy (?:\w+ )?(?P<k>dog|cat|puppy|kitten|horse|rabbit|hamster|parrot|tortoise|budgie)(?:['’]s name is|['’]s called| is (?:called|named)| named| called|,)? (?P<v>{_NAME})",
        ),
        (
            "pet",
            rf"\b(?:i|we)(?:['’]ve)? (?:have|got)(?: got)? an? (?:\w+ )?(?P<k>dog|cat|puppy|kitten|horse|rabbit|hamster|parrot|tortoise|budgie) (?:called|named) (?P<v>{_NAME})",
        ),
        (
            "family",
            rf"\bmy (?:\w+ )?(?P<k>son|daughter|mum|mom|mother|dad|father|brother|sister)(?:['’]s name is|['’]s called| is (?:called|named)| named| called) (?P<v>{_NAME})",
        ),
        (
            "favourite",
            rf"\bmy (?:new )?favou?rite (?P<q>[a-z]+(?: [a-z]+)?)(?:['’]s| is|:)(?: now)? (?:the )?(?P<v>[\w '’-]{{2,40}}?){_END}",
        ),
    )
)

#: A sentence about what is not so, or not yet.
_UNREAL = re.compile(
    r"\?\s*$|\b(?:if i|wish i|as if|pretend|imagine|would|might|not sure|thinking of|used to|says? (?:that )?i|dreamt?)\b",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"\b(?:any ?more|no longer|not .{0,20}any ?longer)\b", re.IGNORECASE)
_BEGAN = re.compile(r"\b(?:moved|relocated|started|became|went|joined|got)\b", re.IGNORECASE)


def slots_of(text: str, said_at: datetime) -> list[Slot]:
    """Return the slots that a sentence fills, each attribute once."""
    if _UNREAL.search(text):
        return []
    found: dict[str, Slot] = {}
    for attribute, pattern in _ROWS:
        match = pattern.search(text)
        if match is None or attribute in found:
            continue
        groups = match.groupdict()
        value = " ".join(match["v"].split()).strip(" ,'’-")
        name = attribute if attribute != "favourite" else f"favourite/{groups['q'].lower()}"
        if kind := groups.get("k"):
            value = f"{kind.lower()} {value}"
        negated = bool(groups.get("no")) or _NO_LONGER.search(text) is not None
        since, precision = (None, None) if negated else _since(text, said_at)
        found[attribute] = Slot(
            name, value, Polarity.NEGATED if negated else Polarity.AFFIRMED, since, precision
        )
    return list(found.values())


_ANSWERS = tuple(
    (attribute, re.compile(asked, re.IGNORECASE), re.compile(answer, re.IGNORECASE))
    for attribute, asked, answer in (
        (
            "home",
            r"\bwhere\b.*\b(?:you|u)\b.*\b(?:live|living|based)\b",
            rf"^(?:in |near )?(?P<v>{_NAME})[.!]?$",
        ),
        ("employer", r"\bwhere\b.*\b(?:you|u)\b.*\bwork\b", rf"^(?:at |for )?(?P<v>{_NAME})[.!]?$"),
        ("age", r"\bhow old are (?:you|u)\b", r"^(?P<v>\d\d?)[.!]?$"),
        (
            "allergy",
            r"\ballerg\w*\b.*\?",
            r"^(?:yes[,:]? |to )?(?!no\b|none|nothing|not)(?P<v>[a-zà-ÿ]+(?:(?:,| and|, and) [a-zà-ÿ]+){0,3})[.!]?$",
        ),
    )
)


def answered_slot(asked: str, text: str) -> list[Slot]:
    """Return the slot that a short answer fills by its question: "Where do you live? – In Porto." """
    for attribute, question, answer in _ANSWERS:
        if question.search(asked) and (match := answer.match(text)):
            return [Slot(attribute, match["v"])]
    return []


def _since(text: str, said_at: datetime) -> tuple[datetime | None, Precision | None]:
    """Return when what a sentence says began: "since 2019", "I moved in January"."""
    for date in find_dates(text, said_at, ahead=False):
        if date.at <= said_at and (date.relation == "since" or (not date.relation and _BEGAN.search(text))):
            return date.at, date.precision
    return None, None
