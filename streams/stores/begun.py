"""Owner and tenant of each conversation, in Redis (or Valkey).

Until the log has read a conversation nothing else tells whose it is; and an id is of one tenant only, which no
log of another tenant can tell.  Below the deployment's prefix::

    begun:<digest of the conversation>  string: digests of its tenant and of who began it

Digests, because it outlives an erasure.
"""

from __future__ import annotations

import hashlib

from streams.config.namespace import Namespace

#: How long it is known who began a conversation that no log has read: longer than the readers may be down.
BEGUN_SECONDS = 24 * 3600

#: How many characters of a value stand for the tenant.
TENANT_CHARACTERS = 32

#: What a script begins with that has somebody begin a conversation.  `begin` returns whose it is then.
BEGIN = """
local function begin(key, who, seconds)
  local begun = redis.call('GET', key)
  if not begun then
    redis.call('SET', key, who, 'EX', seconds)
  elseif begun == who then
    local left = redis.call('TTL', key)
    if left >= 0 and left < tonumber(seconds) then redis.call('EXPIRE', key, seconds) end
  end
  return begun or who
end
"""


def begun_key(namespace: Namespace, conversation_id: str) -> str:
    """Return where it stands who began a conversation."""
    return namespace.redis_key("begun", digest(conversation_id))


def begun_by(tenant_id: str, conversation_id: str, user_id: str) -> str:
    """Return the stored owner."""
    return digest(tenant_id) + digest(tenant_id, conversation_id, user_id)


def digest(*names: str) -> str:
    """Return the digest that stands for names that must not be readable (32 characters)."""
    return hashlib.blake2b(repr(names).encode(), digest_size=16).hexdigest()
