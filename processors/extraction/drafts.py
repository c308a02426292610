"""A draft of a statement, and the sentence that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from models.statements import SELF, Assertion, Kind, Polarity, attribute_of
from processors.extraction.english import VOWEL, anycase, conjugate, is_past
from processors.extraction.values import clause_end
from processors.text.dates import FoundDate, find_dates

HOLDS, ENDED, CORRECTED = Assertion.HOLDS, Assertion.ENDED, Assertion.CORRECTED
AFFIRMED, NEGATED = Polarity.AFFIRMED, Polarity.NEGATED


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement without its window: what it says, of whom, how surely, and when: since when, if it is no event."""

    attribute: str
    value: str
    sentence: str
    confidence: float
    subject: str = SELF
    polarity: Polarity = AFFIRMED
    assertion: Assertion = HOLDS
    date: FoundDate | None = None
    completes: str = ""

    @property
    def kind(self) -> Kind:
        attribute = attribute_of(self.attribute)
        return attribute.kind if attribute is not None else Kind.PREFERENCE


def say(says: str, *, polarity: Polarity = AFFIRMED, assertion: Assertion = HOLDS, subject: str = SELF) -> str:
    """Make the sentence: "live in Rome" becomes "Lives in Rome", "Sister no longer lives in Rome"."""
    verb, _, rest = says.partition(" ")
    as_it_is = verb in ("was", "will", "has", "cannot") or (is_past(verb) and verb not in ("read", "put"))
    are_many = subject != SELF and _MANY.search(subject) is not None
    third = _OF_MANY.get(verb, verb) if as_it_is or are_many else conjugate(verb)
    if assertion is ENDED and not as_it_is:
        said = f"no longer {third} {rest}"
    elif polarity is NEGATED:
        said = (
            f"{third} not {rest}"
            if verb in ("be", "was", "will")
            else f"{'do' if are_many else 'does'} not {verb} {rest}"
        )
    else:
        said = f"{third} {rest}"
    said = " ".join((said if subject == SELF else f"{subject} {said}").split())
    said = _AN.sub("an", said)
    return f"{said[0].upper()}{said[1:]}"


_MANY = anycase(r"(?:s|children)$")
_OF_MANY = {"be": "are"}
#: "Option a or b" and "vitamin a in the morning" have no article.
_AN = re.compile(
    rf"\ba(?= (?!(?:about|after|also|and|are|as|at|if|in|instead|is|of|on|only|or|over|until)\b)(?:{VOWEL.pattern}))"
)


_OPEN_END = anycase(r"\b(?:with|between|to|from|of|than|until|till|and|or|through)\s*\Z")


#: A date before one of these stands for itself; before a noun ("the 25 July workshop") it describes that.
_FOLLOWS = anycase(
    r"\W|(?:with|at|in|on|to|for|by|from|via|and|but|so|because|when|where|which|as|about|of|near|after|before|together)\b|$"
)
#: "Before 3 May" is another day, and so is "by".
_RELATION = anycase(r"\b(?P<relation>before|after|starting|beginning)\s*\Z")
#: "During the Great Storm in 1987" dates the storm.
_DURING = anycase(r"\bduring (?-i:[A-Z]|the )")
_BEGINNING = anycase(r"\s*\b(?:scheduled|due|set|for|effective)\s*\Z")


def date_of(text: str, whole: str, said_at: datetime, *, ahead: bool) -> tuple[FoundDate | None, str]:
    """The date of an event, and ``text`` without it."""
    end = clause_end(text)
    dates = find_dates(text, said_at, ahead=ahead)
    if not dates:
        around = find_dates(whole, said_at, ahead=ahead)
        return (around[0] if around else None), text
    date, before, after = dates[0], text[: dates[0].start], text[dates[0].end :].lstrip()
    if len(dates) > 1 or date.start > end + 1:
        # "a school that closed last year": the date is of another clause
        is_restricted = text[end:].lstrip().startswith(("that ", "which ", "who "))
        return None, text if is_restricted else text[:end] if date.start > end + 1 else ""
    if not _FOLLOWS.match(after) or _DURING.search(before):
        return None, text  # "enrolled in the 25 July workshop", "during the storm in 1987"
    if (relation := _RELATION.search(before)) is not None:
        date, before = date._replace(relation=relation["relation"].lower()), before[: relation.start()]
    if _OPEN_END.search(before):
        return None, ""  # "I chose between 3 May and 5 May", "I went with June"
    return date, f"{_BEGINNING.sub('', before).rstrip(' ,')} {after}".strip()


#: "Since last summer" dates as "in last summer" does, "since Monday" as "on Monday".
_SINCE = anycase(r"\bsince (?P<when>.*)")


def began(text: str, whole: str, said_at: datetime, *, moved: bool) -> tuple[FoundDate | None, str]:
    """Since when it has been so, and ``text`` without that.  ``moved``: it tells how it began, not that it is so."""
    date, left = date_of(text, whole, said_at, ahead=False) if moved else (None, text)
    if not moved and (since := _SINCE.search(whole)) is not None:
        dates = [find_dates(f"{lead} {since['when']}", said_at, ahead=False)[:1] for lead in ("in", "on")]
        date = next((each for found in dates for each in found if each.start == 0), None)
    if date is None or date.at > said_at or date.relation in ("before", "after", "by"):
        return None, text
    return date, left


_SATURDAY = 5
_SEASONS = {3: "spring", 6: "summer", 9: "autumn", 12: "winter"}


def dated(date: FoundDate) -> str:
    """How a date is shown: "on 3 May 2024", "by 3 May 2024", "in May 2024", "in the summer of 2022"."""
    day = f"{date.at.day} {date.at:%B %Y}"
    preposition, shown = {
        "minute": ("on", f"{day} at {date.at:%H:%M}"),
        "day": ("on", day),
        "week": ("on", f"the weekend of {day}")
        if date.at.weekday() == _SATURDAY
        else ("in", f"the week of {day}"),
        "month": ("in", f"{date.at:%B %Y}"),
        "season": ("in", f"the {_SEASONS.get(date.at.month, 'season')} of {date.at.year}"),
        "year": ("in", f"{date.at.year}"),
    }[date.precision.value]
    return f"{date.relation or preposition} {shown}"
