"""A WhatsApp chat as drafts: first a survey of the whole file, then its messages.

Whether 03/04 is in March or in April, and who is a person, is found out from the whole file before it is read.
Times have no zone: whoever reads says which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import NamedTuple

from models.errors import InvalidRecord
from models.ids import deterministic_id
from models.messages import Role
from processors.conversations.importing.drafts import Draft, Skipped
from processors.conversations.importing.lines import lines
from processors.conversations.importing.whatsapp.headers import DateOrder, Header, read_header
from processors.conversations.importing.whatsapp.notices import candidate, speakers, spoken

_MORE = 1 << 16  # characters of one message

#: Names that a survey counts; a chat has fewer people.
_NAMES_MOST = 20_000


class _Entry(NamedTuple):
    line: int
    header: Header
    rest: str


class Survey(NamedTuple):
    """Survey of the whole file: how its dates can be read, and how often each name stands for a speaker."""

    orders: tuple[DateOrder, ...]
    names: Mapping[str, int]

    def order(self) -> DateOrder:
        """Return how the file writes dates.

        Raises:
            InvalidRecord: ``no_chat`` if no line begins a message; ``ambiguous_dates`` if both are possible.
        """
        if not self.orders:
            raise InvalidRecord(
                "no_chat",
                "no line begins like '[05.01.26, 07:12:33] Ada: ...' or '05/01/2026, 07:12 - Ada: ...': "
                "is it a chat that WhatsApp exported?",
            )
        if len(self.orders) > 1:
            raise InvalidRecord(
                "ambiguous_dates",
                "its dates can be read with the day or with the month first: say --dates dmy or --dates mdy",
            )
        return self.orders[0]

    def people(self, given: Collection[str]) -> frozenset[str]:
        """Return the names of people: those ``given``, and all others that are no part of a notice."""
        return speakers(self.names, given)


def survey(pieces: Iterable[bytes]) -> Survey:
    """Pass over the file.  A number above 12 tells how dates are written, or else that time never runs back."""
    possible = {DateOrder.DAY_FIRST: True, DateOrder.MONTH_FIRST: True}
    backwards = dict.fromkeys(possible, 0)
    before: dict[DateOrder, tuple[int, ...]] = {}
    names: Counter[str] = Counter()
    any_entry = differs = year_first = False
    for entry in _entries(pieces):
        if isinstance(entry, Skipped):
            continue
        any_entry = True
        name = candidate(entry.rest)
        if name and (name in names or len(names) < _NAMES_MOST):
            names[name] += 1
        first, second, _ = entry.header.numbers
        year_first |= first > 31
        possible[DateOrder.DAY_FIRST] &= second <= 12
        possible[DateOrder.MONTH_FIRST] &= first <= 12
        differs |= first != second
        for order in possible:
            date = entry.header.date(order)
            backwards[order] += date < before.get(order, date)
            before[order] = date
    if year_first or not any_entry:
        return Survey((DateOrder.YEAR_FIRST,) if any_entry else (), names)
    left = [order for order, is_possible in possible.items() if is_possible] or list(possible)
    left = [order for order in left if backwards[order] == min(backwards[each] for each in left)]
    return Survey(tuple(left if differs else left[:1]), names)


def read(
    pieces: Iterable[bytes],
    people: Mapping[str, str],
    *,
    speaking: Collection[str],
    order: DateOrder,
    zone: tzinfo,
    conversation: str = "",
) -> Iterator[Draft | Skipped]:
    """Yield what the file holds.

    ``speaking``: who is a person (:meth:`Survey.people`).  ``people`` maps their names to ids; who is not in it
    keeps the name as id, who has the id ``""`` is left out.

    A message's id is made of its time and its text alone, so that it is the same in a later or a cut export,
    and in one from a phone that calls a person something else.  Without a name for the ``conversation`` it has
    none: :mod:`streams.admin.importing.chats` finds the one that these messages continue.
    """
    said: Counter[tuple[str, str]] = Counter()
    day: tuple[int, ...] = ()
    for entry in _entries(pieces):
        if isinstance(entry, Skipped):
            yield entry
            continue
        where = f"line {entry.line}"
        sent_at = entry.header.time(order, zone)
        if sent_at is None:
            yield Skipped(where, "invalid_time", f"no such time in dates written {order.value}", broken=True)
            continue
        found = spoken(entry.rest, speaking)
        if found.reason:
            yield Skipped(where, found.reason, found.why)
            continue
        if entry.header.numbers != day:
            said, day = Counter(), entry.header.numbers
        said[sent_at.isoformat(), found.text] += 1
        nth = said[sent_at.isoformat(), found.text]
        user_id = people.get(found.speaker, found.speaker)
        if not user_id:
            yield Skipped(where, "left_out", f"{found.speaker} is left out")
            continue
        name = deterministic_id("whatsapp", sent_at.isoformat(), found.text, nth)
        yield Draft(
            where, conversation, name, Role.USER, found.text, sent_at, user_id=user_id, speaker=found.speaker
        )


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
        header = read_header(text)
        if header is not None:
            if current is not None:
                yield current
            current = _Entry(number, header, text[header.end :])
        elif current is None:
            if text.strip():
                yield Skipped(f"line {number}", "no_beginning", "it belongs to no message", broken=True)
        elif len(current.rest) <= _MORE:
            current = current._replace(rest=f"{current.rest}\n{text}")
    if current is not None:
        yield current._replace(rest=current.rest.rstrip())
