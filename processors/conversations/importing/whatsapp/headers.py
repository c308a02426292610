"""How a WhatsApp message begins: its date and time, as the phone's language writes them.

Two forms: ``[05.01.26, 07:12:33] Ada: text`` (iPhone) and ``05/01/2026, 07:12 - Ada: text`` (Android).  A
locale changes the digits, the separators, the word between date and time, and the words for the two halves of a
day, which stand before the time or behind it.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import NamedTuple

#: A header is shorter (characters).
_HEADER_MOST = 80

#: Direction marks, which stand between the parts of a header in right-to-left locales.
_MARKS = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff"
_MARK = re.compile(f"[{_MARKS}]")

#: Words of a header: "klo", "à", "PM", "μ.μ.", "下午", "오후", "หลังเที่ยง".
_WORD = r"[^\d\[\]\n:,،、/–—-]{0,24}?"
_DATE = (
    r"(?P<one>\d{1,4})\s?[./\-–年년]\s?(?P<two>\d{1,2})\s?[./\-–月월]\s?(?P<three>\d{1,4})[.日일]?"
    rf"(?:{_WORD}[,،、])?"
)
_TIME = r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
_DATE_FIRST = rf"{_DATE}\s?(?P<before>{_WORD})\s*{_TIME}(?P<after>{_WORD})"
_TIME_FIRST = rf"{_TIME}(?P<after>{_WORD})[,،]?\s{_DATE}"
_BEGINS = tuple(
    re.compile(begin)
    for moment in (_DATE_FIRST, _TIME_FIRST)
    for begin in (rf"\[{moment}\s?\]\s?", rf"{moment}\s+[-–]\s")
)

_BEFORE_NOON = """
    am a ص صباحا ق.ظ قبلازظهر πμ öö de dop ap fm fd vm 上午 早上 清晨 凌晨 午前 오전 ก่อนเที่ยง ช่วงเช้า sa pg
    дп до.обяд прн преобяд կա πμ paradite eparadites mdop prijepodne dopoldne priekšp priekšpusdienā
    priešpiet eh asubuhi पूर्वाह्न सुबह म.पू मपू முற்பகல் காலை పూర్వాహ్నం ಪೂರ್ವಾಹ್ನ পূর্বাহ্ণ સવારે
    රාපෙව පෙව ព្រឹក ກ່ອນທ່ຽງ நண்பகலுக்குமுன் ጥዋት לפנה״צ לפנה"צ hommikul ujutro
"""
_AFTER_NOON = """
    pm p م مساء ب.ظ بعدازظهر μμ ös du odp ip em eftm nm 下午 晚上 中午 午后 午後 傍晚 오후 หลังเที่ยง ช่วงบ่าย ch
    ptg пп по.обед слоб сл.об следобяд կհ pasdite epasdites popoldne poslijepodne pēcp pēcpusdienā
    popiet pl jioni mchana alasiri अपराह्न शाम दोपहर म.उ मउ பிற்பகல் மாலை అపరాహ్నం ಅಪರಾಹ್ನ অপরাহ্ণ
    સાંજે પપ පව ល្ងាច ຫຼັງທ່ຽງ ከሰዓት אחה״צ אחה"צ õhtul
"""


def _word_of(text: str) -> str:
    """Return a word of a header without spaces, stops and marks."""
    return re.sub(rf"[\s.{_MARKS}]", "", text).casefold()


_BEFORE = frozenset(map(_word_of, _BEFORE_NOON.split()))
_AFTER = frozenset(map(_word_of, _AFTER_NOON.split()))

#: Thai phones write years of the Buddhist era, 543 more; with two digits no other year of WhatsApp is so high.
_BUDDHIST_FROM, _BUDDHIST, _BUDDHIST_SHORT_FROM = 2400, 543, 52


class DateOrder(StrEnum):
    """How a date is written."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"
    YEAR_FIRST = "ymd"


class Header(NamedTuple):
    """The beginning of a message: the numbers of its date as written, its time, and where the rest begins."""

    numbers: tuple[int, int, int]
    hour: int
    minute: int
    second: int
    end: int

    def date(self, order: DateOrder) -> tuple[int, int, int]:
        """Return year, month and day."""
        one, two, three = self.numbers
        if order == DateOrder.YEAR_FIRST:
            return _year(one), two, three
        return (_year(three), two, one) if order == DateOrder.DAY_FIRST else (_year(three), one, two)

    def time(self, order: DateOrder, zone: tzinfo) -> datetime | None:
        """Return the moment; ``None`` for one that no calendar has."""
        try:
            return datetime(*self.date(order), self.hour, self.minute, self.second, tzinfo=zone)
        except ValueError:
            return None


def read_header(line: str) -> Header | None:
    """Return how a message begins on this line; ``None`` if none does."""
    start = 0
    while start < len(line) and _MARK.match(line[start]):
        start += 1
    if start == len(line) or not (line[start] == "[" or line[start].isdecimal()):
        return None
    plain, places = _plain(line[start : start + _HEADER_MOST])
    match = next(filter(None, (begin.match(plain) for begin in _BEGINS)), None)
    if match is None:
        return None
    found = match.groupdict("")
    hour = _hour(int(found["hour"]), found.get("before", ""), found["after"])
    numbers = (int(found["one"]), int(found["two"]), int(found["three"]))
    end = start + (places[match.end()] if match.end() < len(places) else len(line) - start)
    return Header(numbers, hour, int(found["minute"]), int(found["second"] or 0), end)


def _plain(text: str) -> tuple[str, list[int]]:
    """Return a text without direction marks and with ASCII digits, and where each character of it stood."""
    places = [at for at, each in enumerate(text) if not _MARK.match(each)]
    plain = "".join(str(unicodedata.decimal(text[at])) if text[at].isdecimal() else text[at] for at in places)
    return plain, places


def _hour(hour: int, *words: str) -> int:
    halves = {_word_of(word) for word in words}
    if hour > 12 or not halves & (_BEFORE | _AFTER):
        return hour
    return hour % 12 + (12 if halves & _AFTER else 0)


def _year(year: int) -> int:
    if year >= _BUDDHIST_FROM:
        return year - _BUDDHIST
    if year >= 100:
        return year
    return year + 2500 - _BUDDHIST if year >= _BUDDHIST_SHORT_FROM else year + 2000
