"""The conversation log on a real Valkey, and what may be wrong with that."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import samples
from redis.asyncio import Redis
from waiting import eventually, is_alive

from models.context import Context
from models.errors import ConsistencyError, DependencyUnavailable
from models.turns import Turn
from streams.clients.local_valkey import LocalValkey
from streams.clients.redis_client import open_redis
from streams.config.namespace import Namespace
from streams.config.settings import Settings
from streams.runtime.testing import START
from streams.stores.context_log import ContextLog
from streams.stores.conversation_log import ConversationLog

SPACE = Namespace("test-")


def turn(index: int, conversation: str = "c", **replace: object) -> Turn:
    return samples.turn(index, conversation_id=conversation, sent_at=START, **replace)


def context_after(said_at: datetime) -> Context:
    return samples.context(turn(0), said_at=said_at, made_at=said_at)


def ms(index: int) -> int:
    return int((START + timedelta(seconds=index)).timestamp() * 1000)


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


class TestWhoBegins:
    async def test_the_first_who_says_so(self, log: ConversationLog, redis: Redis) -> None:
        assert await log.begin("acme", {"c": "ada", "d": "ada"}) == {}
        assert await log.begin("acme", {"c": "ada", "e": "ada"}) == {}, "again"
        assert await log.begin("acme", {"c": "bob", "f": "bob"}) == {"c": True}
        assert await log.begin("globex", {"d": "ada", "f": "ada", "g": "ada"}) == {"d": False, "f": False}
        assert await log.begin("acme", {}) == {}
        names = [key async for key in redis.scan_iter("*")]
        assert len(names) == 5 and all([0 < await redis.ttl(key) <= 24 * 3600 for key in names])
        told = b" ".join([*names, *[await redis.get(key) for key in names]])
        assert not any(each in told for each in (b"ada", b"bob", b"acme", b"globex"))

    async def test_reads_belong_to_their_tenant_while_kept(self, log: ConversationLog, redis: Redis) -> None:
        await log.begin("globex", {"c": "eve"})  # and has never written into it
        await log.write([(turn(0), 0)])
        assert await log.begin("globex", {"c": "eve"}) == {"c": False}
        assert await log.begin("default", {"c": "ada"}) == {}
        assert await log.begin("default", {"c": "bob"}) == {"c": True}
        assert [await redis.ttl(key) async for key in redis.scan_iter("*begun*")] == [-1], "as the log"

    async def test_who_begins_again_shortens_nothing(self, valkey: LocalValkey, redis: Redis) -> None:
        week = 7 * 86_400
        log = ConversationLog(valkey.client(), SPACE, expire_seconds=week, ready=valkey.ensure)
        await log.write([(turn(0, arrived_at=datetime.now(UTC)), 0)])
        assert await log.begin("default", {"c": "ada"}) == {}
        assert [await redis.ttl(key) > week - 60 async for key in redis.scan_iter("*begun*")] == [True]
        await log.close()


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

    async def test_an_older_version_replaces_no_newer_one(self, log: ConversationLog) -> None:
        await log.write([(turn(0, text="new"), 7)])
        await log.write([(turn(0, text="old"), 3)])
        assert [each.text for each in await log.turns("default", "c", 0, 9)] == ["new"]
        await log.write([(turn(0, text="newer"), 8)])
        assert [each.text for each in await log.turns("default", "c", 0, 9)] == ["newer"]

    async def test_a_conversation_begun_anew_has_nothing_of_before(self, log: ConversationLog) -> None:
        await log.write((turn(index), index) for index in range(5))
        later = START + timedelta(days=100)
        await log.write([(turn(0, text="again", began_at=later, arrived_at=later), 9)])
        await log.write([(turn(4), 4)])  # a copy out of the earlier life
        assert [(each.index, each.text) for each in await log.turns("default", "c", 0, 99)] == [(0, "again")]
        extent = await log.extent("default", "c")
        assert extent is not None
        assert extent.next_index == 1

    async def test_tenants_and_names_share_nothing(self, log: ConversationLog) -> None:
        await log.write([(turn(0, "b:c", tenant_id="a"), 0), (turn(1, "c", tenant_id="a:b"), 0)])
        assert await indices(log, "b:c", "a") == [0]
        assert await indices(log, "c", "a:b") == [1]
        assert await indices(log, "c") == []
        assert await log.extent("default", "c") is None

    async def test_all_conversations_of_a_person_however_many(self, log: ConversationLog, redis: Redis) -> None:
        names = [f"c{number:05}" for number in range(12_001)]
        person = log._keys.person("default", "ada")
        await redis.zadd(person, {name: number for number, name in enumerate(names)})
        listed = await log.conversations("default", "ada", None)
        assert listed == names[::-1]
        pages: list[str] = []
        while page := await log.conversations("default", "ada", 5_000, pages[-1] if pages else ""):
            pages += page
        assert pages == listed
        assert await log.conversations("default", "ada", 1, "of nobody") == listed[:1]


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

    async def test_read_again_it_is_kept_no_longer(self, log: ConversationLog, redis: Redis) -> None:
        turns = [self.said(0, 80), self.said(1, 40)]
        for _ in range(2):
            await log.write(turns)
            await self.expect(redis, 50)
        await log.write(turns[:1])
        await self.expect(redis, 50)

    async def test_expired_items_are_kept_a_day_while_read(self, log: ConversationLog, redis: Redis) -> None:
        await log.write([self.said(0, 200)])
        await self.expect(redis, 1)
        # Nobody was silent for so long in between: it had not expired.
        await log.write([self.said(1, 120), self.said(2, 31)])
        await self.expect(redis, 59)
        assert await indices(log) == [0, 1, 2]

    async def test_who_takes_part_in_one_that_goes_on_is_known(
        self, log: ConversationLog, redis: Redis
    ) -> None:
        await log.write([self.said(0, 10, conversation="here"), self.said(0, 300, conversation="once")])
        left = await self.days_left(redis)
        assert left["test-switchboard:log:7:default:here"] == pytest.approx(80, abs=0.1)
        assert left["test-switchboard:log:7:default:once"] == pytest.approx(1, abs=0.1)
        assert left["test-switchboard:person:7:default:ada"] == pytest.approx(80, abs=0.1)

    async def test_a_clock_that_is_ahead_keeps_nothing_longer(self, log: ConversationLog, redis: Redis) -> None:
        await log.write([self.said(0, -400)])
        await self.expect(redis, 90)

    async def test_erasures_are_remembered_as_long_as_their_records(
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

    async def test_kept_for_longer_or_for_less_long_from_now_on(
        self, log: ConversationLog, valkey: LocalValkey, redis: Redis
    ) -> None:
        for days, kept in ((0, -1), (90, 90), (30, 30), (0, -1)):
            made = ConversationLog(valkey.client(), SPACE, expire_seconds=days * self.DAY, ready=valkey.ensure)
            await made.write([self.said(0, 0)])
            left = await self.days_left(redis)
            assert all(
                each < 0 if kept < 0 else each == pytest.approx(kept, abs=0.1) for each in left.values()
            ), left
            await made.close()

    async def test_a_context_is_kept_as_long_as_its_log(self, valkey: LocalValkey, redis: Redis) -> None:
        contexts = ContextLog(valkey.client(), SPACE, expire_seconds=90 * self.DAY, ready=valkey.ensure)
        for days_ago, kept in ((200, 1), (40, 50), (60, 50), (0, 90)):
            said_at = datetime.now(UTC) - timedelta(days=days_ago)
            await contexts.write([context_after(said_at)])
            assert [*(await self.days_left(redis)).values()] == pytest.approx([kept], abs=0.1)
        await contexts.close()


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

    async def test_it_is_noticed_before_there_was_any_mark(self, log: ConversationLog, redis: Redis) -> None:
        """What was written and not marked yet is gone with it."""
        assert await log.marks([self.PLACE]) == {self.PLACE: 0}
        await log.write([(turn(0), 0)])
        await redis.flushall()
        with pytest.raises(ConsistencyError, match="was emptied or restarted"):
            await log.set_mark(self.PLACE, 1)

    async def test_another_worker_that_began_it_anew_is_noticed(
        self, log: ConversationLog, valkey: LocalValkey, redis: Redis
    ) -> None:
        other = ConversationLog(valkey.client(), SPACE)
        for each in (log, other):
            await each.marks([self.PLACE])
            await each.set_mark(self.PLACE, 17)
        await redis.flushall()
        await other.marks([self.PLACE])
        await other.set_mark(self.PLACE, 3)
        with pytest.raises(ConsistencyError, match="was emptied or restarted"):
            await log.set_mark(self.PLACE, 18)
        await other.close()


class TestWhatIsWrongWithRedis:
    async def test_full(self, redis: Redis, log: ConversationLog) -> None:
        await redis.config_set("maxmemory", "1")
        with pytest.raises(DependencyUnavailable, match=r"full \(maxmemory\).*SWITCHBOARD_TURN_LOG_DAYS"):
            await log.write([(turn(0), 0)])
        with pytest.raises(DependencyUnavailable, match="full"):
            await log.set_mark(("t", 0), 1)
        await redis.config_set("maxmemory", "0")
        await log.write([(turn(0), 0)])
        assert await indices(log) == [0]

    async def test_read_only(self, redis: Redis, log: ConversationLog) -> None:
        await log.write([(turn(0), 0)])
        await redis.replicaof("127.0.0.1", "1")
        await redis.config_set("replica-serve-stale-data", "yes")
        with pytest.raises(DependencyUnavailable, match=r"takes no writes.*primary"):
            await log.write([(turn(1), 1)])
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

    async def test_gone_in_mid_answer(self, valkey: LocalValkey, log: ConversationLog) -> None:
        await log.write([(turn(0), 0)])
        assert valkey.pid is not None
        os.kill(valkey.pid, signal.SIGSTOP)
        asked = asyncio.create_task(log.turns("default", "c", 0, 9))
        await asyncio.sleep(0)
        os.kill(valkey.pid, signal.SIGKILL)
        with pytest.raises(DependencyUnavailable, match="redis: no usable answer"):
            await asked
        await log.write([(turn(0), 0)])  # it is started again
        assert await indices(log) == [0]


class TestManyAtOnce:
    """A burst of chats asks hundreds of things at a time."""

    @pytest.mark.parametrize("opened", ["of its own", "by its url"])
    async def test_who_finds_no_connection_free_waits_for_one(self, valkey: LocalValkey, opened: str) -> None:
        await valkey.ensure()
        url = f"unix://{valkey.socket}"
        client = valkey.client() if opened == "of its own" else open_redis(Settings(redis_url=url))
        made = ConversationLog(client, SPACE)
        await made.write([(turn(0), 0)])
        found = await asyncio.gather(*(made.last_turns("default", "c", 1) for _ in range(300)))
        assert found == [[turn(0)]] * 300
        assert (await client.info("clients"))["connected_clients"] <= 64
        await made.close()


class TestLocalValkey:
    async def test_many_who_need_it_start_one(self, valkey: LocalValkey) -> None:
        await asyncio.gather(*[valkey.ensure() for _ in range(9)])
        first = valkey.pid
        await valkey.ensure()
        assert valkey.pid == first
        await valkey.close()
        assert valkey.pid is None
        assert not valkey.socket.exists()

    async def test_a_long_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        temporary = tmp_path / ("t" * 90)
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        server = LocalValkey(temporary / ("x" * 120), "n")
        await server.ensure()
        assert len(str(server.socket)) <= 100
        await server.close()

    def test_it_dies_with_its_process(self, tmp_path: Path) -> None:
        script = (
            "import asyncio, pathlib, sys, time\n"
            "from streams.clients.local_valkey import LocalValkey\n"
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
        eventually(lambda: not is_alive(pid), "the server has ended")
