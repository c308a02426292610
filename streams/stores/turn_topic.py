"""Looking conversations up in ``memory.turns.v1``: one's turns, where its log has expired; those of a person.

For a person all partitions are read from the beginning, so that takes as long as there are turns: seconds for
millions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable
from models.turns import Turn
from streams.clients import kafka
from streams.clients.catalog import TURNS, catalog_for
from streams.clients.kafka.lookup import Lookup
from streams.config.settings import Settings

#: Longest that one reading may take.
_READ_SECONDS = 60.0
_CONNECT_SECONDS = 10.0

_decode = msgspec.json.Decoder(Turn).decode


class TurnTopic:
    """The topic as somewhere to look a conversation up."""

    def __init__(self, settings: Settings, lookup: Lookup | None = None) -> None:
        self._settings = settings
        self._lookup = lookup or Lookup(settings)
        self._spec = catalog_for(settings).get(TURNS)

    async def turns(self, tenant_id: str, conversation_id: str) -> list[Turn]:
        """Return all turns of the latest life of a conversation, by index.

        Raises:
            DependencyUnavailable: the broker does not answer, or not in time.
        """
        found: dict[bytes | None, Turn] = {}
        try:
            async with asyncio.timeout(_READ_SECONDS):
                read = await self._lookup.find(TURNS, conversation_id.encode())
        except TimeoutError:
            raise DependencyUnavailable(
                "kafka", f"{self._spec.name} could not be read within {_READ_SECONDS:g} s: try again"
            ) from None
        for record in read.records if read is not None else ():
            turn = None if record.value is None else _read(record.value)
            if turn is None:
                found.pop(record.key, None)
            elif (turn.tenant_id, turn.conversation_id) == (tenant_id, conversation_id):
                found[record.key] = turn
        return _latest_life(found)

    async def conversations(self, tenant_id: str, user_id: str) -> dict[str, bool]:
        """Return the conversations that a person takes part in, and of each whether nobody else does.

        Raises:
            DependencyUnavailable: as :meth:`turns`.
        """
        people: dict[bytes, tuple[str, str]] = {}
        async for key, value in self._records(range(self._spec.partitions)):
            turn = None if value is None else _read(value)
            if turn is None or turn.tenant_id != tenant_id:
                people.pop(key, None)
            else:
                people[key] = turn.conversation_id, turn.user_id
        theirs = {name for name, person in people.values() if person == user_id}
        shared = {name for name, person in people.values() if person != user_id}
        return {name: name not in shared for name in sorted(theirs)}

    async def _records(self, partitions: Iterable[int]) -> AsyncIterator[tuple[bytes, bytes | None]]:
        """Yield the keys and values of partitions, one after the other, up to where they end now."""
        client = kafka.make_consumer(
            self._settings, "switchboard-turns", group_id=None, auto_offset_reset="earliest"
        )
        try:
            async with kafka.connected(client, self._settings, _CONNECT_SECONDS) as consumer:
                for partition in partitions:
                    place = TopicPartition(self._spec.name, partition)
                    async with asyncio.timeout(_READ_SECONDS):
                        consumer.assign([place])
                        end = (await consumer.end_offsets([place]))[place]
                        await consumer.seek_to_beginning(place)
                        while await consumer.position(place) < end:
                            for record in (await consumer.getmany(place, timeout_ms=500)).get(place, ()):
                                yield record.key, record.value
        except (KafkaError, OSError) as error:  # TimeoutError is one
            raise DependencyUnavailable(
                "kafka", f"{self._spec.name} could not be read ({error or type(error).__name__}): try again"
            ) from error


def _read(value: bytes) -> Turn | None:
    try:
        return _decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # the stage that reads the topic dead-letters it


def _latest_life(found: Mapping[bytes | None, Turn]) -> list[Turn]:
    began = max((turn.began_at for turn in found.values()), default=None)
    alive = [turn for turn in found.values() if turn.began_at == began]
    return sorted(alive, key=lambda turn: turn.index)
