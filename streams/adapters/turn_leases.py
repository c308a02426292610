"""Which turn of a chat runs in a conversation, in Redis (or Valkey), so that it is one at a time at all serves.

No view: who holds a lease renews it, and what is lost with Redis is taken again or has ended.  Keys, below
those of the deployment's prefix::

    turn:<tenant>:<conversation>  string: "<holder> <turn id>", for :data:`LEASE_SECONDS`
    begun:<digest>                string: a digest of who began a conversation, for :data:`BEGUN_SECONDS`
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from redis.asyncio import Redis

from streams.adapters.redis_view import RedisView
from streams.namespace import Namespace
from streams.remembered.ports import somebody_elses

#: For how long a lease holds that nobody renews: a serve that was killed holds up its conversations so long.
LEASE_SECONDS = 10.0

#: How long after its first turn it is known whose a conversation is that no log has read yet: longer than the
#: readers may be down.
BEGUN_SECONDS = 24 * 3600

_TYPES = {"turn": "string", "begun": "string"}

#: KEYS: the lease, who began.  ARGV: who takes the lease, for how long (ms); who begins ("": nobody), known
#: for how long (s).  Returns who has the lease then; false: somebody else began.  Who does not get the lease
#: has begun nothing: after Redis was emptied the one who has it may be who did.
_CLAIM = """
if ARGV[3] ~= '' then
  local begun = redis.call('GET', KEYS[2])
  if begun and begun ~= ARGV[3] then return false end
end
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if ARGV[3] ~= '' then redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4]) end
return ARGV[1]
"""

_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


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
        self._release = client.register_script(_RELEASE)

    async def claim(
        self, tenant_id: str, conversation_id: str, turn_id: str, holder: str, begun_by: str = ""
    ) -> str | None:
        """Take or renew the lease; return ``None`` if it is the holder's then, else the turn that has it.

        ``begun_by``: who begins the conversation with it.

        Raises:
            NotFound: somebody else has begun it.
        """
        place = tenant_id, conversation_id
        keys = [self._key(*place), self._namespace.redis_key("begun", _digest(*place))]
        mine = f"{holder} {turn_id}".encode()
        who = _digest(*place, begun_by) if begun_by else ""
        arguments: list[bytes | str | int] = [mine, self._milliseconds, who, BEGUN_SECONDS]
        has: bytes | None = await self._ask(lambda: self._claim(keys, arguments), keys)
        if has is None:
            raise somebody_elses(begun_by, conversation_id)
        return None if has == mine else _turn_of(has)

    async def release(self, tenant_id: str, conversation_id: str, turn_id: str, holder: str) -> None:
        """Let go of the lease, if it is the holder's."""
        key = self._key(tenant_id, conversation_id)
        await self._ask(lambda: self._release([key], [f"{holder} {turn_id}"]), [key])

    async def held(self, tenant_id: str, conversation_id: str) -> str | None:
        """Return the turn that runs in a conversation."""
        key = self._key(tenant_id, conversation_id)
        has: bytes | None = await self._ask(lambda: self._client.get(key), [key])
        return None if has is None else _turn_of(has)

    def _key(self, tenant_id: str, conversation_id: str) -> str:
        return self._namespace.redis_key("turn", str(len(tenant_id)), tenant_id, conversation_id)


def _digest(*names: str) -> str:
    """Return what stands for names where they must not be read: it outlives an erasure."""
    return hashlib.blake2b(repr(names).encode(), digest_size=16).hexdigest()


def _turn_of(value: bytes) -> str:
    return value.decode(errors="replace").partition(" ")[2]
