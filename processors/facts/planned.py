"""The day until which a plan holds: "my driving test is on 14 May" holds until the end of that day.

The day is read from the statement and resolved against the time it was said, so every replay finds the same.
Statements that begin something ("I start on 1 June") and that come again (birthdays, every Friday) have no such
day.  Dates: English, and days of months in German, French, Spanish and Portuguese.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from models.facts import Fact
from models.statements import Kind, Precision
from processors.facts.evidence import latest
from processors.text.calendar import add_months
from processors.text.dates import FoundDate, find_dates
from processors.text.lexicon import ENGLISH_MONTHS, MONTHS

#: Nobody plans further ahead: a later day was misread.
_FARTHEST = timedelta(days=400)

_ORDINAL_LINE = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
    "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
_DAYS = {name: number for number, name in enumerate(_ORDINAL_LINE.split(), 1)}
#: Names of months in other languages, where they differ from the English.
_ENGLISH = {name: english for name, english in ENGLISH_MONTHS.items() if name != english}
_DAY_NAME = "|".join(re.escape(each).replace(r"\-", "[- ]") for each in sorted(_DAYS, key=len, reverse=True))
_ORDINAL = re.compile(
    rf"\b(?:{_DAY_NAME})(?=\s+(?:of\s+)?(?:{'|'.join(MONTHS)})\b)|(?<=\bon the )(?:{_DAY_NAME})\b",
    re.IGNORECASE,
)
_MONTH_ELSEWHERE = re.compile(
    rf"(?:(?<=\d)(?:\.|º|er)?\s+(?:de\s+|du\s+)?)?\b({'|'.join(_ENGLISH)})\b(?:\s+de(?=\s+\d{{4}}))?",
    re.IGNORECASE,
)

_AHEAD = re.compile(
    r"\b(?:will|going to|gonna|booked|due|next|coming|comes|tomorrow|plan\w*|hop(?:e|ing)|want to|appointment|"
    r"interview|exam|test|mock|resit|wedding|marr(?:y|ies|ying)|get(?:ting)? married|trip|flight|"
    r"fl(?:y|ies|ying)|holiday|visit\w*|meeting|surgery|operation|scan|deadline|hearing|recital|concert|race|match|party|"
    r"moves? out|moving out|(?:is|are) on|is the|we go|i go|goes|has to|have to|must|need to|through|lease)\b"
    r"|['’](?:ll|s on|s the)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:was|were|had|did|went|came|got|passed|failed|moved|signed|started|finished|left|died|fell|told|sold|"
    r"since|ago|last|yesterday|broke|spent|lost|won|quit|stopped|gave|took|saw|met|been|born|operated|cried|"
    r"called)\b",
    re.IGNORECASE,
)
#: What begins then holds from then on.
_BEGINS = re.compile(
    r"\b(?:start(?:s|ing|ed)?|begin(?:s|ning)?|first (?:day|shift)|mov(?:es?|ed|ing) (?:in|to|into)|moving\.|"
    r"join(?:s|ing)?|becomes?|opens?|opening|takes? over|retir\w+|changes? to|switch\w*|new job|enrol\w*|"
    r"settlement|keys|to live|for good|bought)\b",
    re.IGNORECASE,
)
#: What comes again, and ages.
_RECURS = re.compile(
    r"\b(?:every|each|birthday|anniversary|born|turns?|always|weekly|monthly|yearly|annual\w*|once a|twice a|"
    r"years|(?:mon|tues|wednes|thurs|fri|satur|sun)days|\d{1,3} (?:on|in))\b",
    re.IGNORECASE,
)
_FROM_THEN = re.compile(
    r"\b(?:from|starting|as of|effective|after|before|by|since|around|ab|seit|desde|a partir d[eo]|dès|depuis)"
    r"\s*(?:(?:the|le|el|dem)\s+)?$",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"\b(?:through|ends?(?: on)?|(?:lease|contract)(?: is)? (?:up|ends?|over)(?: on)?|runs? (?:to|out)(?: on)?|"
    r"expires?(?: on)?)\s*(?:the\s+)?(?:end of\s+)?$",
    re.IGNORECASE,
)
_TO = re.compile(r"^\s*(?:to|through|[-–—]|al?|au)\s+", re.IGNORECASE)
#: :func:`find_dates` reads no day behind "until".
_THROUGH = re.compile(
    r"\b(?:until|till?|bis(?: zum)?|hasta(?: el)?|jusqu['’](?:à|au)|até(?: o)?)\b(?! now\b)", re.IGNORECASE
)
_PREPOSITIONS = re.compile(r"(?:(?:on|in|at|by|around|from|early|late|during|the|of|for|,)\s+)*", re.IGNORECASE)
_TODAY = re.compile(r"\b(?:today|tonight|tomorrow|this (?:morning|afternoon|evening))\b", re.IGNORECASE)


def passes_at(fact: Fact) -> datetime | None:
    """Return the last moment of the plan that a fact tells; ``None`` if it tells none, or the slot decides."""
    if fact.attribute or not fact.provenance:
        return None
    return over_at(fact.statement, fact.kind, latest(fact).sent_at)


def over_at(text: str, kind: Kind, said_at: datetime) -> datetime | None:
    """Return the last moment of what a text plans; ``None`` where it names no day ahead of ``said_at``."""
    text = _in_english(text)
    if _RECURS.search(text):
        return None
    is_back = _BACK.search(text) is not None
    is_ahead = not is_back and _AHEAD.search(text) is not None
    found = [
        each
        for each in find_dates(text, said_at, ahead=True if is_ahead else None)
        if not _TODAY.search(text, each.start, each.end)
    ]
    if not found:
        return None
    last = max(found, key=lambda each: each.at)
    end = _end(last)
    if end is None or not said_at < end <= said_at + _FARTHEST:
        return None
    inside = _PREPOSITIONS.match(text, last.start, last.end)
    before = text[: inside.end() if inside else last.start]
    is_range = any(_TO.match(text[each.end : last.end]) for each in found if each.end <= last.start)
    if is_range or _UNTIL.search(before) or _UNTIL.search(text[: last.start]):
        return end
    if kind is Kind.INSTRUCTION or _FROM_THEN.search(before) or _BEGINS.search(text):
        return None
    if last.precision is Precision.MONTH and (is_back or kind is not Kind.EVENT):
        return None
    return end if kind is Kind.EVENT or is_ahead else None


def _end(date: FoundDate) -> datetime | None:
    """Return the last second of a day, week or month; ``None`` of what is said less precisely."""
    day = date.at.replace(hour=0, minute=0, second=0, microsecond=0)
    if date.precision in (Precision.MINUTE, Precision.DAY):
        after = day + timedelta(days=1)
    elif date.precision is Precision.WEEK:
        after = day + timedelta(days=7)
    elif date.precision is Precision.MONTH:
        after = add_months(day, 1)
    else:
        return None
    return after - timedelta(seconds=1)


def _in_english(text: str) -> str:
    """Return a text with its days and months as :func:`find_dates` reads them."""
    text = _THROUGH.sub("through", text)
    text = _ORDINAL.sub(lambda match: _ordinal(_DAYS[match[0].lower().replace(" ", "-")]), text)
    return _MONTH_ELSEWHERE.sub(
        lambda match: f"{'' if match.start() == match.start(1) else ' '}{_ENGLISH[match[1].lower()]}", text
    )


def _ordinal(day: int) -> str:
    return f"{day}{'th' if day in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
