"""Numbers and calendar dates in a text, written in digits or, in English, in words."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, timedelta

_DIGITS = re.compile(r"(?<![\w.])\d+(?:[.,'’ \u202f]\d{3})+(?!\d)|\d+(?:[.,]\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’ \u202f]\d{3})+")


def _counted(text: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * at for at, word in enumerate(text.split())}


_SMALL = _counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    0,
)
_TENS = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_ORDINALS = _counted(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth",
    1,
)
_TENTHS = {"twentieth": 20, "thirtieth": 30}
_ONCE = {"once": 1, "twice": 2, "half": 2, "dozen": 12, "couple": 2, "double": 2}
_VALUES = {**_SMALL, **_TENS, **_ORDINALS, **_TENTHS, **_ONCE}
_SCALES = {"hundred": 100, "thousand": 1_000, "grand": 1_000, "million": 1_000_000, "k": 1_000}
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
#: Years of a long life.
_LONGEST_AGO = 120

#: So many words of a number are put together, in every way that people read them out.
_LONGEST = 5

#: What names of months begin with, in eight languages.
_NUMBERS_OF_MONTHS = {
    **dict.fromkeys(("jan", "ene", "gen"), 1),
    **dict.fromkeys(("feb", "fév", "fev"), 2),
    **dict.fromkeys(("mar", "mär", "mrz", "maa"), 3),
    **dict.fromkeys(("apr", "avr", "abr"), 4),
    **dict.fromkeys(("may", "mai", "mag", "mei", "maj", "máj"), 5),
    **dict.fromkeys(("jun", "jui", "giu"), 6),
    **dict.fromkeys(("jul", "lug"), 7),
    **dict.fromkeys(("aug", "aoû", "ago"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "ott", "out"), 10),
    "nov": 11,
    **dict.fromkeys(("dec", "dez", "déc", "dic"), 12),
}
#: A day beside a month, or an ISO date.
_DAY = re.compile(
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.|º)?\s+(?:of\s+|de\s+|d’|d')?(?P<month>(?:{'|'.join(_NUMBERS_OF_MONTHS)})\w*)"
    rf"|(?P<month2>(?:{'|'.join(_NUMBERS_OF_MONTHS)})\w*)\.?\s+(?:the\s+)?(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)"
    r"|(?P<iso>(?:19|20|21)\d\d-\d\d-\d\d)",
    re.IGNORECASE,
)


def numbers_in(text: str) -> set[str]:
    """Return the numbers written in digits, without separators of thousands: "38,000" is "38000"."""
    found = set()
    for match in _DIGITS.finditer(text):
        written = match[0]
        if _GROUPED.fullmatch(written):
            written = re.sub(r"\D", "", written)
        found.add(_plain(written.replace(",", ".")))
    return found


def read_out(text: str) -> set[str]:
    """Return the numbers that English words may stand for, in every way that people read numbers out.

    "thirty eight thousand" is 38000, "six twelve" 612, "twenty nineteen" 2019, "the ninth" 9.
    """
    found: set[str] = set()
    run: list[str] = []
    for word in [*(match[0].casefold() for match in _WORD.finditer(text)), ""]:
        if word in _VALUES or word in _SCALES:
            run.append(word)
            continue
        if word == "and" and run:
            continue
        for start in range(len(run)):
            for end in range(start + 1, min(len(run), start + _LONGEST) + 1):
                found |= _readings(run[start:end])
        run = []
    return found


def years_meant(numbers: Collection[str], said: date) -> set[str]:
    """Return the years that numbers may mean: "five years ago", "in '88"; and those around ``said``."""
    found = {str(said.year + more) for more in (-1, 0, 1)}
    for number in numbers:
        if number.isdigit() and int(number) <= _LONGEST_AGO:
            found |= {str(said.year - int(number)), str(said.year + int(number))}
            found |= {f"{century}{number:0>2}" for century in (19, 20) if len(number) <= 2}
    return found


def _readings(words: list[str]) -> set[str]:
    """Return the readings of number words as one number: added up, or pair by pair."""
    total = part = 0
    for word in words:
        if word in _SCALES:
            scale = _SCALES[word]
            part = max(1, part) * scale
            if scale > 100:
                total, part = total + part, 0
        else:
            part += _VALUES[word]
    read = {str(total + part)}
    if not any(word in _SCALES for word in words):
        pairs = "".join(str(_VALUES[word]) for word in words)
        read.add(pairs)
        groups, at = list[int](), 0
        while at < len(words):
            both = at + 1 < len(words) and words[at] in _TENS and 0 < _VALUES[words[at + 1]] < 10
            groups.append(_VALUES[words[at]] + (_VALUES[words[at + 1]] if both else 0))
            at += 2 if both else 1
        read.add("".join(map(str, groups)))
    return read


def _plain(number: str) -> str:
    whole, point, rest = number.partition(".")
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if point and rest else "")


def without_days(text: str, said: date, within: timedelta) -> str:
    """Return a text without the days of the calendar that lie within a time of ``said``.

    They may be what a relative date means; a day further away has to stand in the text itself.
    """

    def gone(match: re.Match[str]) -> str:
        return " " if _is_near(match, said, within) else match[0]

    return _DAY.sub(gone, text)


def _is_near(match: re.Match[str], said: date, within: timedelta) -> bool:
    if match["iso"]:
        try:
            return abs(date.fromisoformat(match["iso"]) - said) <= within
        except ValueError:
            return False
    month = _NUMBERS_OF_MONTHS.get((match["month"] or match["month2"])[:3].casefold())
    day = int(match["day"] or match["day2"])
    for year in (said.year - 1, said.year, said.year + 1):
        try:
            if month is not None and abs(date(year, month, day) - said) <= within:
                return True
        except ValueError:
            continue
    return False
