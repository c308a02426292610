"""Leases of chat turns in Redis (or Valkey), so that a conversation has one turn at a time at all serves.

No view: who holds a lease renews it, and what is lost with Redis is taken again or has ended.  Keys, below
those of the deployment's prefix, besides those of :mod:`streams.stores.begun`::

    turn:<tenant>:<conversation>  string: "<holder> <turn id>", for :data:`LEASE_SECONDS`
    running:<digest>              string: of a turn of a person, `runs`, `stop` (somebody wants it to end) or
                                  `ended:<status>`; for as long
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from redis.asyncio import Redis

from streams.config.namespace import Namespace
from streams.stores.begun import BEGIN, BEGUN_SECONDS, begun_by, begun_key, digest
from streams.stores.redis_view import RedisView
from streams.stores.remembered.ports import Held, WhoseTurn, somebody_elses

#: For how long a lease holds that nobody renews: a serve that was killed holds up its conversations so long.
LEASE_SECONDS = 10.0

_TYPES = {"turn": "string", "begun": "string", "running": "string"}

#: Takes or renews a lease: its key, the one of who began, who takes it, for how long (ms); who begins
#: ("": nobody), known for how long (s).  Returns who has the lease then; false: somebody else began.  Who does
#: not get the lease has begun nothing: after Redis was emptied the one who has it may be who did.
_CLAIMING = (
    BEGIN
    + """
local function claim(lease, beginner, mine, milliseconds, who, kept)
  if who ~= '' then
    local begun = redis.call('GET', beginner)
    if begun and begun ~= who then return false end
  end
  local held = redis.call('GET', lease)
  if held and held ~= mine then return held end
  redis.call('SET', lease, mine, 'PX', milliseconds)
  if who ~= '' then begin(beginner, who, kept) end
  return mine
end
"""
)

#: KEYS: the lease, who began.  ARGV: for how long each is kept (ms, s), who takes the lease, who begins.
_CLAIM = _CLAIMING + "return claim(KEYS[1], KEYS[2], ARGV[3], ARGV[1], ARGV[4], ARGV[2])"

#: The same of many: KEYS and the last two of ARGV come again and again.  Returns for each who has it then.
_RENEW = (
    _CLAIMING
    + """
local has = {}
for lease = 1, #KEYS / 2 do
  local mine, who = ARGV[2 * lease + 1], ARGV[2 * lease + 2]
  has[lease] = claim(KEYS[2 * lease - 1], KEYS[2 * lease], mine, ARGV[1], who, ARGV[2])
end
return has
"""
)

_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"

#: KEYS: turns that run.  ARGV: known for how long (ms).  Returns for each whether it is to be stopped.
_POLL = """
local asked = {}
for turn, key in ipairs(KEYS) do
  local is_asked = redis.call('GET', key) == 'stop'
  redis.call('SET', key, is_asked and 'stop' or 'runs', 'PX', ARGV[1])
  asked[turn] = is_asked and 1 or 0
end
return asked
"""

#: KEYS: a turn.  Returns what is known of it; if it runs, it is to be stopped from now on.
_STOP = """
local known = redis.call('GET', KEYS[1])
if known == 'runs' then redis.call('SET', KEYS[1], 'stop', 'KEEPTTL') end
return known
"""


class TurnLeases(RedisView):
    """The leases of a deployment.  ``holder`` is the name of a process, without spaces.

    Everything raises :class:`DependencyUnavailable` when Redis does not answer.
    """

    def __init__(
        self,
        client: Redis,
        namespace: Namespace,
        *,
        seconds: float = LEASE_SECONDS,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(client, namespace, _TYPES, ready=ready)
        self._milliseconds = int(1000 * seconds)
        self._claim = client.register_script(_CLAIM)
        self._renew = client.register_script(_RENEW)
        self._release = client.register_script(_RELEASE)
        self._poll = client.register_script(_POLL)
        self._stop = client.register_script(_STOP)

    async def claim(
        self, tenant_id: str, conversation_id: str, turn_id: str, holder: str, begins: str = ""
    ) -> str | None:
        """Take or renew the lease; return ``None`` if it is the holder's then, else the turn that has it.

        ``begins``: who begins the conversation with it.

        Raises:
            NotFound: somebody else has begun it.
        """
        held = Held(tenant_id, conversation_id, turn_id, begins)
        keys, (mine, who) = self._keys(held), _claimed(held, holder)
        arguments: list[bytes | str | int] = [self._milliseconds, BEGUN_SECONDS, mine, who]
        has: bytes | None = await self._ask(lambda: self._claim(keys, arguments), keys)
        if has is None:
            raise somebody_elses(begins, conversation_id)
        return None if has == mine else _turn_of(has)

    async def renew(self, held: Sequence[Held], holder: str) -> list[str | None]:
        """Renew leases, all in one call, as :meth:`claim` does one.

        Returns of each ``None`` if it is the holder's then, else the turn that has it; ``""`` where somebody
        else has begun the conversation.
        """
        if not held:
            return []
        keys = [key for each in held for key in self._keys(each)]
        claimed = [_claimed(each, holder) for each in held]
        arguments: list[bytes | str | int] = [self._milliseconds, BEGUN_SECONDS]
        arguments += [each for pair in claimed for each in pair]
        has: list[bytes | None] = await self._ask(lambda: self._renew(keys, arguments), keys)
        return [
            "" if whose is None else None if whose == mine else _turn_of(whose)
            for whose, (mine, _) in zip(has, claimed, strict=True)
        ]

    async def release(self, tenant_id: str, conversation_id: str, turn_id: str, holder: str) -> None:
        """Let go of the lease, if it is the holder's."""
        key = self._key(tenant_id, conversation_id)
        await self._ask(lambda: self._release([key], [f"{holder} {turn_id}"]), [key])

    async def held(self, tenant_id: str, conversation_id: str) -> str | None:
        """Return the turn that runs in a conversation."""
        key = self._key(tenant_id, conversation_id)
        has: bytes | None = await self._ask(lambda: self._client.get(key), [key])
        return None if has is None else _turn_of(has)

    async def poll_cancellations(self, turns: Sequence[WhoseTurn]) -> list[bool]:
        """Make known that turns run; return of each whether somebody wants it to end."""
        keys = [self._running(each) for each in turns]
        if not keys:
            return []
        asked: list[int] = await self._ask(lambda: self._poll(keys, [self._milliseconds]), keys)
        return [bool(each) for each in asked]

    async def stop(self, turn: WhoseTurn) -> str | None:
        """Want a turn to end; return how it has, ``""`` while it runs, ``None`` if nothing is known of it."""
        key = self._running(turn)
        known: bytes | None = await self._ask(lambda: self._stop([key]), [key])
        return None if known is None else known.decode().partition(":")[2]

    async def end(self, turn: WhoseTurn, status: str) -> None:
        """Make known how a turn has ended."""
        key = self._running(turn)
        await self._ask(lambda: self._client.set(key, f"ended:{status}", px=self._milliseconds), [key])

    def _keys(self, held: Held) -> list[str]:
        return [
            self._key(held.tenant_id, held.conversation_id),
            begun_key(self._namespace, held.conversation_id),
        ]

    def _running(self, turn: WhoseTurn) -> str:
        return self._namespace.redis_key("running", digest(*turn))

    def _key(self, tenant_id: str, conversation_id: str) -> str:
        return self._namespace.redis_key("turn", str(len(tenant_id)), tenant_id, conversation_id)


def _claimed(held: Held, holder: str) -> tuple[bytes, str]:
    """Return the holder's part of a lease for a turn, and the user who begins it."""
    who = begun_by(held.tenant_id, held.conversation_id, held.begins) if held.begins else ""
    return f"{holder} {held.turn_id}".encode(), who


def _turn_of(value: bytes) -> str:
    return value.decode(errors="replace").partition(" ")[2]
