"""Reading and writing ``access.tokens.v1``, outside of any consumer group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from models.access import Token
from models.errors import DependencyUnavailable
from streams import cloudevents, kafka
from streams.settings import Settings
from streams.topics.catalog import catalog_for

TOPIC = "access.tokens.v1"

_SOURCE = "/switchboard/cli"

#: How long a fetch waits for what is new: a revoked token works for so long at most, and a moment.
_FETCH_WAIT_MS = 250

_decode = msgspec.json.Decoder(Token).decode


async def put(settings: Settings, token_id: str, token: Token | None) -> None:
    """Write a token, or that it is revoked (``None``), and return when the broker has confirmed it.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    name, patience = catalog_for(settings).name(TOPIC), settings.request_timeout_seconds
    client = kafka.make_producer(settings, "switchboard-tokens")
    headers = cloudevents.outgoing("access.token.v1", _SOURCE, token_id)
    value = None if token is None else msgspec.json.encode(token)
    try:
        async with kafka.connected(client, settings, patience) as producer, asyncio.timeout(patience):
            await producer.send_and_wait(name, value, key=token_id.encode(), partition=0, headers=headers)
    except (KafkaError, OSError) as error:
        raise _down(error, settings) from error


async def read_all(settings: Settings) -> dict[str, Token]:
    """Return the tokens that there are, by id.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    async for tokens in follow(settings):
        return tokens
    return {}


async def follow(settings: Settings) -> AsyncIterator[dict[str, Token]]:
    """Yield all tokens, once the topic was read to its end, and again after each change.

    Raises:
        DependencyUnavailable: the broker does not answer (any more).
    """
    name, patience = catalog_for(settings).name(TOPIC), settings.request_timeout_seconds
    place = TopicPartition(name, 0)
    client = kafka.make_consumer(
        settings,
        "switchboard-tokens",
        group_id=None,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=_FETCH_WAIT_MS,
        request_timeout_ms=int(patience * 1000),
    )
    tokens: dict[str, Token] = {}
    try:
        async with kafka.connected(client, settings, patience) as consumer:
            consumer.assign([place])
            async with asyncio.timeout(patience):
                end = (await consumer.end_offsets([place]))[place]
                await consumer.seek_to_beginning(place)
            first = True
            while True:
                changed = await _take(consumer, place, tokens)
                if await consumer.position(place) >= end and (changed or first):
                    first = False
                    yield dict(tokens)
    except (KafkaError, OSError) as error:
        raise _down(error, settings) from error


async def _take(consumer: AIOKafkaConsumer, place: TopicPartition, tokens: dict[str, Token]) -> bool:
    records = (await consumer.getmany(place, timeout_ms=1000)).get(place, ())
    for record in records:
        token_id = (record.key or b"").decode(errors="replace")
        try:
            token = _decode(record.value) if record.value else None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            token = None  # what is no token allows nothing
        if token is None:
            tokens.pop(token_id, None)
        else:
            tokens[token_id] = token
    return bool(records)


def _down(error: Exception, settings: Settings) -> Exception:
    return kafka.refusal(error, settings) or DependencyUnavailable(
        "kafka", f"the tokens could not be read or written ({error or type(error).__name__})"
    )
