"""Statements about the people of a window, asked of a language model (seed 000).

A model is told neither ids of messages nor of people: messages have numbers and people letters, so that it cannot
name what is not in front of it.  Of what it says only that is read of which a line stands in a message of the very
person that it is about: what a tool, an assistant or somebody else wrote is nobody's word.

What is left is checked once more, as that of any extractor (:mod:`processors.facts.candidates`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import msgspec

from models.messages import Role
from models.statements import ATTRIBUTES, SELF, Assertion, Kind, Polarity, Precision, Statement, attribute_of
from models.summaries import SummaryRequest
from models.windows import Window, WindowMessage
from processors.facts.candidates import is_quoted
from processors.facts.claims import normalized_attribute
from processors.prompts.fence import RULE, fenced
from processors.prompts.prompt import Prompt, items, named_times, told

VERSION = "extraction-4"

#: Room for the answer about one window; what is longer is cut off, and read as far as it goes.
MOST_TOKENS = 2048

_SINGLE = ", ".join(name for name, each in ATTRIBUTES.items() if each.single and not each.qualified)
_MANY = ", ".join(name for name, each in ATTRIBUTES.items() if not each.single)

SYSTEM = f"""Task {VERSION}: find what the people of a conversation say about themselves that is worth remembering.

The data holds messages, one JSON record per line: window (if several conversations are shown, each by itself), n (the number of the
message in its window), by (a letter for the person who wrote it) or role (assistant, tool, system: no person wrote it), at (left out
within an hour after the last one that is named), text ("[...]": the middle of what no person wrote is left out).
{RULE}

Answer for each window with its number (1 if none is named) and its statements; a window without any has an empty list. A statement
is what a person says in their own words about themselves or people and things of theirs, and that matters in later conversations:
who they are, where they live and work, family, health, diet, what they like, own, do, plan, what happened to them, how they want
to be answered. Leave out small talk, questions, jokes, what is only considered or asked about, general knowledge, and what only
the assistant or a tool says. Never combine what two people say. Do not repeat a statement.

Fields of a statement:
- person: the letter of who says it.
- subject: who it is about, as they say it ("sister", "Anna"); left out for that person.
- attribute: one value only at a time: {_SINGLE}; several: {_MANY}; favourite/WHAT for a favourite of a kind
  ("favourite/cuisine"); empty if none fits.
- kind: state, preference, event, instruction or profile; left out with an attribute.
- value: what fills the attribute, in their words and as short as possible ("Munich", "peanut"); empty without an attribute.
- polarity: "negated" if they say that it is not so ("I don't like coffee": like, coffee, negated).
- assertion: "holds"; "ended": no longer so; "corrected": never was so.
- statement: one short sentence, mostly in their words, without a subject for the person: "Lives in Munich".
- quote: the words it is taken from, copied exactly from one message of that person.
- sources: the numbers of the messages it rests on, that of the quote among them.
- confidence: 0 to 1.
- event_at: for an event or a plan the date that they name, counted from "at" if it is relative, as YYYY-MM-DD; else left out.
- event_precision: minute, day, week, month, season or year, with event_at.
- completes: the value of a shorter statement of the same person in the window that this one extends; else left out."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A statement as a model writes it.  Whatever could turn its meaning around must be there."""

    person: Annotated[str, msgspec.Meta(min_length=1, max_length=3)]
    attribute: str
    value: str
    polarity: Polarity
    assertion: Assertion
    statement: Annotated[str, msgspec.Meta(min_length=1)]
    quote: Annotated[str, msgspec.Meta(min_length=1)]
    sources: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)]
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    kind: str = ""
    subject: str = SELF
    event_at: str = ""
    event_precision: str = ""
    completes: str = ""


class Reading(NamedTuple):
    """What an answer about a window states, and why statements in it were left out, each by a slug."""

    statements: tuple[Statement, ...] = ()
    dropped: tuple[str, ...] = ()


_KINDS = {each.value: each for each in Kind}
_PRECISIONS = {each.value: each for each in Precision}

#: Of what no person wrote nothing is read but what somebody answers shortly: of a long text so many characters are
#: shown of its beginning, and of its end, where questions stand.
_BEGINNING, _END, _LEFT_OUT = 200, 400, " [...] "

#: Words are alike that begin with as many letters alike: "teach", "teacher".
_ALIKE = 4

#: Words of an answer that says yes or no to what was asked.
_SHORT_ANSWER = 3

_WORD = re.compile(r"\w+")

_TEXT = {"type": "string"}
_STATEMENT = {
    "type": "object",
    "properties": {
        "person": _TEXT,
        "subject": _TEXT,
        "attribute": _TEXT,
        "kind": {"type": "string", "enum": [each.value for each in Kind]},
        "value": _TEXT,
        "polarity": {"type": "string", "enum": [each.value for each in Polarity]},
        "assertion": {"type": "string", "enum": [each.value for each in Assertion]},
        "statement": _TEXT,
        "quote": _TEXT,
        "sources": {"type": "array", "items": {"type": "integer"}},
        "confidence": {"type": "number"},
        "event_at": _TEXT,
        "event_precision": _TEXT,
        "completes": _TEXT,
    },
    "required": [*(field.name for field in msgspec.structs.fields(Said) if field.required)],
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "windows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "window": {"type": "integer"},
                    "statements": {"type": "array", "items": _STATEMENT},
                },
                "required": ["window", "statements"],
            },
        }
    },
    "required": ["windows"],
}


def prompt(windows: Sequence[Window]) -> Prompt:
    """Return what is asked about windows, all of one person."""
    records = (
        {**({"window": number} if len(windows) > 1 else {}), **record}
        for number, window in enumerate(windows, 1)
        for record in records_of(window)
    )
    return Prompt(VERSION, SYSTEM, fenced(records), SCHEMA, MOST_TOKENS * len(windows))


def records_of(window: Window) -> list[dict[str, Any]]:
    """Return what a model is shown of a window: the same for the same messages, wherever they lie in the log."""
    letters, times = people_of(window), named_times(each.sent_at for each in window.messages)
    return [
        {
            "n": number,
            **by_or_role(message, letters),
            **({} if at is None else {"at": at.strftime("%Y-%m-%dT%H:%MZ, %A")}),
            "text": _shown(message),
        }
        for number, (message, at) in enumerate(zip(window.messages, times, strict=True), 1)
    ]


def by_or_role(message: WindowMessage, letters: Mapping[str, str]) -> dict[str, str]:
    """Return who wrote a message: the letter of a person, or the role of what is none."""
    if message.role is Role.USER:
        return {"by": letters[message.user_id]}
    return {"role": message.role.value}


def _shown(message: WindowMessage) -> str:
    text = message.content
    if message.role is Role.USER or len(text) <= _BEGINNING + len(_LEFT_OUT) + _END:
        return text
    return f"{text[:_BEGINNING]}{_LEFT_OUT}{text[-_END:]}"


def people_of(shown: Window | SummaryRequest) -> dict[str, str]:
    """Return the letter that each person of a window, or of what is to be summarized, goes by."""
    people = dict.fromkeys(message.user_id for message in shown.messages)
    return {user_id: _letter(number) for number, user_id in enumerate(people)}


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else _letter(number // 26 - 1) + _letter(number % 26)


def parts(answer: str, count: int) -> list[str]:
    """Cut the answer about ``count`` windows into one answer each, in their order; "" where there is none.

    Of one that was cut off, what stands last is left out: it may say half, and so the opposite.
    """
    said = told(answer)
    content = said.content if said is not None and isinstance(said.content, dict) else {}
    windows = [each for each in items(content.get("windows")) if isinstance(each, dict)]
    if said is not None and said.cut and windows:
        last = windows[-1]
        windows[-1] = {**last, "statements": items(last.get("statements"))[:-1]}
    by_number: dict[int, list[Any]] = {}
    for each in windows:
        if isinstance(number := 1 if count == 1 else each.get("window"), int):
            by_number.setdefault(number, []).extend(items(each.get("statements")))
    return [
        json.dumps(by_number[number], ensure_ascii=False, separators=(",", ":")) if number in by_number else ""
        for number in range(1, count + 1)
    ]


def read(part: str, window: Window) -> Reading:
    """Return what one window's part of an answer states, in the order of the answer.

    What is no statement is left out: ``malformed`` (fields are missing or of another kind), ``unknown_person``,
    ``unknown_source``, ``not_their_words`` (no line of the quote is of that person), ``not_borne_out`` (what it
    says is not in that person's words, nor in what they said yes to).
    """
    statements: list[Statement] = []
    dropped: list[str] = []
    people = {letter: user_id for user_id, letter in people_of(window).items()}
    for each in _decoded(part):
        found = _statement(each, window, people)
        if isinstance(found, str):
            dropped.append(found)
        else:
            statements.append(found)
    return Reading(tuple(statements), tuple(dropped))


def _decoded(part: str) -> Iterable[Any]:
    return items(json.loads(part)) if part else ()


def _statement(given: Any, window: Window, people: Mapping[str, str]) -> Statement | str:
    try:
        said = msgspec.convert(given, Said)
    except msgspec.ValidationError:
        return "malformed"
    user_id = people.get(said.person)
    if user_id is None:
        return "unknown_person"
    numbers = sorted(dict.fromkeys(said.sources))
    if not all(1 <= number <= len(window.messages) for number in numbers):
        return "unknown_source"
    messages = [window.messages[number - 1] for number in numbers]
    if not _in_their_words(said.quote, user_id, messages):
        return "not_their_words"
    if not _is_borne_out(said, user_id, messages, window):
        return "not_borne_out"
    kind = _kind(said)
    if kind is None:
        return "malformed"
    at, precision = _date(said)
    return Statement(
        user_id=user_id,
        kind=kind,
        statement=said.statement.strip(),
        confidence=round(said.confidence, 3),
        source_message_ids=tuple(message.message_id for message in messages),
        quote=said.quote,
        subject=said.subject.strip() or SELF,
        attribute=normalized_attribute(said.attribute) if said.attribute.strip() else "",
        value=said.value.strip(),
        polarity=said.polarity,
        assertion=said.assertion,
        event_at=at,
        event_precision=precision,
        completes=said.completes.strip(),
    )


def _in_their_words(quote: str, user_id: str, messages: Sequence[WindowMessage]) -> bool:
    own = [each for each in messages if each.role is Role.USER and each.user_id == user_id]
    return any(is_quoted(line, own) for line in quote.splitlines())


def _is_borne_out(said: Said, user_id: str, messages: Sequence[WindowMessage], window: Window) -> bool:
    """Whether most of what is said of a person stands in their own words: a true quote bears out no other thing.

    Of what the assistant wrote only that counts which a short answer follows ("Do you like it?" - "Yes").
    """
    own = [each for each in messages if each.role is Role.USER and each.user_id == user_id]
    texts = [each.content for each in own]
    if len(_WORD.findall(said.quote)) <= _SHORT_ANSWER:
        before = {after: first for first, after in pairwise(window.messages)}
        texts += [asked.content for each in own if (asked := before.get(each)) and asked.role is Role.ASSISTANT]
    text, claim = "\n".join(texts).casefold(), (said.value or said.statement).strip().casefold()
    if claim in text:
        return True
    known = {word[:_ALIKE] for word in _WORD.findall(text)}
    words = [word for word in _WORD.findall(claim) if len(word) >= _ALIKE] or _WORD.findall(claim)
    return 2 * sum(word[:_ALIKE] in known for word in words) >= max(1, len(words))


def _kind(said: Said) -> Kind | None:
    """Return the kind that the attribute is of, or, where there is none, the one that was named."""
    attribute = attribute_of(normalized_attribute(said.attribute)) if said.attribute.strip() else None
    if attribute is not None:
        return attribute.kind
    return _KINDS.get(said.kind)


def _date(said: Said) -> tuple[datetime | None, Precision | None]:
    try:
        at = datetime.fromisoformat(said.event_at)
    except ValueError:
        return None, None
    precision = _PRECISIONS.get(said.event_precision, Precision.DAY)
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)), precision
