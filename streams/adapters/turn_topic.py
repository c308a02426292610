"""Reading one conversation's turns from ``memory.turns.v1``, where its log has expired.

Its partition is read from the beginning, so this takes as long as there are turns in it: seconds for millions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable
from models.turns import Turn
from streams import kafka
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics.catalog import TURNS, catalog_for

#: Longest that one reading may take.
_READ_SECONDS = 60.0
_CONNECT_SECONDS = 10.0

_decode = msgspec.json.Decoder(Turn).decode


class TurnTopic:
    """The topic as somewhere to look a conversation up."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._spec = catalog_for(settings).get(TURNS)

    async def turns(self, tenant_id: str, conversation_id: str) -> list[Turn]:
        """Return all turns of the latest life of a conversation, by index.

        Raises:
            DependencyUnavailable: the broker does not answer, or not in time.
        """
        place = TopicPartition(self._spec.name, partition_of(conversation_id.encode(), self._spec.partitions))
        client = kafka.make_consumer(
            self._settings, "switchboard-turns", group_id=None, auto_offset_reset="earliest"
        )
        found: dict[bytes, Turn] = {}
        try:
            async with (
                kafka.connected(client, self._settings, _CONNECT_SECONDS) as consumer,
                asyncio.timeout(_READ_SECONDS),
            ):
                await _read(consumer, place, tenant_id, conversation_id, found)
        except (KafkaError, OSError) as error:  # TimeoutError is one
            raise DependencyUnavailable(
                "kafka", f"{self._spec.name} could not be read ({error or type(error).__name__}): try again"
            ) from error
        return _latest_life(found)


async def _read(
    consumer: AIOKafkaConsumer,
    place: TopicPartition,
    tenant_id: str,
    conversation_id: str,
    found: dict[bytes, Turn],
) -> None:
    consumer.assign([place])
    end = (await consumer.end_offsets([place]))[place]
    await consumer.seek_to_beginning(place)
    # A record that does not even hold the name is not decoded: most are about others.
    needle = msgspec.json.encode(conversation_id)
    while await consumer.position(place) < end:
        for record in (await consumer.getmany(place, timeout_ms=500)).get(place, ()):
            if record.value is None:
                found.pop(record.key, None)
            elif needle in record.value or b"\\" in record.value:
                try:
                    turn = _decode(record.value)
                except msgspec.DecodeError:
                    continue  # the stage that reads the topic dead-letters it
                if (turn.tenant_id, turn.conversation_id) == (tenant_id, conversation_id):
                    found[record.key] = turn


def _latest_life(found: Mapping[bytes, Turn]) -> list[Turn]:
    began = max((turn.began_at for turn in found.values()), default=None)
    alive = [turn for turn in found.values() if turn.began_at == began]
    return sorted(alive, key=lambda turn: turn.index)
