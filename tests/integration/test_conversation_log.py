"""The conversation log on a real Valkey, and what may be wrong with that."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import samples
from redis.asyncio import Redis

from models.errors import ConsistencyError, DependencyUnavailable
from models.turns import Turn
from streams.adapters.conversation_log import ConversationLog
from streams.adapters.local_valkey import LocalValkey
from streams.namespace import Namespace
from streams.runtime.testing import START

SPACE = Namespace("test-")


def turn(index: int, conversation: str = "c", **changes: Any) -> Turn:
    return samples.turn(index, at=START, **({"sent_at": START, "conversation_id": conversation} | changes))


def ms(index: int) -> int:
    return int((START + timedelta(seconds=index)).timestamp() * 1000)


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[LocalValkey]:
    server = LocalValkey(tmp_path, "test")
    yield server
    await server.close()


@pytest.fixture
async def log(valkey: LocalValkey) -> AsyncIterator[ConversationLog]:
    made = ConversationLog(valkey.client(), SPACE, ready=valkey.ensure)
    yield made
    await made.close()


@pytest.fixture
async def redis(valkey: LocalValkey) -> AsyncIterator[Redis]:
    await valkey.ensure()
    client = valkey.client()
    yield client
    await client.aclose()


async def indices(log: ConversationLog, conversation: str = "c", tenant: str = "default") -> list[int]:
    return [each.index for each in await log.turns(tenant, conversation, 0, 10**9)]


class TestTurns:
    async def test_they_are_kept_by_index_and_a_repeat_changes_nothing(self, log: ConversationLog) -> None:
        turns = [turn(index) for index in range(5)]
        for _ in range(2):
            await log.write((each, each.index) for each in turns)
        assert await log.turns("default", "c", 0, 10**9) == turns
        assert await log.turns("default", "c", 1, 2) == turns[1:3]
        assert await log.turns("default", "c", -5, 1) == turns[:2]
        assert await log.turns("default", "c", 4, 4) == turns[4:]
        assert await log.turns("default", "c", 5, 9) == []
        assert await log.turns("default", "c", 3, 2) == []
        assert await log.last_turns("default", "c", 2) == turns[3:]
        assert await log.last_turns("default", "c", 99) == turns
        assert await log.last_turns("default", "c", 0) == []

    async def test_some_of_several_conversations_at_once(self, log: ConversationLog) -> None:
        await log.write((turn(index, name), index) for name in ("c", "d") for index in range(4))
        await log.write([(turn(0, "c", tenant_id="acme"), 0)])
        lines = turn(4, "d", text="one\ntwo\r\nthree\u2028four\x85five")
        await log.write([(lines, 4)])
        found = await log.at("default", {"c": [0, 3, 9, -1], "d": [1, 4], "e": [0], "f": []})
        assert found == [turn(0, "c"), turn(3, "c"), turn(1, "d"), lines]
        assert await log.at("acme", {"c": [0, 1], "d": [0]}) == [turn(0, "c", tenant_id="acme")]
        assert await log.at("default", {}) == []

    async def test_a_conversation_that_began_anew_has_nothing_of_its_earlier_life(
        self, log: ConversationLog
    ) -> None:
        await log.write((turn(index), index) for index in range(5))
        later = START + timedelta(days=100)
        await log.write([(turn(0, text="again", began_at=later, arrived_at=later), 9)])
        await log.write([(turn(4), 4)])  # a copy out of the earlier life
        assert [(each.index, each.text) for each in await log.turns("default", "c", 0, 99)] == [(0, "again")]
        extent = await log.extent("default", "c")
        assert extent is not None
        assert extent.next_index == 1


class TestExpiring:
    """A log is kept so long after its latest message arrived, whenever that is read (again)."""

    DAY = 86_400

    @pytest.fixture
    async def log(self, valkey: LocalValkey) -> AsyncIterator[ConversationLog]:
        made = ConversationLog(valkey.client(), SPACE, expire_seconds=90 * self.DAY, ready=valkey.ensure)
        yield made
        await made.close()

    def said(self, index: int, days_ago: float, **replace: object) -> tuple[Turn, int]:
        arrived = datetime.now(UTC) - timedelta(days=days_ago)
        return turn(index, arrived_at=arrived, **replace), index

    async def days_left(self, redis: Redis) -> dict[str, float]:
        keys = [key async for key in redis.scan_iter()]
        return {key.decode(): await redis.pttl(key) / 1000 / self.DAY for key in keys}

    async def expect(self, redis: Redis, days: float) -> None:
        left = await self.days_left(redis)
        assert [*left.values()] == pytest.approx([days] * 3, abs=0.1), "a log, whose it is, who takes part"

    async def test_after_its_latest_turn_arrived(self, log: ConversationLog, redis: Redis) -> None:
        await log.write([self.said(0, 0)])
        await self.expect(redis, 90)

    async def test_what_is_erased_is_remembered_as_long_as_what_arrived_then(
        self, log: ConversationLog, redis: Redis
    ) -> None:
        one, two = self.said(0, 80), self.said(1, 40)
        until = round((datetime.now(UTC) - timedelta(days=30)).timestamp() * 1000)
        await log.write([one, two])
        await log.erase_turns("default", "c", {one[0].turn_id: until})
        left = await self.days_left(redis)
        assert left["test-switchboard:log:7:default:c"] == pytest.approx(60, abs=0.1)
        await log.erase_conversation("default", "d", until - 1000 * self.DAY * 300)
        assert (await self.days_left(redis))["test-switchboard:log:7:default:d"] == pytest.approx(1, abs=0.1)


class TestErasing:
    async def test_a_turn_and_no_copy_of_it_comes_back(self, log: ConversationLog) -> None:
        turns = [(turn(index), index) for index in range(3)]
        await log.write(turns)
        for _ in range(2):
            await log.erase_turns("default", "c", {turns[1][0].turn_id: ms(50)})
            assert await indices(log) == [0, 2]
            await log.write(turns)
            assert await indices(log) == [0, 2]

    async def test_a_conversation_up_to_a_time(self, log: ConversationLog) -> None:
        await log.write((turn(index), index) for index in range(3))
        await log.erase_conversation("default", "c", ms(1))
        await log.write((turn(index), index) for index in range(4))
        assert await indices(log) == [2, 3]

    async def test_a_person_in_all_conversations_and_nobody_else(self, log: ConversationLog) -> None:
        await log.write(
            [(turn(0), 0), (turn(1, user_id="bob"), 1), (turn(2, "d"), 2), (turn(3, tenant_id="t"), 3)]
        )
        await log.erase_person("default", "ada", ms(60))
        await log.write([(turn(0), 0), (turn(2, "d"), 2)])
        assert await indices(log) == [1]
        assert await indices(log, "d") == []
        assert await indices(log, tenant="t") == [3]
        assert await log.conversations("default", "ada", 9) == []
        await log.write([(turn(61), 9)])
        assert await indices(log) == [1, 61], "what is said later is kept"


class TestMarks:
    PLACE = ("memory.turns.v1", 3)

    async def test_they_are_kept(self, log: ConversationLog) -> None:
        assert await log.marks([self.PLACE, ("memory.turns.v1", 4)]) == {
            self.PLACE: 0,
            ("memory.turns.v1", 4): 0,
        }
        await log.set_mark(self.PLACE, 17)
        await log.set_mark(self.PLACE, 18)
        assert await log.marks([self.PLACE]) == {self.PLACE: 18}
        assert await log.marks([]) == {}

    async def test_an_emptied_redis_is_noticed(self, log: ConversationLog, redis: Redis) -> None:
        await log.set_mark(self.PLACE, 17)
        await redis.flushall()
        with pytest.raises(ConsistencyError, match=r"was emptied or restarted.*fills Redis"):
            await log.set_mark(self.PLACE, 18)
        assert await log.marks([self.PLACE]) == {self.PLACE: 0}
        await log.set_mark(self.PLACE, 5)


class TestWhatIsWrongWithRedis:
    async def test_a_password(self, valkey: LocalValkey, redis: Redis, log: ConversationLog) -> None:
        await redis.config_set("requirepass", "secret")
        stranger = ConversationLog(valkey.client(), SPACE)
        with pytest.raises(DependencyUnavailable, match=r"does not let us in.*SWITCHBOARD_REDIS_PASSWORD"):
            await stranger.write([(turn(0), 0)])
        await stranger.close()

    async def test_full(self, redis: Redis, log: ConversationLog) -> None:
        await redis.config_set("maxmemory", "1")
        with pytest.raises(DependencyUnavailable, match=r"full \(maxmemory\).*SWITCHBOARD_TURN_LOG_DAYS"):
            await log.write([(turn(0), 0)])
        with pytest.raises(DependencyUnavailable, match="full"):
            await log.set_mark(("t", 0), 1)
        await redis.config_set("maxmemory", "0")
        await log.write([(turn(0), 0)])
        assert await indices(log) == [0]

    @pytest.mark.parametrize("key", ["log:7:default:c", "person:7:default:ada", "erased:7:default:ada"])
    async def test_another_type_under_our_key(self, redis: Redis, log: ConversationLog, key: str) -> None:
        await redis.lpush(f"test-switchboard:{key}", "theirs")
        with pytest.raises(
            DependencyUnavailable, match=f"the key test-switchboard:{key} holds a list.*TOPIC_PREFIX"
        ):
            await log.write([(turn(0), 0)])
        assert await redis.lrange(f"test-switchboard:{key}", 0, -1) == [b"theirs"]
        await redis.delete(f"test-switchboard:{key}")
        await log.write([(turn(0), 0)])
        assert await indices(log) == [0]

    async def test_nobody_there(self, tmp_path: Path) -> None:
        log = ConversationLog(Redis(unix_socket_path=str(tmp_path / "nobody")), SPACE)
        with pytest.raises(DependencyUnavailable, match="no usable answer"):
            await log.turns("default", "c", 0, 9)
        await log.close()


class TestLocalValkey:
    def test_it_dies_with_its_process(self, tmp_path: Path) -> None:
        script = (
            "import asyncio, pathlib, sys, time\n"
            "from streams.adapters.local_valkey import LocalValkey\n"
            "server = LocalValkey(pathlib.Path(sys.argv[1]), 'n')\n"
            "asyncio.run(server.ensure())\n"
            "print(server.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        os.kill(pid, 0)
        process.kill()
        process.wait()
        while is_alive(pid):
            time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
