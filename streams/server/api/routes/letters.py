"""Dead letters: reasons, bytes, retries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from models.errors import ConfigurationError, NotFound
from streams.queries import dead_letters
from streams.queries.letter_queues import LetterQueues
from streams.server.api.cursors import after, cursor_of
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import CONFLICT, INVALID_REQUEST, UNKNOWN_LETTER, Problem
from streams.server.api.routes.letter_answers import (
    LetterGroup,
    LetterGroups,
    LetterList,
    LetterRecord,
    Settled,
    WholeLetter,
    row_of,
    text_of,
    time_of,
)

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

#: Most letters that one call settles: each is confirmed by the broker before the next.
_MOST_AT_ONCE = 1000


class LetterPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place in the queue."""

    partition: _Number
    offset: _Number


class Which(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some letters of a topic: those at ``places``, or all of a ``reason`` (and ``stage``)."""

    places: Annotated[list[LetterPlace], msgspec.Meta(max_length=_MOST_AT_ONCE)] = []
    reason: str = ""
    stage: str = ""


class WhichAgain(Which, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some letters.  ``keep_trace``: their records stay in the trace (`traceparent`) that they were of; else
    they are of that of this request.
    """

    keep_trace: bool = True


class LetterParameters(Parameters, frozen=True, kw_only=True):
    """``topic``: whose letters, by its name in the contract; ``cursor``: the ``next`` of the page before."""

    topic: str
    reason: str = ""
    stage: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    cursor: str = ""


class OneLetter(Parameters, frozen=True, kw_only=True):
    """A topic, by its name in the contract, and a place in its queue."""

    topic: str
    partition: _Number
    offset: _Number


class TopicParameters(Parameters, frozen=True, kw_only=True):
    """Topic of the dead letters, by its name in the contract."""

    topic: str


@operation("GET", "/v1/dead-letters", scope=Scope.OPERATE, links={"list_letters": {"topic": "/groups/0/topic"}})
async def list_groups(call: Call) -> LetterGroups:
    """Dead letters by topic, reason and stage."""
    letters: LetterQueues = call.part("letters")
    found = await letters.groups()
    return LetterGroups(
        groups=[
            LetterGroup(
                topic=letters.contract_name(each.queue),
                reason=each.reason,
                stage=each.stage,
                count=each.count,
                first_at=time_of(each.first_at),
                last_at=time_of(each.last_at),
                message=each.message,
            )
            for each in found
        ]
    )


@operation(
    "GET",
    "/v1/dead-letters/{topic}",
    scope=Scope.OPERATE,
    example={"topic": "chat.messages.v1", "reason": "invalid_json"},
    problems=[UNKNOWN_LETTER],
    links={
        "get_letter": {
            "topic": "/letters/0/topic",
            "partition": "/letters/0/partition",
            "offset": "/letters/0/offset",
        }
    },
)
async def list_letters(call: Call, wanted: LetterParameters) -> LetterList:
    """The dead letters of a topic, the latest first."""
    letters: LetterQueues = call.part("letters")
    found = sorted(
        await _matching(letters, wanted.topic, wanted.reason, wanted.stage), key=_newest, reverse=True
    )
    listed = f"letters {wanted.topic} {wanted.reason} {wanted.stage}"
    if wanted.cursor:
        before = _before(after(listed, wanted.cursor))
        found = [each for each in found if _newest(each) < before]
    page = found[: wanted.limit]
    last = " ".join(map(str, _newest(page[-1]))) if page else ""
    following = cursor_of(listed, last) if len(found) > len(page) else None
    return LetterList(letters=[row_of(each, letters) for each in page], next=following)


@operation(
    "GET",
    "/v1/dead-letters/{topic}/{partition}/{offset}",
    scope=Scope.OPERATE,
    example={"topic": "chat.messages.v1", "partition": 3, "offset": 12},
    problems=[UNKNOWN_LETTER],
)
async def get_letter(call: Call, wanted: OneLetter) -> WholeLetter:
    """One dead letter with its record, byte for byte."""
    letters: LetterQueues = call.part("letters")
    try:
        whole = await letters.read(wanted.topic, dead_letters.Place(wanted.partition, wanted.offset))
    except NotFound as error:
        raise Problem(UNKNOWN_LETTER, f"{error}.") from error
    record = whole.record
    return WholeLetter(
        letter=row_of(whole.letter, letters),
        record=record
        and LetterRecord(
            key=text_of(record.key),
            text=text_of(record.value),
            hex=None if record.value is None else record.value.hex(" "),
            headers=[(name, text_of(value)) for name, value in record.headers],
            complete=record.complete,
        ),
    )


@operation(
    "POST",
    "/v1/dead-letters/{topic}/retry",
    scope=Scope.OPERATE,
    status=202,
    example={"topic": "chat.messages.v1"},
    example_body={"places": [{"partition": 3, "offset": 12}]},
    problems=[UNKNOWN_LETTER, CONFLICT],
)
async def retry_letters(call: Call, wanted: TopicParameters, body: WhichAgain) -> Settled:
    """Send records to their topic once more, as they were: value, key, own headers, by key.

    What is refused again is listed again. Of a group, what cannot be tried again is left out.
    """
    letters: LetterQueues = call.part("letters")
    places, left = await _places(letters, wanted.topic, body, only_retryable=True)
    try:
        done = await letters.retry(wanted.topic, places, keep_trace=body.keep_trace)
    except NotFound as error:
        raise Problem(UNKNOWN_LETTER, f"{error}.") from error
    except ConfigurationError as error:
        raise Problem(CONFLICT, f"{error}.") from error
    return Settled(letters=[row_of(each, letters) for each in done], left=left)


@operation(
    "POST",
    "/v1/dead-letters/{topic}/drop",
    scope=Scope.OPERATE,
    status=202,
    example={"topic": "chat.messages.v1"},
    example_body={"reason": "invalid_json"},
    problems=[UNKNOWN_LETTER],
)
async def drop_letters(call: Call, wanted: TopicParameters, body: Which) -> Settled:
    """Take letters off the list.  Their records stay in the queue as long as it keeps any (30 days)."""
    letters: LetterQueues = call.part("letters")
    places, left = await _places(letters, wanted.topic, body, only_retryable=False)
    try:
        done = await letters.drop(wanted.topic, places)
    except NotFound as error:
        raise Problem(UNKNOWN_LETTER, f"{error}.") from error
    return Settled(letters=[row_of(each, letters) for each in done], left=left)


async def _places(
    letters: LetterQueues, topic: str, which: Which, only_retryable: bool
) -> tuple[list[dead_letters.Place], int]:
    """Return the places that are meant, and how many more there are than one call settles."""
    if bool(which.places) == bool(which.reason):
        raise Problem(INVALID_REQUEST, "Say which letters: give either `places` or a `reason` (and `stage`).")
    if which.places:
        return [dead_letters.Place(each.partition, each.offset) for each in which.places], 0
    found = await _matching(letters, topic, which.reason, which.stage)
    meant = [each.place for each in found if not (only_retryable and each.retryable)]
    return meant[:_MOST_AT_ONCE], max(0, len(meant) - _MOST_AT_ONCE)


async def _matching(
    letters: LetterQueues, topic: str, reason: str, stage: str
) -> Sequence[dead_letters.Letter]:
    try:
        found = await letters.of_topic(topic)
    except NotFound as error:
        raise Problem(UNKNOWN_LETTER, f"{error}.") from error
    return [each for each in found if reason in ("", each.reason) and stage in ("", each.stage)]


def _newest(letter: dead_letters.Letter) -> tuple[int, int, int]:
    return letter.at, letter.partition, letter.offset


def _before(item: str) -> tuple[int, ...]:
    numbers = item.split()
    if len(numbers) != 3 or not all(each.isdecimal() and len(each) < 20 for each in numbers):
        raise Problem(INVALID_REQUEST, "cursor is none of ours: take the `next` of a page.")
    return tuple(map(int, numbers))
