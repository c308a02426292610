"""Comparison of contexts: what the latest turns would have been told in another generation.

A generation keeps the latest context of each conversation.  Those of the conversations that were spoken in last
are compared, line by line of their prompts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import msgspec
from aiokafka import TopicPartition

from models.context import Context, ContextItem, Tier
from streams.admin.topics import reset_log
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.records import SourceRecord
from streams.config.settings import Settings

CONTEXTS = "memory.context.v1"

#: How many conversations are compared, and how many of those that differ are shown.
TURNS, EXAMPLES = 100, 10

#: A longer line is cut.
_LONGEST = 200

_decode = msgspec.json.Decoder(Context).decode


class _Latest(msgspec.Struct):
    """Part of a context: when the turn before it arrived, and which one that was."""

    said_at: str
    after_turn_id: str


class Line(msgspec.Struct, frozen=True):
    """Part of a prompt: its tier and its text."""

    tier: Tier
    text: str


class Difference(msgspec.Struct, frozen=True):
    """Contexts for one turn that differ: tokens of both, the lines of ``both``, and those of one alone."""

    conversation_id: str
    user_id: str
    live_tokens: int
    replayed_tokens: int
    both: list[Line]
    only_live: list[Line]
    only_replayed: list[Line]


class Contexts(msgspec.Struct, frozen=True):
    """Contexts of the same turns in both generations.

    ``missing``: turns for which the generation has no context, or one for an earlier turn.  ``live_tokens`` and
    ``replayed_tokens``: of all compared ones.  ``differences``: examples, those of most lines first.
    """

    compared: int
    same: int
    missing: int
    live_tokens: int
    replayed_tokens: int
    differences: list[Difference]


async def compare(live: Settings, replayed: Settings, turns: int = TURNS) -> Contexts:
    """Compare the contexts for the latest turn of the conversations that were spoken in last.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    ours = await _places(live)
    latest = heapq.nlargest(turns, ours.values(), key=lambda each: each.said_at)
    keys = {each.key for each in latest}
    theirs = {key: each for key, each in (await _places(replayed)).items() if key in keys}
    pairs = [
        (each, theirs[each.key])
        for each in latest
        if each.key in theirs and theirs[each.key].after_turn_id == each.after_turn_id
    ]
    mine = await _read(live, [each for each, _ in pairs])
    other = await _read(replayed, [each for _, each in pairs])
    return compared(((mine[key], other[key]) for key in mine.keys() & other.keys()), len(latest))


def compared(pairs: Iterable[tuple[Context, Context]], asked: int) -> Contexts:
    """Compare pairs of contexts, each of one turn; ``asked``: turns that were looked for, found or not."""
    number = same = live_tokens = replayed_tokens = 0
    differences = []
    for live, replayed in pairs:
        number += 1
        live_tokens += live.tokens
        replayed_tokens += replayed.tokens
        ours, theirs = _lines(live), _lines(replayed)
        if ours.keys() == theirs.keys():
            same += 1
            continue
        differences.append(
            Difference(
                live.conversation_id,
                live.user_id,
                live.tokens,
                replayed.tokens,
                [ours[key] for key in ours if key in theirs],
                [ours[key] for key in ours if key not in theirs],
                [theirs[key] for key in theirs if key not in ours],
            )
        )
    differences.sort(key=lambda each: (-len(each.only_live) - len(each.only_replayed), each.conversation_id))
    return Contexts(number, same, asked - number, live_tokens, replayed_tokens, differences[:EXAMPLES])


def _lines(context: Context) -> dict[tuple[Tier, str], Line]:
    """Return the lines of the prompt.  A fact has another id in another wording: its text identifies it."""
    return {(each.tier, each.text): _line(each) for each in context.items if each.left_out is None}


def _line(item: ContextItem) -> Line:
    text = " ".join(item.text.split())
    return Line(item.tier, text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


class _Place(msgspec.Struct, frozen=True):
    """The latest context of a conversation: where it lies, and what it was made after."""

    key: bytes
    partition: int
    offset: int
    said_at: str
    after_turn_id: str


async def _places(settings: Settings) -> dict[bytes, _Place]:
    """Return where the latest contexts lie, by key: the contexts themselves would be too much to hold."""
    found: dict[bytes, _Place] = {}

    def note(record: SourceRecord) -> None:
        if record.key is None:
            return
        found.pop(record.key, None)
        if record.value is not None:
            try:
                made = msgspec.json.decode(record.value, type=_Latest)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return  # whoever reads it says so
            found[record.key] = _Place(
                record.key, record.partition, record.offset, made.said_at, made.after_turn_id
            )

    await reset_log.read(settings, catalog_for(settings).get(CONTEXTS), note)
    return found


async def _read(settings: Settings, places: Iterable[_Place]) -> dict[bytes, Context]:
    """Return the contexts at these places, by key."""
    name = catalog_for(settings).name(CONTEXTS)
    found: dict[bytes, Context] = {}
    async with broker.reading(settings) as consumer:
        for place in places:
            at = TopicPartition(name, place.partition)
            consumer.assign([at])
            consumer.seek(at, place.offset)
            async for record in broker.until(consumer, {at: place.offset + 1}):
                if record.offset == place.offset and record.value is not None:
                    found[place.key] = _decode(record.value)
    return found
