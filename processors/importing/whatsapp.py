"""WhatsApp's "export chat": a text file, one message per line and the rest of a long one on the next.

Two forms: ``[05.01.26, 07:12:33] Ada: text`` (iPhone) and ``05/01/2026, 07:12 - Ada: text`` (Android), each
with
the date as the phone's language writes it.  Whether 03/04 is in March or in April is found out from the whole
file (:func:`date_order`) before it is read.  Times have no zone: whoever reads says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import NamedTuple

from models.errors import InvalidRecord
from models.ids import deterministic_id
from models.messages import Role
from processors.importing.drafts import Draft, Skipped, one_line
from processors.importing.lines import lines

_DATE = r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})"
_TIME = r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:[\s\u202f\u00a0]*([AaPp])\.?[\s\u00a0]?[Mm]\.?)?"
_BEGIN = re.compile(
    rf"^[\u200e\u200f\ufeff]*(?:\[{_DATE},?\s+{_TIME}\]\s?|{_DATE},?\s+{_TIME}\s+[-\u2013]\s)(.*)$", re.DOTALL
)
#: iPhones put this mark before what no person has typed.
_MARK = "\u200e"
_EDITED = re.compile(r"\s*\u200e?<This message was edited>$")
_DELETED = ("This message was deleted", "You deleted this message", "null")
_OMITTED = re.compile(
    r"^<?(?:Media|Medien|Multimedia|Médias?)[^<>\n]{0,20}>?$|\((?:file attached|Datei angehängt)\)$"
)
_MORE = 1 << 16  # characters of one message


class DateOrder(StrEnum):
    """How a date is written."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"
    YEAR_FIRST = "ymd"


class _Entry(NamedTuple):
    line: int
    numbers: tuple[int, int, int]
    hour: int
    minute: int
    second: int
    rest: str


def date_order(pieces: Iterable[bytes]) -> DateOrder:
    """Return how the file writes dates: a number above 12 tells, or else that time does not run backwards.

    Raises:
        InvalidRecord: ``no_chat`` if no line begins a message; ``ambiguous_dates`` if it can be read both ways.
    """
    possible = {DateOrder.DAY_FIRST: True, DateOrder.MONTH_FIRST: True}
    backwards = dict.fromkeys(possible, 0)
    before: dict[DateOrder, tuple[int, ...]] = {}
    any_entry = differs = False
    for entry in _entries(pieces):
        if not isinstance(entry, _Entry):
            continue
        any_entry = True
        first, second, _ = entry.numbers
        if first > 31:
            return DateOrder.YEAR_FIRST
        possible[DateOrder.DAY_FIRST] &= second <= 12
        possible[DateOrder.MONTH_FIRST] &= first <= 12
        differs |= first != second
        for order in possible:
            date = _date(entry.numbers, order)
            backwards[order] += date < before.get(order, date)
            before[order] = date
    if not any_entry:
        raise InvalidRecord(
            "no_chat",
            "no line begins like '[05.01.26, 07:12:33] Ada: ...' or '05/01/2026, 07:12 - Ada: ...': "
            "is it a chat that WhatsApp exported?",
        )
    left = [order for order, is_possible in possible.items() if is_possible] or list(possible)
    left = [order for order in left if backwards[order] == min(backwards[each] for each in left)]
    if len(left) > 1 and differs:
        raise InvalidRecord(
            "ambiguous_dates",
            "its dates can be read with the day or with the month first: say --dates dmy or --dates mdy",
        )
    return left[0]


def read(
    pieces: Iterable[bytes],
    people: Mapping[str, str],
    *,
    order: DateOrder,
    zone: tzinfo,
    conversation: str = "",
) -> Iterator[Draft | Skipped]:
    """Yield what the file holds.

    ``people`` maps names in the file to ids; who is not in it keeps the name as id, who has the id ``""`` is
    left out.  Without a name for the ``conversation`` its first entry names it.
    """
    said: dict[tuple[str, str], int] = {}
    day: tuple[int, ...] = ()
    for entry in _entries(pieces):
        if isinstance(entry, Skipped):
            yield entry
            continue
        where = f"line {entry.line}"
        sent_at = _time(entry, order, zone)
        if sent_at is None:
            yield Skipped(where, "invalid_time", f"no such time in dates written {order.value}", broken=True)
            continue
        conversation = conversation or deterministic_id("whatsapp", sent_at.isoformat(), entry.rest)
        speaker, separator, text = entry.rest.partition(": ")
        speaker = one_line(speaker.strip("\u200e\u200f\u202a\u202c\u2068\u2069~\u202f "))
        reason = _why_not(text, bool(separator and speaker))
        if reason is not None:
            yield Skipped(where, *reason)
            continue
        user_id = people.get(speaker, speaker)
        if not user_id:
            yield Skipped(where, "left_out", f"{speaker} is left out")
            continue
        text = _EDITED.sub("", text)
        if entry.numbers != day:
            said, day = {}, entry.numbers
        nth = said[sent_at.isoformat() + speaker, text] = said.get((sent_at.isoformat() + speaker, text), 0) + 1
        name = deterministic_id("whatsapp", sent_at.isoformat(), speaker, text, nth)
        yield Draft(where, conversation, name, Role.USER, text, sent_at, user_id=user_id, speaker=speaker)


def _why_not(text: str, said: bool) -> tuple[str, str] | None:
    if not said:
        return "notice", "WhatsApp says it, not a person"
    bare = text.strip(_MARK + " \n.")
    if bare in _DELETED:
        return "deleted", "it was deleted"
    if not bare or text.startswith(_MARK) or _OMITTED.search(bare):
        return "no_text", "it holds no text (a picture, a call, a file)"
    return None


def _entries(pieces: Iterable[bytes]) -> Iterator[_Entry | Skipped]:
    """Yield each message with the lines that belong to it."""
    current: _Entry | None = None
    for number, data in lines(pieces):
        if data is None:
            yield Skipped(f"line {number}", "line_too_long", "the line is longer than 4 MiB", broken=True)
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            message = f"the line is not UTF-8: byte {error.start + 1} cannot be read"
            yield Skipped(f"line {number}", "invalid_utf8", message, broken=True)
            continue
        match = _BEGIN.match(text)
        if match is not None:
            if current is not None:
                yield current
            current = _entry(number, match)
        elif current is None:
            if text.strip():
                yield Skipped(f"line {number}", "no_beginning", "it belongs to no message", broken=True)
        elif len(current.rest) <= _MORE:
            current = current._replace(rest=f"{current.rest}\n{text}")
    if current is not None:
        yield current._replace(rest=current.rest.rstrip())


def _entry(number: int, match: re.Match[str]) -> _Entry:
    one, two, three, hour, minute, second, half = match.groups()[:7] if match[1] else match.groups()[7:14]
    hours = int(hour)
    if half:
        hours = hours % 12 + (12 if half in "pP" else 0)
    return _Entry(number, (int(one), int(two), int(three)), hours, int(minute), int(second or 0), match[15])


def _date(numbers: tuple[int, int, int], order: DateOrder) -> tuple[int, int, int]:
    """Return year, month and day."""
    one, two, three = numbers
    if order == DateOrder.YEAR_FIRST:
        return one, two, three
    year = three + 2000 if three < 100 else three
    return (year, two, one) if order == DateOrder.DAY_FIRST else (year, one, two)


def _time(entry: _Entry, order: DateOrder, zone: tzinfo) -> datetime | None:
    try:
        return datetime(*_date(entry.numbers, order), entry.hour, entry.minute, entry.second, tzinfo=zone)
    except ValueError:
        return None
