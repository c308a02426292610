"""Leases of turns on a real Valkey: one holder at a time, and no longer than it says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from models.errors import DependencyUnavailable, NotFound
from streams.chat.events import TurnNames
from streams.chat.leases import Holder, TurnRunning
from streams.clients.local_valkey import LocalValkey
from streams.config.namespace import Namespace
from streams.stores.turn_leases import TurnLeases


@pytest.fixture
async def leases(valkey: LocalValkey) -> AsyncIterator[TurnLeases]:
    made = TurnLeases(valkey.client(), Namespace("test-"), seconds=60, ready=valkey.ensure)
    yield made
    await made.close()


def names(turn_id: str, conversation_id: str = "c") -> TurnNames:
    return TurnNames(
        turn_id=turn_id, conversation_id=conversation_id, user_id="ada", tenant_id="default", response_id="r"
    )


async def test_one_turn_at_a_time_and_its_holder_releases(leases: TurnLeases) -> None:
    assert await leases.claim("default", "c", "t-1", "a") is None
    assert await leases.claim("default", "c", "t-1", "a") is None, "renewed"
    assert await leases.claim("default", "c", "t-2", "b") == "t-1"
    assert await leases.claim("default", "c", "t-1", "b") == "t-1", (
        "the same turn at another process is another"
    )
    assert await leases.claim("default", "c 2", "t-3", "b") is None
    assert await leases.claim("acme", "c", "t-4", "b") is None
    await leases.release("default", "c", "t-1", "b")
    assert await leases.held("default", "c") == "t-1"
    await leases.release("default", "c", "t-1", "a")
    assert await leases.held("default", "c") is None
    assert await leases.claim("default", "c", "t-2", "b") is None


async def test_who_begins_a_conversation_keeps_others_out_of_it(
    leases: TurnLeases, valkey: LocalValkey
) -> None:
    assert await leases.claim("default", "c", "t-1", "a", "ada") is None
    for holder in ("a", "b"):
        with pytest.raises(NotFound, match="bob takes part in no conversation c"):
            await leases.claim("default", "c", "t-2", holder, "bob")
    assert await leases.claim("default", "c", "t-2", "b", "ada") == "t-1"
    await leases.release("default", "c", "t-1", "a")
    with pytest.raises(NotFound):
        await leases.claim("default", "c", "t-2", "b", "bob")
    assert await leases.held("default", "c") is None, "who is refused takes no lease"
    with pytest.raises(NotFound):  # ingest takes an id of one tenant only
        await leases.claim("acme", "c", "t-2", "b", "ada")
    assert await leases.claim("default", "c", "t-3", "b") is None, "the log knows who takes part"
    client = valkey.client()
    names = [key async for key in client.scan_iter("*")]
    values = [await client.get(key) for key in names if b"begun" in key]
    assert values and not any(b"ada" in each or b"bob" in each for each in (*names, *values))
    assert all([await client.ttl(key) > 0 for key in names])
    await client.aclose()


async def test_a_lease_that_nobody_renews_ends(leases: TurnLeases, valkey: LocalValkey) -> None:
    short = TurnLeases(valkey.client(), Namespace("test-"), seconds=0.05, ready=valkey.ensure)
    dead, other = Holder(short), Holder(leases)
    await dead.take(names("t-1"))
    async with asyncio.timeout(30):
        while await leases.held("default", "c") is not None:
            await asyncio.sleep(0.01)
    await other.take(names("t-1"))
    assert await other.runs(names("t-1"))
    assert not await other.runs(names("t-2"))
    with pytest.raises(TurnRunning, match="t-1"):
        await dead.take(names("t-2"))
    await short.close()


async def test_a_turn_is_stopped_and_tells_how_it_ended(leases: TurnLeases) -> None:
    ours, theirs = ("default", "ada", "t-1"), ("default", "bob", "t-1")
    assert await leases.stop(ours) is None, "none runs"
    assert await leases.poll_cancellations([ours, theirs]) == [False, False]
    assert await leases.stop(ours) == ""
    assert await leases.poll_cancellations([ours, theirs]) == [True, False]
    assert await leases.stop(ours) == "", "it has not ended yet"
    await leases.end(ours, "stopped")
    assert await leases.stop(ours) == "stopped"
    assert await leases.poll_cancellations([ours]) == [False], "when it runs again, nobody wanted that"


async def test_without_redis_nothing_begins() -> None:
    async def down() -> None:
        raise DependencyUnavailable("redis", "it is down")

    from redis.asyncio import Redis

    leases = TurnLeases(Redis(port=9), Namespace("test-"), ready=down)
    with pytest.raises(DependencyUnavailable):
        await Holder(leases).take(names("t-1"))
    await Holder(leases).release(names("t-1"))  # it ends by itself
