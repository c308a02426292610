"""Live events without a broker: who sees what, what is lost in the open, what is never decoded."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
import samples
from samples import Clock

from streams.clients.catalog import catalog_for
from streams.clients.kafka.lookup import Found, Lookup
from streams.clients.records import Record
from streams.config.settings import load_settings
from streams.queries.live import history as history_module
from streams.queries.live.history import ConversationLog, History
from streams.queries.live.hub import GAP, LINGER_SECONDS, MOST_EVENTS, Hub, Watcher
from streams.queries.live.interest import Interest, View
from streams.queries.live.numbering import Reached

MESSAGES = "chat.messages.v1"
FACTS = "memory.facts.v1"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(clock: Clock) -> Hub:
    return Hub(catalog_for(load_settings()), clock, len)


def message(conversation: str = "c-1", offset: int = 0, **other: Any) -> Record:
    said = samples.message(
        offset, "I love blueberries.", message_id=f"m-{offset}", conversation_id=conversation
    )
    body = msgspec.json.encode(msgspec.structs.replace(said, **other))
    return Record(body, conversation.encode(), offset, MESSAGES, timestamp=1)


def fact(user: str = "ada", conversations: tuple[str, ...] = ("c-1",), **other: Any) -> Record:
    sources = [samples.evidence("I love blueberries.", conversation_id=name) for name in conversations]
    told = samples.fact("User loves blueberries", fact_id="f-1", user_id=user, provenance=tuple(sources))
    body = msgspec.to_builtins(told) | other
    return Record(msgspec.json.encode(body), b"f-1", 0, FACTS)


def names(watcher: Watcher) -> list[str]:
    return [event.name for _, event in watcher.take()]


def offsets(watcher: Watcher) -> list[int]:
    return [msgspec.json.decode(event.data)["offset"] for _, event in watcher.take(10_000)]


def test_a_message_reaches_only_watchers_of_its_conversation(hub: Hub) -> None:
    _, ours = hub.join(Interest(conversation_id="c-1"))
    _, theirs = hub.join(Interest(conversation_id="c-2"))
    _, same = hub.join(Interest(conversation_id="c-1"))

    hub.take([message("c-1", 7)], MESSAGES)

    [(event_id, event)] = ours.take()
    body = msgspec.json.decode(event.data)
    assert (event.name, body["value"]["content"], body["offset"]) == ("message", "I love blueberries.", 7)
    assert body["tokens"] == len("I love blueberries.") + len("user") + 4
    assert event_id == ours.id
    assert names(theirs) == []
    assert names(same) == ["message"]
    assert names(ours) == []


def test_tenants_see_nothing_of_each_other(hub: Hub) -> None:
    _, ours = hub.join(Interest(conversation_id="c-1"))
    _, theirs = hub.join(Interest("acme", conversation_id="c-1"))

    hub.take([message(tenant_id="acme")], MESSAGES)

    assert (names(ours), names(theirs)) == ([], ["message"])


def test_in_a_shared_conversation_each_sees_their_own(hub: Hub) -> None:
    _, bound = hub.join(Interest(conversation_id="c-1", only_person="ada"))
    _, free = hub.join(Interest(conversation_id="c-1"))

    hub.take([message(offset=1), message(offset=2, user_id="bob")], MESSAGES)

    assert offsets(bound) == [1]
    assert offsets(free) == [1, 2]


@pytest.mark.parametrize(
    ("interest", "seen"),
    [
        (Interest(user_id="ada"), True),
        (Interest(conversation_id="c-1"), True),
        (Interest(conversation_id="c-1", user_id="bob"), False),
        (Interest(view=View.FLOW), False),
        (Interest(view=View.DEAD_LETTERS), False),
    ],
)
def test_a_fact_reaches_watchers_of_person_and_conversation(hub: Hub, interest: Interest, seen: bool) -> None:
    _, watcher = hub.join(interest)
    hub.take([fact(conversations=("c-1", "c-2"))], FACTS)
    assert names(watcher) == (["fact"] if seen else [])


def test_a_reader_back_in_time_misses_and_repeats_nothing(hub: Hub, clock: Clock) -> None:
    interest = Interest(conversation_id="c-1")
    channel, first = hub.join(interest)
    hub.take([message(offset=1), message(offset=2)], MESSAGES)
    assert offsets(first) == [1, 2]
    hub.leave(channel)
    clock.now = LINGER_SECONDS - 1
    hub.expire()
    hub.take([message(offset=3)], MESSAGES)

    _, back = hub.join(interest, first.id)

    assert back.resumed
    assert offsets(back) == [3]


def test_who_comes_back_too_late_is_told_so(hub: Hub, clock: Clock) -> None:
    interest = Interest(conversation_id="c-1")
    channel, first = hub.join(interest)
    hub.take([message(offset=1)], MESSAGES)
    first.take()
    hub.leave(channel)
    clock.now = LINGER_SECONDS
    hub.expire()
    assert hub.places() == frozenset()

    _, back = hub.join(interest, first.id)

    assert not back.resumed


def test_a_slow_reader_finds_a_gap_and_holds_up_nobody(hub: Hub) -> None:
    interest = Interest(conversation_id="c-1")
    _, slow = hub.join(interest)
    _, quick = hub.join(interest)
    seen: list[int] = []
    for offset in range(MOST_EVENTS + 5):
        hub.take([message(offset=offset)], MESSAGES)
        seen += offsets(quick)

    assert seen == list(range(MOST_EVENTS + 5))
    assert names(slow) == [GAP]
    hub.take([message(offset=5000)], MESSAGES)
    assert offsets(slow) == [5000]


def test_trouble_with_the_broker_is_a_gap_for_everybody(hub: Hub) -> None:
    _, watcher = hub.join(Interest(conversation_id="c-1"))
    before = watcher.id
    hub.restart()
    assert names(watcher) == [GAP]
    _, back = hub.join(Interest(conversation_id="c-1"), before)
    assert not back.resumed


class Kept:
    """Topics to look up in."""

    def __init__(self, *records: Record) -> None:
        self.records = records

    async def find(self, topic: str, name: bytes, newest: int | None = None) -> Found:
        named = [each for each in self.records if each.topic == topic and each.key == name]
        some = named if newest is None else named[-newest:]
        return Found(0, len(named), [*some], len(named) - len(some))


async def log(kept: Kept, limit: int, **wanted: Any) -> ConversationLog:
    settings = load_settings()
    history = History(settings, catalog_for(settings), cast(Lookup, kept))
    return await history.log(Interest(conversation_id="c-1", **wanted), limit)


async def test_messages_keep_indices_though_the_first_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 33 messages the first 30 are gone, one was sent twice, and ingest has not read the last two."""
    until = Reached(next_index=33, next_offset=50)

    async def found(*_: Any) -> Reached:
        return until

    monkeypatch.setattr(history_module, "reached", found)
    read = [message(offset=offset) for offset in (40, 41, 49)]
    again, theirs = message(offset=42, message_id="m-41"), message(offset=43, tenant_id="acme")
    kept = Kept(*read[:2], again, theirs, read[2], message(offset=50, user_id="bob"), message(offset=51))

    async def indices(limit: int, **wanted: Any) -> list[tuple[int, int | None]]:
        return [(each.offset, each.index) for each in (await log(kept, limit, **wanted)).events]

    assert await indices(9) == [(40, 30), (41, 31), (42, 31), (49, 32), (50, 33), (51, 34)]
    assert await indices(2) == [(50, 33), (51, 34)]
    assert await indices(9, only_person="bob") == [(50, 33)]
    until = Reached(next_index=2, next_offset=50)  # it began anew behind the first
    assert await indices(9) == [(40, None), (41, 0), (42, 0), (49, 1), (50, 2), (51, 3)]
