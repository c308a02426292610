"""The log of each conversation in Redis (or Valkey): its turns by absolute index.

A view of ``memory.turns.v1``: deleting it loses nothing.  :mod:`streams.stores.conversation_keys` names what is
stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import NamedTuple

import msgspec
from redis.asyncio import Redis

from models.turns import Turn
from streams.config.namespace import Namespace
from streams.stores.begun import BEGIN, BEGUN_SECONDS, TENANT_CHARACTERS, begun_by, begun_key
from streams.stores.conversation_keys import TYPES, ConversationKeys, encode_turn, milliseconds, turn_of
from streams.stores.redis_view import KEPT_UNTIL, RedisView

_WRITE, _AT = (
    (files(__package__) / f"conversation_log{name}.lua").read_text(encoding="utf-8") for name in ("", "_at")
)
_WRITE = KEPT_UNTIL + _WRITE

#: KEYS: a log.  ARGV: up to when something of it was erased (ms), and seconds to live.
_KEEP = KEPT_UNTIL + "return keep(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))"

#: KEYS: conversations.  ARGV: for how long it is known (s); for each conversation who begins it.  Returns whose
#: each is then.
_BEGIN = (
    BEGIN
    + """
local found = {}
for number, key in ipairs(KEYS) do found[number] = begin(key, ARGV[number + 1], ARGV[1]) end
return found
"""
)


class Extent(NamedTuple):
    """How long a conversation's log is: the index of its next turn, and when it began (ms)."""

    next_index: int
    began_ms: int


class Erasures(NamedTuple):
    """Up to when (ms) a person and conversations were erased, ``-1``: never; and turns, those that were."""

    person: int
    conversations: Mapping[str, int]
    turns: Mapping[str, int]


class ConversationLog(RedisView):
    """The logs of all conversations of a deployment.

    ``expire_seconds``: how long a log is kept after its latest turn arrived, and for a day while it is read
    again; 0: for ever.  ``ready`` is awaited before anything is asked of Redis.
    """

    def __init__(
        self,
        client: Redis,
        namespace: Namespace,
        *,
        expire_seconds: float = 0,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(client, namespace, TYPES, ready=ready)
        self._keys = ConversationKeys(namespace)
        self._live = int(expire_seconds)
        self._write = client.register_script(_WRITE)
        self._at = client.register_script(_AT)
        self._keep = client.register_script(_KEEP)
        self._begin = client.register_script(_BEGIN)

    # -- writing -------------------------------------------------------------------------------------------

    async def write(self, turns: Iterable[tuple[Turn, int]]) -> dict[str, int]:
        """Store turns, each with its version (the offset of its record); an older one replaces no newer one.

        A turn of an earlier life of its conversation, or one that was erased, is passed over.  Returns the
        latter by their ids, and up to when (ms) each was erased.
        """
        by_log: dict[str, list[tuple[Turn, int]]] = {}
        erased: dict[str, int] = {}
        for turn, version in turns:
            by_log.setdefault(self._keys.log(turn.tenant_id, turn.conversation_id), []).append((turn, version))
        for log, items in by_log.items():
            first = items[0][0]
            name = first.conversation_id
            keys = [log, begun_key(self._namespace, name)]
            arguments = [name.encode(), b"%d" % self._live]
            arguments += [begun_by(first.tenant_id, name, first.user_id).encode(), b"%d" % TENANT_CHARACTERS]
            for turn, version in items:
                keys += [
                    self._keys.person(turn.tenant_id, turn.user_id),
                    self._keys.erased(turn.tenant_id, turn.user_id),
                ]
                arguments += [
                    b"%d" % milliseconds(turn.began_at),
                    b"%d" % milliseconds(turn.arrived_at),
                    turn.turn_id.encode(),
                    b"%d" % turn.index,
                    b"%d" % version,
                    encode_turn(turn),
                ]
            refused: list[int | bytes] = await self._ask(partial(self._write, keys, arguments), keys)
            for number, until in zip(refused[::2], refused[1::2], strict=True):
                erased[items[int(number) - 1][0].turn_id] = int(until)
        return erased

    async def begin(self, tenant_id: str, people: Mapping[str, str]) -> dict[str, bool]:
        """Have people begin conversations, each the one that it is named by.

        Returns those that somebody else had begun, and of each whether it was somebody of the tenant.
        """
        if not people:
            return {}
        keys = [begun_key(self._namespace, name) for name in people]
        mine = [begun_by(tenant_id, name, user_id) for name, user_id in people.items()]
        begun: list[bytes] = await self._ask(lambda: self._begin(keys, [BEGUN_SECONDS, *mine]), keys)
        found = zip(people, mine, (each.decode() for each in begun), strict=True)
        return {
            name: whose[:TENANT_CHARACTERS] == own[:TENANT_CHARACTERS]
            for name, own, whose in found
            if whose != own
        }

    async def erase_turns(self, tenant_id: str, conversation_id: str, until_ms: Mapping[str, int]) -> None:
        """Remove turns; no copy of them is taken any more that arrived up to the moment that each has."""
        log = self._keys.log(tenant_id, conversation_id)

        async def erase() -> None:
            await self._client.hset(log, mapping={f"erased:{name}": until for name, until in until_ms.items()})
            gone = await self._drop(
                log, lambda turn: milliseconds(turn.arrived_at) <= until_ms.get(turn.turn_id, -1)
            )
            await self._keep([log], [max(until_ms.values()), self._live])
            await self._leave(tenant_id, conversation_id, gone)

        await self._ask(erase, [log])

    async def erase_conversation(self, tenant_id: str, conversation_id: str, until_ms: int) -> None:
        """Remove what arrived of a conversation up to ``until_ms``; no copy of it is taken any more."""
        log = self._keys.log(tenant_id, conversation_id)

        async def erase() -> None:
            await self._client.hset(log, "erased", until_ms)
            gone = await self._drop(log, lambda turn: milliseconds(turn.arrived_at) <= until_ms)
            await self._keep([log], [until_ms, self._live])
            await self._leave(tenant_id, conversation_id, gone)

        await self._ask(erase, [log])

    async def erase_person(self, tenant_id: str, user_id: str, until_ms: int) -> None:
        """Remove what arrived of a person up to ``until_ms``, in all conversations; no copy of it is taken."""
        person, erased = self._keys.person(tenant_id, user_id), self._keys.erased(tenant_id, user_id)

        def is_theirs(turn: Turn) -> bool:
            return turn.user_id == user_id and milliseconds(turn.arrived_at) <= until_ms

        async def erase() -> None:
            await self._client.set(erased, until_ms)
            for name in await self._client.zrange(person, 0, -1):
                await self._drop(self._keys.log(tenant_id, name.decode()), is_theirs)
            await self._client.zremrangebyscore(person, "-inf", until_ms)

        await self._ask(erase, [person, erased])

    # -- reading -------------------------------------------------------------------------------------------

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        """Return how long a log is; ``None``: there is none (it has expired, or there never was one)."""
        log = self._keys.log(tenant_id, conversation_id)
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
        log = self._keys.log(tenant_id, conversation_id)
        values = await self._ask(lambda: self._client.hmget(log, [str(index) for index in wanted]), [log])
        return [turn_of(value) for value in values if value is not None]

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        """Return the turns that there are at these indices of conversations, in one round trip.

        As one answer: a search asks for hundreds, and to read as many answers takes ten times as long.
        """
        wanted = {
            self._keys.log(tenant_id, name): [str(each) for each in some]
            for name, some in indices.items()
            if some
        }
        if not wanted:
            return []
        asked = msgspec.json.encode([*wanted.values()])
        found: bytes = await self._ask(partial(self._at, [*wanted], [asked]), [*wanted])
        return [turn_of(value) for value in found.splitlines()]

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        """Return the erasures of a person, of conversations, and of these turns in them."""
        person = self._keys.erased(tenant_id, user_id)
        logs = {name: self._keys.log(tenant_id, name) for name in turn_ids}

        async def ask() -> list[list[bytes | None]]:
            async with self._client.pipeline(transaction=False) as pipeline:
                pipeline.mget([person])
                for name, some in turn_ids.items():
                    pipeline.hmget(logs[name], ["erased", *[f"erased:{each}" for each in some]])
                answers: list[list[bytes | None]] = await pipeline.execute()
                return answers

        (of_person,), *found = await self._ask(ask, [person, *logs.values()])
        return Erasures(
            int(of_person or -1),
            {name: int(until[0] or -1) for name, until in zip(turn_ids, found, strict=True)},
            {
                each: int(at)
                for some, until in zip(turn_ids.values(), found, strict=True)
                for each, at in zip(some, until[1:], strict=True)
                if at is not None
            },
        )

    async def length(self, tenant_id: str, conversation_id: str) -> int:
        """Return the index of a conversation's next turn; 0: there is no log of it."""
        extent = await self.extent(tenant_id, conversation_id)
        return 0 if extent is None else extent.next_index

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        person = self._keys.person(tenant_id, user_id)
        score = await self._ask(lambda: self._client.zscore(person, conversation_id), [person])
        return score is not None

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last ``count`` turns of a conversation, oldest first."""
        extent = await self.extent(tenant_id, conversation_id)
        if extent is None or count <= 0:
            return []
        return await self.turns(tenant_id, conversation_id, extent.next_index - count, extent.next_index - 1)

    async def conversations(
        self, tenant_id: str, user_id: str, limit: int | None, after: str = ""
    ) -> list[str]:
        """Return a person's conversations, the one with the latest turn first; ``limit`` ``None``: all of them.

        ``after``: those behind that one, or all again if it is none of theirs any more.
        """
        person = self._keys.person(tenant_id, user_id)

        async def ask() -> list[bytes]:
            rank = await self._client.zrevrank(person, after) if after else None
            first = 0 if rank is None else rank + 1
            found: list[bytes] = await self._client.zrevrange(
                person, first, -1 if limit is None else first + limit - 1
            )
            return found

        return [name.decode() for name in await self._ask(ask, [person])]

    async def people(self, tenant_id: str) -> list[str]:
        """Return the people of a tenant who take part in conversations, by name; it looks at every key."""
        pattern = self._keys.people(tenant_id)

        async def ask() -> list[bytes]:
            return [key async for key in self._client.scan_iter(match=pattern, count=1000)]

        found = await self._ask(ask, [self._keys.person(tenant_id, "")])
        return sorted({self._keys.person_of(tenant_id, key) for key in found})

    async def _drop(self, log: str, is_one: Callable[[Turn], bool]) -> set[str]:
        """Remove turns; return the people of whom nothing is left in the log.  It is kept as long as it was."""
        stored: Mapping[bytes, bytes] = await self._client.hgetall(log)
        turns = {field: turn_of(value) for field, value in stored.items() if field.isdigit()}
        gone = [field for field, turn in turns.items() if is_one(turn)]
        if gone:
            await self._client.hdel(log, *gone)
        left = {turn.user_id for field, turn in turns.items() if field not in gone}
        return {turns[field].user_id for field in gone} - left

    async def _leave(self, tenant_id: str, conversation_id: str, people: Iterable[str]) -> None:
        """People of whom nothing is left in a conversation take part in it no more."""
        for user_id in people:
            await self._client.zrem(self._keys.person(tenant_id, user_id), conversation_id)
