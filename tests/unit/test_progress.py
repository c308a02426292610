"""How far a message has come, where neither a window nor what was learned of it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
import samples
from aiokafka import TopicPartition

from models.errors import NotFound
from models.turns import Turn, TurnSource
from processors.conversations.state import ConversationState
from streams.clients.kafka.lookup import Found
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.queries.conversations import progress
from streams.queries.conversations.progress import ProgressReader
from streams.queries.conversations.states import Stored
from streams.stores.conversation_log import Erasures

SAID = samples.message(1, "I keep bees.", message_id="m-1", conversation_id="c-1")
RECORD = Record(msgspec.json.encode(SAID), b"c-1", 7, "chat.messages.v1", 3, timestamp=1000)

#: When it is sent again (ms since 1970).
NOW = int(SAID.sent_at.timestamp() * 1000)

#: The window that the message would be in is still open.
OPEN = Stored(3, [8, 0, 0], ConversationState("default", "ada", next_index=1))


class World:
    """What the services have written: of the message nothing but that it was read."""

    def __init__(self) -> None:
        self.states: list[Stored | None] = [OPEN]
        self.erased_until = -1
        self.read_to = 8
        self.turns: list[Turn] = []
        self.log: list[Record] = []

    async def last_turns(self, *_: Any) -> list[Turn]:
        return self.turns

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        return Erasures(-1, dict.fromkeys(turn_ids, self.erased_until), {})

    async def page(self, *_: Any) -> tuple[list[Any], None]:
        return [], None

    async def find(self, topic: str, *_: Any, **__: Any) -> Found:
        return Found(0, 0, self.log if topic == RECORD.topic else [], 0)

    async def state(self, *_: Any) -> Stored | None:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    async def committed(self, *_: Any) -> dict[Any, int]:
        return {TopicPartition("chat.messages.v1", 3): self.read_to}

    async def letters(self, *_: Any, **__: Any) -> list[Any]:
        return []


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(progress.conversation_states, "find", made.state)
    monkeypatch.setattr(progress, "letters_of", made.letters)
    return made


async def look(world: World, record: Record = RECORD) -> str:
    parts: Any = world
    return (await ProgressReader(Settings(), parts, parts, parts)._look(record, SAID)).state.value


async def test_what_was_erased_is_not_there_any_more(world: World) -> None:
    assert await look(world) == "in_window"
    world.erased_until = 999
    assert await look(world) == "in_window", "what was said after an erasure"
    world.erased_until = 1000
    with pytest.raises(NotFound, match="3:7"):
        await look(world)


def turn_at(offset: int) -> Turn:
    source = TurnSource(topic=RECORD.topic, partition=3, offset=offset)
    return samples.turn(0, SAID.content, message_id="m-1", conversation_id="c-1", source=source)


async def test_a_repeat_is_a_duplicate_and_never_extracted(world: World) -> None:
    world.turns = [turn_at(2)]
    assert await look(world) == "duplicate"
    world.turns = [turn_at(7)]
    assert await look(world) == "in_window", "it is the one that counts"


@pytest.mark.parametrize("states", [[OPEN], [None]], ids=["remembered", "forgotten since"])
async def test_a_repeat_of_an_erased_message_is_a_duplicate(world: World, states: list[Stored | None]) -> None:
    edited = msgspec.structs.replace(SAID, content="I keep wasps.")
    other = msgspec.structs.replace(SAID, tenant_id="other")
    world.states = states
    world.erased_until = NOW - 500
    record = RECORD._replace(timestamp=NOW)
    assert await look(world, record) != "duplicate"
    for first, is_repeat in ((edited, True), (other, False)):
        world.log = [RECORD._replace(value=msgspec.json.encode(first), offset=2, timestamp=NOW - 600), record]
        assert (await look(world, record) == "duplicate") is is_repeat
