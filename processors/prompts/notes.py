"""Reading the notes of an answer: only what the person of a message says, and the checks bear out."""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from models.policies import CATEGORY
from models.statements import (
    SELF,
    Assertion,
    Change,
    Kind,
    Polarity,
    Precision,
    Statement,
    attribute_of,
)
from models.windows import Window
from processors.facts.claims import normalized_attribute
from processors.prompts.checks import Note, asked_before, objection, source_of
from processors.prompts.prompt import items

#: A note is a sentence, in characters.
_LONGEST = 600

#: How sure a statement is; below :data:`processors.facts.confidence.PASSIVE_FROM` it ends nothing said surely.
_SURE = {"high": 0.9, "low": 0.45}

#: Names of the assistant, in any attribute but feedback about it.
_ASSISTANT = frozenset({"assistant", "the assistant", "ai", "the ai", "bot", "chatbot", "model", "you"})
_OF_THE_ASSISTANT = re.compile(r"\s*(?:the|an)\s+(?:assistant|ai|chatbot|model)\b", re.IGNORECASE)

#: Attributes as the prompt names them, where facts have another name for it.
_NAMED = {"partner": "relationship", "other": ""}

_POSSESSIVE = re.compile(r"^(?:the\s+)?user['’]s\s+|^(?:my|our|the|their|his|her)\s+", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST)]


class _RawNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note as :func:`processors.prompts.extraction.parts` leaves it."""

    n: int
    quote: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    note: _Text
    attribute: _Text
    change: Change = Change.NEW
    about: Annotated[str, msgspec.Meta(max_length=256)] = SELF
    value: Annotated[str, msgspec.Meta(max_length=256)] = ""
    denied: bool = False
    date: str = ""
    importance: Annotated[int, msgspec.Meta(ge=1, le=3)] = 2
    sure: Literal["high", "low"] = "high"
    known: str = ""
    seen: tuple[str, ...] = ()


class Reading(NamedTuple):
    """Notes of an answer about a window, and the slugs of those left out."""

    statements: tuple[Statement, ...] = ()
    dropped: tuple[str, ...] = ()


def read(part: str, window: Window, categories: Collection[str] = ()) -> Reading:
    """Return the statements of a part of an answer, in its order.  ``categories``: the tenant's own.

    What is left out: ``malformed``; ``unknown_source`` (no such message, or not of a person); ``not_their_words``
    (the quote does not stand in it); ``about_assistant``; ``repeated``; and what the checks object to.
    """
    statements: list[Statement] = []
    dropped: list[str] = []
    for each in decoded(part, "notes"):
        found = _statements(each, window, categories)
        if isinstance(found, str):
            dropped.append(found)
        elif found[0] in statements:
            dropped.append("repeated")
        else:
            statements += found
    return Reading(tuple(statements), tuple(dropped))


def decoded(part: str, name: str) -> Iterable[Any]:
    """Return one of the lists of a part of an answer."""
    content = json.loads(part) if part else {}
    return items(content.get(name)) if isinstance(content, dict) else ()


def _statements(given: Any, window: Window, categories: Collection[str]) -> list[Statement] | str:
    try:
        said = msgspec.convert(given, _RawNote)
    except msgspec.ValidationError:
        return "malformed"
    message = source_of(said.n, said.quote, window)
    if isinstance(message, str):
        return message
    about = _about(said.about)
    if about.casefold() in _ASSISTANT or (said.attribute != "feedback" and _OF_THE_ASSISTANT.match(said.note)):
        return "about_assistant"
    is_end = said.change is Change.ENDS
    attribute, value = _slot(said, categories)
    ends_known = is_end and bool(said.known)
    note = Note(said.quote, said.note, value, "" if about == SELF else about, said.seen, ends_known)
    if wrong := objection(note, said.n - 1, window):
        return wrong
    known_kind = attribute_of(attribute) if attribute else None
    if attribute and known_kind is None:
        return "malformed"
    kind = Kind.STATE if known_kind is None else known_kind.kind
    asked = asked_before(said.quote, said.n - 1, window)
    at, precision = _date(said.date, message.sent_at)
    is_event = kind is Kind.EVENT
    since = at if not is_event and at is not None and at <= message.sent_at else None
    statement = Statement(
        user_id=message.user_id,
        kind=kind,
        statement=said.note.strip(),
        confidence=_SURE[said.sure],
        source_message_ids=tuple(each.message_id for each in (*reversed(asked), message)),
        quote=said.quote,
        subject=about,
        attribute=attribute,
        value=value,
        polarity=Polarity.NEGATED if said.denied else Polarity.AFFIRMED,
        event_at=at if is_event else None,
        event_precision=precision if is_event else None,
        since=since,
        since_precision=None if since is None else precision,
        importance=said.importance,
        change=said.change if said.known else Change.NEW,
        known=said.known if said.change is not Change.NEW else "",
    )
    if not is_end:
        return [statement]
    return _end(statement)


def _end(said: Statement) -> list[Statement]:
    """An end is knowledge that holds: it is kept as it is told, and ends what it names.

    Without a known note the slot says what ends: "I don't work at Acme any more".
    """
    told = msgspec.structs.replace(
        said, attribute="", value="", polarity=Polarity.AFFIRMED, since=None, since_precision=None, event_at=None,
        event_precision=None,
    )  # fmt: skip
    if said.known or not said.value or said.kind is Kind.EVENT:
        return [told]
    return [told, msgspec.structs.replace(said, assertion=Assertion.ENDED, polarity=Polarity.AFFIRMED, since=None,
                                          since_precision=None)]  # fmt: skip


def _about(about: str) -> str:
    """Return the subject of a note: "the user's mum" and "my mum" are the mum."""
    name = _POSSESSIVE.sub("", about.strip(), count=1).strip()
    return name if name and name.casefold() not in ("user", "the user", "self", "me", "i") else SELF


def _slot(said: _RawNote, categories: Collection[str]) -> tuple[str, str]:
    """Return attribute and value as facts have them; without a value there is no slot to fill."""
    if said.attribute in categories:
        value = said.value.strip()
        return (f"{CATEGORY}/{said.attribute}", value) if value else ("", "")
    attribute, value = normalized_attribute(said.attribute), said.value.strip()
    attribute = _NAMED.get(attribute, attribute)
    if attribute == "favourite":
        what, colon, value = value.partition(":")
        attribute, value = (f"favourite/{what.strip()}", value.strip()) if colon else ("like", what.strip())
    return (attribute, value) if attribute and value else ("", "")


def _date(text: str, said_at: datetime) -> tuple[datetime | None, Precision | None]:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None, None
    year, month, day = (int(each) if each else None for each in match.groups())
    if not year or (month is not None and not 1 <= month <= 12):
        return None, None
    if day is not None and month is not None and not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None, None
    at = datetime(year, month or 1, day or 1, tzinfo=UTC)
    if day is not None:
        return at, Precision.DAY
    return at, Precision.MONTH if month is not None else Precision.YEAR
