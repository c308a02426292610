"""The log of each conversation in Redis (or Valkey): its turns by absolute index.

A view of ``memory.turns.v1``: deleting it loses nothing.  Keys, below those of the deployment's prefix::

    log:<tenant>:<conversation>  hash: turns by index ("<version>:<turn as JSON>"), `next` (index of the next
                                 turn), `began` (ms), `erased` and `erased:<turn id>` (up to when, ms)
    person:<tenant>:<person>     sorted set: the person's conversations, by their latest turn (ms)
    erased:<tenant>:<person>     up to when a person was erased (ms)
    log-marks                    hash: up to which offset each partition is in here; `life`: an id that is
                                 gone, with all the rest, when Redis was emptied

Names are written with their length before them, so that no two share a key.  Whatever is wrong with Redis is
waited for (:class:`DependencyUnavailable`): it says what to do, and nothing is lost meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import msgspec
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError

from models.errors import ConsistencyError, DependencyUnavailable
from models.turns import Turn
from streams.adapters.redis_client import in_words
from streams.namespace import Namespace

T = TypeVar("T")

#: A topic and a partition of it.
Place = tuple[str, int]

#: Longest wait for an answer, of a conversation's whole batch.
_ANSWER_SECONDS = 20.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Turn).decode

_WRITE = (files(__package__) / "conversation_log.lua").read_text(encoding="utf-8")

#: Sets a mark unless the view is not the one that was begun: then what was written there is gone.  Returns
#: which one it is.
_MARK = """
local life = redis.call('HGET', KEYS[1], 'life')
if ARGV[3] == '' then
  life = life or ARGV[4]
  redis.call('HSET', KEYS[1], 'life', life)
elseif life ~= ARGV[3] then
  return false
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return life
"""

#: Begins the view unless it was begun; returns which one it is, and its marks.
_MARKS = """
redis.call('HSETNX', KEYS[1], 'life', ARGV[1])
return redis.call('HMGET', KEYS[1], 'life', unpack(ARGV, 2))
"""


class Extent(NamedTuple):
    """How long a conversation's log is: the index of its next turn, and when it began (ms)."""

    next_index: int
    began_ms: int


class ConversationLog:
    """The logs of all conversations of a deployment.

    ``expire_seconds``: how long a log is kept after its latest turn; 0: for ever.  ``ready`` is awaited before
    anything is asked of Redis.
    """

    def __init__(
        self,
        client: Redis,
        namespace: Namespace,
        *,
        expire_seconds: float = 0,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client: Any = client  # its types allow for answers that it is not asked to give
        self._namespace = namespace
        self._live = int(expire_seconds)
        self._ready = ready
        self._write = client.register_script(_WRITE)
        self._mark = client.register_script(_MARK)
        self._read_marks = client.register_script(_MARKS)
        #: Which view is written to; None: any.
        self._life: bytes | None = None

    # -- writing -------------------------------------------------------------------------------------------

    async def write(self, turns: Iterable[tuple[Turn, int]]) -> None:
        """Store turns, each with its version (the offset of its record); an older one replaces no newer one.

        A turn of an earlier life of its conversation, or one that was erased, is passed over.
        """
        by_log: dict[str, list[tuple[Turn, int]]] = {}
        for turn, version in turns:
            by_log.setdefault(self._log(turn.tenant_id, turn.conversation_id), []).append((turn, version))
        for log, items in by_log.items():
            keys, arguments = [log], [items[0][0].conversation_id.encode(), b"%d" % self._live]
            for turn, version in items:
                keys += [self._person(turn.tenant_id, turn.user_id), self._erased(turn.tenant_id, turn.user_id)]
                arguments += [
                    b"%d" % _ms(turn.began_at),
                    b"%d" % _ms(turn.arrived_at),
                    turn.turn_id.encode(),
                    b"%d" % turn.index,
                    b"%d" % version,
                    _encode(turn),
                ]
            await self._ask(partial(self._write, keys, arguments), keys)

    async def erase_turn(self, tenant_id: str, conversation_id: str, turn_id: str, until_ms: int) -> None:
        """Remove a turn; no copy of it that arrived up to ``until_ms`` is taken any more."""
        log = self._log(tenant_id, conversation_id)

        async def erase() -> None:
            await self._client.hset(log, f"erased:{turn_id}", until_ms)
            await self._drop(log, lambda turn: turn.turn_id == turn_id and _ms(turn.arrived_at) <= until_ms)

        await self._ask(erase, [log])

    async def erase_conversation(self, tenant_id: str, conversation_id: str, until_ms: int) -> None:
        """Remove what arrived of a conversation up to ``until_ms``; no copy of it is taken any more."""
        log = self._log(tenant_id, conversation_id)

        async def erase() -> None:
            await self._client.hset(log, "erased", until_ms)
            await self._drop(log, lambda turn: _ms(turn.arrived_at) <= until_ms)

        await self._ask(erase, [log])

    async def erase_person(self, tenant_id: str, user_id: str, until_ms: int) -> None:
        """Remove what arrived of a person up to ``until_ms``, in all conversations; no copy of it is taken."""
        person, erased = self._person(tenant_id, user_id), self._erased(tenant_id, user_id)

        def is_theirs(turn: Turn) -> bool:
            return turn.user_id == user_id and _ms(turn.arrived_at) <= until_ms

        async def erase() -> None:
            await self._client.set(erased, until_ms)
            for name in await self._client.zrange(person, 0, -1):
                await self._drop(self._log(tenant_id, name.decode()), is_theirs)
            await self._client.zremrangebyscore(person, "-inf", until_ms)

        await self._ask(erase, [person, erased])

    # -- reading -------------------------------------------------------------------------------------------

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        """Return how long a log is; ``None``: there is none (it has expired, or there never was one)."""
        log = self._log(tenant_id, conversation_id)
        following, began = await self._ask(lambda: self._client.hmget(log, ["next", "began"]), [log])
        return None if following is None else Extent(int(following), int(began))

    async def turns(self, tenant_id: str, conversation_id: str, first: int, last: int) -> list[Turn]:
        """Return the turns with indices ``first`` to ``last`` (inclusive), in order; those that there are."""
        extent = await self.extent(tenant_id, conversation_id)
        if extent is None:
            return []
        wanted = range(max(0, first), min(last, extent.next_index - 1) + 1)
        if not wanted:
            return []
        log = self._log(tenant_id, conversation_id)
        values = await self._ask(lambda: self._client.hmget(log, [str(index) for index in wanted]), [log])
        return [_turn(value) for value in values if value is not None]

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        """Return the turns that there are at these indices of conversations, in one round trip."""
        wanted = [
            (self._log(tenant_id, name), [str(each) for each in some]) for name, some in indices.items() if some
        ]
        if not wanted:
            return []

        async def ask() -> list[list[bytes | None]]:
            async with self._client.pipeline(transaction=False) as pipeline:
                for log, fields in wanted:
                    pipeline.hmget(log, fields)
                answers: list[list[bytes | None]] = await pipeline.execute()
                return answers

        found = await self._ask(ask, [log for log, _ in wanted])
        return [_turn(value) for values in found for value in values if value is not None]

    async def length(self, tenant_id: str, conversation_id: str) -> int:
        """Return the index of a conversation's next turn; 0: there is no log of it."""
        extent = await self.extent(tenant_id, conversation_id)
        return 0 if extent is None else extent.next_index

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        person = self._person(tenant_id, user_id)
        score = await self._ask(lambda: self._client.zscore(person, conversation_id), [person])
        return score is not None

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last ``count`` turns of a conversation, oldest first."""
        extent = await self.extent(tenant_id, conversation_id)
        if extent is None or count <= 0:
            return []
        return await self.turns(tenant_id, conversation_id, extent.next_index - count, extent.next_index - 1)

    async def conversations(self, tenant_id: str, user_id: str, limit: int) -> list[str]:
        """Return a person's conversations, the one with the latest turn first."""
        person = self._person(tenant_id, user_id)
        names = await self._ask(lambda: self._client.zrevrange(person, 0, limit - 1), [person])
        return [name.decode() for name in names]

    # -- marks ---------------------------------------------------------------------------------------------

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return up to which offset each partition is in here; 0 if nothing is."""
        if not places:
            return {}
        key, names = self._marks(), [_name(place) for place in places]
        self._life, *values = await self._ask(lambda: self._read_marks([key], [uuid4().hex, *names]), [key])
        return {place: int(value or 0) for place, value in zip(places, values, strict=True)}

    async def set_mark(self, place: Place, next_offset: int) -> None:
        """Note that everything of a partition below ``next_offset`` is in here.

        Raises:
            ConsistencyError: Redis was emptied since the last time: started again, the worker fills it again.
        """
        key = self._marks()
        arguments: list[bytes | str | int] = [_name(place), next_offset, self._life or "", uuid4().hex]
        life = await self._ask(lambda: self._mark([key], arguments), [key])
        if life is None:
            raise ConsistencyError(
                f"Redis no longer holds what was written there of {_name(place)}: it was emptied or restarted. "
                "The worker stops; started again, it fills Redis from the topics"
            )
        self._life = life

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    # -- asking --------------------------------------------------------------------------------------------

    async def _ask(self, ask: Callable[[], Awaitable[T]], keys: Sequence[str]) -> T:
        """Ask Redis; what is wrong with it is said in words, and can be waited for."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                if self._ready is not None:
                    await self._ready()
                return await ask()
        except OutOfMemoryError as error:
            raise DependencyUnavailable(
                "redis",
                "it is full (maxmemory): give it more memory, or keep logs for less long "
                "(SWITCHBOARD_TURN_LOG_DAYS)",
            ) from error
        except ReadOnlyError as error:
            raise DependencyUnavailable(
                "redis", "it takes no writes: SWITCHBOARD_REDIS_URL must name the primary, not a replica"
            ) from error
        except (RedisError, OSError) as error:  # TimeoutError is one
            if "WRONGTYPE" in str(error):
                raise DependencyUnavailable("redis", await self._whose(keys)) from error
            raise _waited_for(error) from error

    async def _whose(self, keys: Sequence[str]) -> str:
        ours = {"log": b"hash", "log-marks": b"hash", "person": b"zset", "erased": b"string"}
        begins = self._namespace.redis_key("")
        for key in keys:
            try:
                found = await self._client.type(key)
            except (RedisError, OSError):
                break
            if found not in (b"none", ours[key.removeprefix(begins).partition(":")[0]]):
                return (
                    f"the key {key} holds a {found.decode()} that is not Switchboard's: delete or rename it, "
                    "or set SWITCHBOARD_TOPIC_PREFIX, so that keys have other names"
                )
        return "a key of ours held something of another type"

    async def _drop(self, log: str, is_one: Callable[[Turn], bool]) -> None:
        stored: Mapping[bytes, bytes] = await self._client.hgetall(log)
        gone = [field for field, value in stored.items() if field.isdigit() and is_one(_turn(value))]
        if gone:
            await self._client.hdel(log, *gone)
        if self._live:
            await self._client.expire(log, self._live)

    def _log(self, tenant_id: str, conversation_id: str) -> str:
        return self._namespace.redis_key("log", str(len(tenant_id)), tenant_id, conversation_id)

    def _person(self, tenant_id: str, user_id: str) -> str:
        return self._namespace.redis_key("person", str(len(tenant_id)), tenant_id, user_id)

    def _erased(self, tenant_id: str, user_id: str) -> str:
        return self._namespace.redis_key("erased", str(len(tenant_id)), tenant_id, user_id)

    def _marks(self) -> str:
        return self._namespace.redis_key("log-marks")


def _waited_for(error: RedisError | OSError) -> DependencyUnavailable:
    said = in_words(error)
    return said if isinstance(said, DependencyUnavailable) else DependencyUnavailable("redis", str(said))


def _turn(value: bytes) -> Turn:
    return _decode(value.partition(b":")[2])


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
