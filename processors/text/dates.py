"""When something happened or will, from what is said of it: "last Tuesday", "in spring", "two years ago".

A relative date resolves against the moment it was said.  What was not said is not made up: the precision says
how much was, and the time is the first moment of it.  Seasons are those of the northern hemisphere, weeks
begin on Monday, a weekend is the week from its Saturday.  ``3/4/2024`` is two days, so it is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from models.statements import Precision
from processors.text.calendar import SpokenAt, add_months, floor, midnight, nearest, of_year
from processors.text.lexicon import MONTHS, WEEKDAYS

#: Nobody speaks of his own life outside of these years.
EARLIEST_YEAR, LATEST_YEAR = 1900, 2150


class FoundDate(NamedTuple):
    """A date in a text: its first moment, how precisely it was said, and where (``text[start:end]``).

    ``relation``: the word that says that it is not at that time ("by", "since", "before", "starting").
    """

    at: datetime
    precision: Precision
    start: int
    end: int
    relation: str = ""


#: First moment and precision; ``None`` where the words name no day that there is.
_Moment = tuple[datetime, Precision] | None

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20},
    **{"couple of": 2, "a couple of": 2, "a couple": 2, "few": 3, "a few": 3, "several": 4},
}
#: "A few days ago" is no day: what was said vaguely is as precise as the next larger unit.
_VAGUE = frozenset({"couple of", "a couple of", "a couple", "few", "a few", "several"})
_COARSER = {
    Precision.MINUTE: Precision.DAY,
    Precision.DAY: Precision.WEEK,
    Precision.WEEK: Precision.MONTH,
    Precision.MONTH: Precision.SEASON,
    Precision.YEAR: Precision.YEAR,
}
_UNITS: Mapping[str, tuple[timedelta, int, Precision]] = {
    "minute": (timedelta(minutes=1), 0, Precision.MINUTE),
    "hour": (timedelta(hours=1), 0, Precision.MINUTE),
    "day": (timedelta(days=1), 0, Precision.DAY),
    "week": (timedelta(weeks=1), 0, Precision.WEEK),
    "month": (timedelta(), 1, Precision.MONTH),
    "year": (timedelta(), 12, Precision.YEAR),
    "decade": (timedelta(), 120, Precision.YEAR),
}
_WHICH = {"last": -1, "past": -1, "previous": -1, "this": 0, "this past": -1, "this coming": 1, "next": 1}


# --- one function for each way to name a date ------------------------------------------------------------


def _named_day(match: re.Match[str], said: SpokenAt) -> _Moment:
    offset = _DAYS[match["day_word"]]
    return midnight(said.at) + timedelta(days=offset), Precision.DAY


def _weekday(match: re.Match[str], said: SpokenAt) -> _Moment:
    today = midnight(said.at)
    number = [each[:3] for each in WEEKDAYS].index(match["weekday"][:3])
    which = match["weekday_which"]
    back = timedelta(days=(today.weekday() - number) % 7)
    if which in ("last", "past", "this past", "previous"):
        return today - (back or timedelta(days=7)), Precision.DAY
    if which in ("this", "next"):
        week = floor(today, Precision.WEEK) + timedelta(weeks=_WHICH[which])
        return week + timedelta(days=number), Precision.DAY
    earlier = today - back
    ahead = which == "this coming" or said.ahead is True
    later = earlier if earlier == today and not ahead else earlier + timedelta(days=7)
    return (later if ahead else earlier), Precision.DAY


def _period(match: re.Match[str], said: SpokenAt) -> _Moment:
    """ "last week", "this month", "next year", "next weekend"."""
    step, unit = _WHICH[match["period_which"]], match["period"]
    if unit == "weekend":
        return floor(said.at, Precision.WEEK) + timedelta(days=5, weeks=step), Precision.WEEK
    length, months, precision = _UNITS[unit]
    begin = floor(said.at, precision)
    return (add_months(begin, months * step) if months else begin + length * step), precision


def _season(match: re.Match[str], said: SpokenAt) -> _Moment:
    month, year, which = _SEASONS[match["season"]], match["season_year"], match["season_which"]
    if which not in ("last", "past", "previous", "next") or year:
        if which == "this" and not year:
            year = str(said.at.year)
        return of_year(said, month, 1, year), Precision.SEASON
    now = floor(said.at, Precision.SEASON)
    around = [now.replace(month=month, year=now.year + n) for n in (-2, -1, 0, 1)]
    if which == "next":
        return min(each for each in around if each > now), Precision.SEASON
    return max(each for each in around if each < now), Precision.SEASON


def _distance(match: re.Match[str], said: SpokenAt) -> _Moment:
    """ "two years ago", "in three weeks", "a month from now"."""
    words = match["ago_count"] or match["in_count"] or match["from_count"]
    unit = match["ago_unit"] or match["in_unit"] or match["from_unit"]
    count = int(words) if words.isdigit() else _NUMBERS[words]
    length, months, precision = _UNITS[unit]
    count = -count if match["ago_unit"] else count
    at = add_months(said.at, months * count) if months else said.at + length * count
    precision = _COARSER[precision] if words in _VAGUE else precision
    return floor(at, precision), precision


def _month_and_day(match: re.Match[str], said: SpokenAt) -> _Moment:
    name = match["md_month"] or match["dm_month"]
    day = int(match["md_day"] or match["dm_day"])
    return of_year(said, _month_number(name), day, match["md_year"] or match["dm_year"]), Precision.DAY


def _month(match: re.Match[str], said: SpokenAt) -> _Moment:
    month, which, year = _month_number(match["month"]), match["month_which"], match["month_year"]
    if which in ("last", "past", "next", "previous") and not year:
        return of_year(SpokenAt(said.at, which == "next"), month, 1, None), Precision.MONTH
    return of_year(said, month, 1, year), Precision.MONTH


def _iso(match: re.Match[str], said: SpokenAt) -> _Moment:
    year, month, day = (int(part) for part in match["iso"].split("-"))
    return midnight(said.at).replace(year=year, month=month, day=day), Precision.DAY


def _year(match: re.Match[str], said: SpokenAt) -> _Moment:
    return midnight(said.at).replace(year=int(match["year"]), month=1, day=1), Precision.YEAR


def _day_of_month(match: re.Match[str], said: SpokenAt) -> _Moment:
    months = [add_months(midnight(said.at), n) for n in (-1, 0, 1)]
    return nearest([each.replace(day=int(match["dom"])) for each in months], said), Precision.DAY


def _month_number(name: str) -> int:
    return [each[:3] for each in MONTHS].index(name[:3]) + 1


_DAYS = {
    **dict.fromkeys(("today", "tonight", "this morning", "this afternoon", "this evening"), 0),
    **{"yesterday": -1, "last night": -1, "the day before yesterday": -2},
    **{"tomorrow": 1, "the day after tomorrow": 2},
}

_COUNT = rf"\d{{1,4}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}"
_UNIT = rf"(?:{'|'.join(_UNITS)})"
_MONTH_NAME = rf"(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)}|mon|tues?|wed|thurs?|fri)"
_YEAR = r"(?:19|20|21)\d\d"
_BEFORE = r"(?:(?:on|in|at|by|around|from|early|late|during|back in|the|of|for|,)\s+){0,3}"

#: Every way to name a date: what it looks like, and what it means.  The first that fits at a place is taken.
_FORMS: tuple[tuple[str, str, Callable[[re.Match[str], SpokenAt], _Moment]], ...] = (
    ("f_iso", rf"(?P<iso>{_YEAR}-\d\d-\d\d)(?:t[\d:.]+z?)?", _iso),
    (
        "f_md",
        rf"(?P<md_month>{_MONTH_NAME})\s+(?:the\s+)?(?P<md_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)"
        rf"(?:,?\s+(?P<md_year>{_YEAR}))?"
        rf"|(?P<dm_day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<dm_month>{_MONTH_NAME})"
        rf"(?:,?\s+(?P<dm_year>{_YEAR}))?",
        _month_and_day,
    ),
    ("f_day", rf"(?P<day_word>{'|'.join(sorted(_DAYS, key=len, reverse=True))})", _named_day),
    (
        "f_distance",
        rf"(?P<ago_count>{_COUNT})\s+(?P<ago_unit>{_UNIT})s?\s+(?:ago|back|earlier)"
        rf"|in\s+(?:about\s+)?(?P<in_count>{_COUNT})\s+(?P<in_unit>{_UNIT})s?(?:'\s*time)?"
        rf"|(?P<from_count>{_COUNT})\s+(?P<from_unit>{_UNIT})s?\s+from\s+(?:now|today)",
        _distance,
    ),
    ("f_period", rf"(?P<period_which>last|past|this|next)\s+(?P<period>{_UNIT}|weekend)", _period),
    (
        "f_season",
        rf"(?:(?P<season_which>last|past|this|next)\s+|in\s+(?:the\s+)?(?:early\s+|late\s+)?)"
        rf"(?P<season>{'|'.join(_SEASONS)})(?:\s+(?:of\s+)?(?P<season_year>{_YEAR}))?",
        _season,
    ),
    (
        "f_weekday",
        rf"(?:(?P<weekday_which>this\s+past|this\s+coming|last|past|this|next)|on)\s+(?P<weekday>{_WEEKDAY})",
        _weekday,
    ),
    (
        "f_month",
        rf"(?:(?P<month_which>last|past|this|next)\s+(?P<month>{_MONTH_NAME})"
        rf"(?:,?\s+(?:of\s+)?(?P<month_year>{_YEAR}))?)",
        _month,
    ),
    (
        "f_in_month",
        rf"(?:in|by|since|early|late|mid|during|of)[\s-]+(?:early\s+|late\s+|mid-?)?"
        rf"(?P<in_month>{_MONTH_NAME})(?!\s+\d{{1,2}}\b)(?:,?\s+(?:of\s+)?(?P<in_month_year>{_YEAR}))?"
        rf"|(?P<bare_month>{_MONTH_NAME})\s+(?P<bare_year>{_YEAR})",
        lambda match, said: (
            of_year(
                said,
                _month_number(match["in_month"] or match["bare_month"]),
                1,
                match["in_month_year"] or match["bare_year"],
            ),
            Precision.MONTH,
        ),
    ),
    ("f_dom", r"on\s+the\s+(?P<dom>\d{1,2})(?:st|nd|rd|th)", _day_of_month),
    ("f_year", rf"(?:in|back\s+in|since|by)\s+(?P<year>{_YEAR})(?![-/\d])", _year),
)
_RESOLVE = {name: resolve for name, _, resolve in _FORMS}
_DATE = re.compile(
    rf"(?<![\w/.-]){_BEFORE}(?:{'|'.join(f'(?P<{name}>{form})' for name, form, _ in _FORMS)})"
    r"(?![\w/]|-\d)(?:\s+(?:morning|afternoon|evening|night)\b)?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r",?\s+(?:at|from|around|@)\s+(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?)?(?![\w:])",
    re.IGNORECASE,
)
_RELATION = re.compile(r"(?:by|around|since)\b", re.IGNORECASE)
#: "Every last Friday", "since last year": no moment at which something happened.
_NOT_A_MOMENT = re.compile(r"\b(?:every|each|since|until|till|most)\s+$", re.IGNORECASE)


def find_dates(text: str, said_at: datetime, *, ahead: bool | None = None) -> list[FoundDate]:
    """Return the dates that ``text`` names, in order, in the time zone of ``said_at``.

    ``ahead`` says whether the text looks ahead ("I will", the coming Friday) or back; ``None`` takes the
    nearest.  Total: what names no day between 1900 and 2150 is left out.
    """
    said = SpokenAt(said_at, ahead)
    return [
        found
        for match in _DATE.finditer(text)
        if not _NOT_A_MOMENT.search(text, max(0, match.start() - 12), match.start())
        and (found := _resolve(text, match, said)) is not None
    ]


def _resolve(text: str, match: re.Match[str], said: SpokenAt) -> FoundDate | None:
    name = next(name for name in _RESOLVE if match[name] is not None)
    try:
        moment = _RESOLVE[name](_Lowered(match), said)  # type: ignore[arg-type]  # all that is read of it
    except (ValueError, OverflowError):  # 31 February, a year beyond the calendar
        return None
    if moment is None or not EARLIEST_YEAR <= moment[0].year <= LATEST_YEAR:
        return None
    at, precision = moment
    end = match.end()
    if precision is Precision.DAY and (time := _TIME.match(text, end)) is not None:
        hour = _hour(time)
        if hour < 24:
            at, precision, end = (
                at.replace(hour=hour, minute=int(time["minute"] or 0)),
                Precision.MINUTE,
                time.end(),
            )
    relation = _RELATION.match(match[0])
    return FoundDate(at, precision, match.start(), end, relation[0].lower() if relation else "")


def _hour(time: re.Match[str]) -> int:
    hour, half = int(time["hour"]), (time["half"] or "").lower()
    if half:
        return hour % 12 + (12 if half.startswith("p") else 0) if hour <= 12 else hour
    return hour + 12 if 1 <= hour <= 6 and not time["minute"] else hour  # "at 5" is in the afternoon


class _Lowered:
    """A match whose groups are read in lower case with single spaces."""

    def __init__(self, match: re.Match[str]) -> None:
        self._match = match

    def __getitem__(self, group: str) -> str | None:
        said = self._match[group]
        return None if said is None else " ".join(said.lower().split())
