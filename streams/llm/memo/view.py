"""The view of ``models.memo.v1`` in Redis.  Keys, below those of the deployment's prefix::

memo:<memo id>         what the topic's record says (JSON)
spent:<tenant>         hash: US dollars by day (UTC)
spending:<tenant>      hash: of open calls, by name, until when they count (ms) and what each may cost
memo-erased:<name>     hash: of a conversation, by person, up to which arrival they were erased (ms)
memo-marks             hash: up to which offset each partition is in here
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from redis.asyncio import Redis

from models import ids
from models.memo import Erased
from streams.clients.erasures import Erasing
from streams.clients.redis_client import answered
from streams.config.namespace import Namespace

T = TypeVar("T")

_SCRIPT = (files(__package__) / "view.lua").read_text(encoding="utf-8")
_RESERVE = (files(__package__) / "reserve.lua").read_text(encoding="utf-8")


class Line(NamedTuple):
    """An answer: ``value`` is ``b""`` if it erases.  ``day`` (YYYY-MM-DD) and ``cost_usd`` are what it adds."""

    memo_id: str
    value: bytes
    tenant_id: str = ""
    day: str = ""
    cost_usd: float = 0.0


class MemoView:
    """The view; ``ready`` is awaited before anything is asked of Redis."""

    def __init__(
        self, client: Redis, namespace: Namespace, ready: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._client: Any = client  # its types allow for answers that it is not asked to give
        self._namespace = namespace
        self._ready = ready
        self._take = client.register_script(_SCRIPT)
        self._reserve = client.register_script(_RESERVE)

    async def get(self, memo_ids: Sequence[str]) -> list[bytes | None]:
        """Return the entry of each id."""
        if not memo_ids:
            return []
        keys = [self._answer(each) for each in memo_ids]
        return await self._ask(lambda: self._client.mget(keys))

    async def marks(self, partitions: int) -> list[int]:
        """Return up to which offset each partition is in here; 0 if nothing of it is."""
        names = [str(number) for number in range(partitions)]
        return [int(each or 0) for each in await self._ask(lambda: self._client.hmget(self._marks, names))]

    async def begin_anew(self, partition: int) -> None:
        """Take a partition for unread: its topic was made again."""
        await self._ask(lambda: self._client.hdel(self._marks, str(partition)))

    async def erased(self, conversations: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Erased]:
        """Return the erasures of conversations (tenant, id); a conversation without one is left out."""
        found = {}
        for name in dict.fromkeys(conversations):
            if until := await self._ask(partial(self._client.hgetall, self._erased(*name))):
                found[name] = Erased({user.decode(): _moment(int(ms)) for user, ms in until.items()})
        return found

    async def take(
        self, partition: int, mark: int, following: int, lines: Sequence[Line | Erasing]
    ) -> list[int] | None:
        """Take in what stands between two offsets of a partition, in its order.

        Returns the places of the lines that another answer of their key came before, which stays; ``None`` if
        the view does not stand at ``mark`` any more, and nothing was taken.
        """
        keys: list[str] = [self._marks]
        arguments: list[str | bytes] = [str(partition), str(mark), str(following)]
        for line in lines:
            if isinstance(line, Erasing):
                keys += [self._erased(line.tenant_id, line.conversation_id), self._marks]
                arguments += [str(round(line.until.timestamp() * 1000)), "erased", line.user_id]
                continue
            keys += [self._answer(line.memo_id), self._spent(line.tenant_id)]
            arguments += [line.value, line.day, repr(line.cost_usd)]
        found = await self._ask(lambda: self._take(keys, arguments))
        return None if found == -1 else [number - 1 for number in found]

    async def reserve(
        self, tenant_id: str, day: str, most: float, budget: float, name: str, lease_ms: int
    ) -> bool:
        """Say whether a call that may cost ``most`` is within what a tenant may spend on a day (US dollars).

        If so, that counts as spent until the call is released by its ``name``, or for ``lease_ms``.
        """
        keys = [self._spent(tenant_id), self._spending(tenant_id)]
        arguments: list[str | int] = [day, repr(most), repr(budget), name, lease_ms]
        return bool(await self._ask(lambda: self._reserve(keys, arguments)))

    async def release(self, tenant_id: str, name: str) -> None:
        """Count a call no longer that was counted by :meth:`reserve`."""
        await self._ask(lambda: self._client.hdel(self._spending(tenant_id), name))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await answered(ask, self._ready)

    @property
    def _marks(self) -> str:
        return self._namespace.redis_key("memo-marks")

    def _answer(self, memo_id: str) -> str:
        return self._namespace.redis_key("memo", memo_id)

    def _erased(self, tenant_id: str, conversation_id: str) -> str:
        return self._namespace.redis_key(
            "memo-erased", ids.deterministic_id("erased", tenant_id, conversation_id)
        )

    def _spent(self, tenant_id: str) -> str:
        return self._namespace.redis_key("spent", tenant_id)

    def _spending(self, tenant_id: str) -> str:
        return self._namespace.redis_key("spending", tenant_id)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
