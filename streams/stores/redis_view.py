"""A view of topics in Redis (or Valkey): asking it, and up to where it was filled.

Whatever is wrong with Redis is waited for (:class:`DependencyUnavailable`): it says what to do, and nothing is
lost meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar
from uuid import uuid4

from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError

from models.errors import ConsistencyError, DependencyUnavailable
from streams.clients.redis_client import in_words
from streams.config.namespace import Namespace

T = TypeVar("T")

#: A topic and a partition of it.
Place = tuple[str, int]

#: Longest wait for an answer, of a conversation's whole batch.
_ANSWER_SECONDS = 20.0

#: What a script begins with that says how long something is kept.
KEPT_UNTIL = (files(__package__) / "kept_until.lua").read_text(encoding="utf-8")

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


class RedisView:
    """Common base of the views in Redis.

    ``types`` says what a key of the view holds, by how it begins; the one that ends in ``-marks`` holds its
    marks, and ``life``: an id that is gone, with all the rest, when Redis was emptied.  ``ready`` is awaited
    before anything is asked of Redis.
    """

    def __init__(
        self,
        client: Redis,
        namespace: Namespace,
        types: Mapping[str, str],
        *,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client: Any = client  # its types allow for answers that it is not asked to give
        self._namespace = namespace
        self._types = types
        self._ready = ready
        self._mark = client.register_script(_MARK)
        self._read_marks = client.register_script(_MARKS)
        #: Which view is written to; None: any.
        self._life: bytes | None = None

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
        begins = self._namespace.redis_key("")
        for key in keys:
            try:
                found = await self._client.type(key)
            except (RedisError, OSError):
                break
            wanted = self._types[key.removeprefix(begins).partition(":")[0]]
            if found.decode() not in ("none", wanted):
                return (
                    f"the key {key} holds a {found.decode()} that is not Switchboard's: delete or rename it, "
                    "or set SWITCHBOARD_TOPIC_PREFIX, so that keys have other names"
                )
        return "a key of ours held something of another type"

    def _marks(self) -> str:
        (name,) = [name for name in self._types if name.endswith("-marks")]
        return self._namespace.redis_key(name)


def _waited_for(error: RedisError | OSError) -> DependencyUnavailable:
    said = in_words(error)
    return said if isinstance(said, DependencyUnavailable) else DependencyUnavailable("redis", str(said))


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"
