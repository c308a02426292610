"""The latest context of each conversation in Redis (or Valkey), by whom it is for.

A view of ``memory.context.v1``: deleting it loses nothing.  Keys, below those of the deployment's prefix::

    context:<tenant>:<conversation>  hash: by person, "<version>:<context as JSON>"
    context-marks                    hash: up to which offset each partition is in here, and `life`
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import msgspec
from redis.asyncio import Redis

from models.context import Context
from streams.config.namespace import Namespace
from streams.stores.redis_view import KEPT_UNTIL, RedisView

_TYPES = {"context": "hash", "context-marks": "hash"}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Context).decode

#: KEYS: a conversation's contexts each.  ARGV: seconds to live (0: for ever); then for each when the turn came
#: that it was made after (ms), the person, the version and the value; versions are of one length, so that they
#: compare as texts.
_WRITE = (
    KEPT_UNTIL
    + """
for number, key in ipairs(KEYS) do
  local arrived, person, version, value = unpack(ARGV, 4 * number - 2, 4 * number + 1)
  local known = redis.call('HGET', key, person)
  if not known or string.sub(known, 1, #version) <= version then
    redis.call('HSET', key, person, version .. ':' .. value)
  end
  keep(key, tonumber(arrived), tonumber(ARGV[1]))
end
"""
)


class ContextLog(RedisView):
    """The contexts of a deployment, kept as long as the conversation's log."""

    def __init__(
        self,
        client: Redis,
        namespace: Namespace,
        *,
        expire_seconds: float = 0,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(client, namespace, _TYPES, ready=ready)
        self._live = int(expire_seconds)
        self._write = client.register_script(_WRITE)

    async def write(self, contexts: Iterable[Context]) -> None:
        """Store contexts; one made after an earlier turn, or by words only, replaces no better one."""
        keys: list[str] = []
        arguments: list[bytes] = [b"%d" % self._live]
        for context in contexts:
            keys.append(self._key(context.tenant_id, context.conversation_id))
            arrived = b"%d" % round(context.said_at.timestamp() * 1000)
            arguments += [arrived, context.user_id.encode(), _version(context), _encode(context)]
        if keys:
            await self._ask(lambda: self._write(keys, arguments), keys)

    async def read(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        """Return the latest context of a person in a conversation; ``None``: there is none (any more)."""
        key = self._key(tenant_id, conversation_id)
        value: bytes | None = await self._ask(lambda: self._client.hget(key, user_id), [key])
        return None if value is None else _decode(value.partition(b":")[2])

    async def erase(self, tenant_id: str, conversation_id: str) -> None:
        """Remove the contexts of a conversation."""
        key = self._key(tenant_id, conversation_id)
        await self._ask(lambda: self._client.delete(key), [key])

    def _key(self, tenant_id: str, conversation_id: str) -> str:
        return self._namespace.redis_key("context", str(len(tenant_id)), tenant_id, conversation_id)


def _version(context: Context) -> bytes:
    """Return a version that grows with each context of a conversation: life, turn, completeness."""
    began = round(context.began_at.timestamp() * 1000)
    return b"%015d.%010d.%d" % (began, context.after_index, context.by_meaning)
