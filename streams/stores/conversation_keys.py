"""Keys and values of the conversation log in Redis (:mod:`streams.stores.conversation_log`).

Below the deployment's prefix::

    log:<tenant>:<conversation>  hash: turns by index ("<version>:<turn as JSON>"), `next` (index of the next
                                 turn), `began` (ms), `erased` and `erased:<turn id>` (up to when, ms)
    person:<tenant>:<person>     sorted set: the person's conversations, by their latest turn (ms)
    erased:<tenant>:<person>     up to when a person was erased (ms)
    begun:<digest>               whose a conversation is (:mod:`streams.stores.begun`)
    log-marks                    hash: up to which offset each partition is in here; `life`: an id that is
                                 gone, with all the rest, when Redis was emptied

Names are written with their length before them, so that no two share a key.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from models.turns import Turn
from streams.config.namespace import Namespace

#: What a key holds, by how it begins; the marks lie in ``log-marks``.
TYPES = {"log": "hash", "log-marks": "hash", "person": "zset", "erased": "string", "begun": "string"}

#: Characters that have a meaning in a pattern of Redis, and how each stands for itself.
_LITERAL = str.maketrans({each: f"\\{each}" for each in "*?[]\\"})

encode_turn = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Turn).decode


class ConversationKeys:
    """Keys of the conversation logs of a deployment."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def log(self, tenant_id: str, conversation_id: str) -> str:
        """Return the key of a conversation's log."""
        return self._of("log", tenant_id, conversation_id)

    def person(self, tenant_id: str, user_id: str) -> str:
        """Return the key of a person's conversations."""
        return self._of("person", tenant_id, user_id)

    def people(self, tenant_id: str) -> str:
        """Return a pattern of the keys that :meth:`person` gives for a tenant."""
        return self.person(tenant_id, "").translate(_LITERAL) + "*"

    def person_of(self, tenant_id: str, key: bytes) -> str:
        """Return the person for whom :meth:`person` gave a key."""
        return key.decode().removeprefix(self.person(tenant_id, ""))

    def erased(self, tenant_id: str, user_id: str) -> str:
        """Return the key of the moment up to which a person was erased."""
        return self._of("erased", tenant_id, user_id)

    def _of(self, what: str, tenant_id: str, name: str) -> str:
        return self._namespace.redis_key(what, str(len(tenant_id)), tenant_id, name)


def turn_of(value: bytes) -> Turn:
    """Return the turn in a stored value, which has the version before it."""
    return _decode(value.partition(b":")[2])


def milliseconds(moment: datetime) -> int:
    """Return a moment as it is stored, in milliseconds since 1970."""
    return round(moment.timestamp() * 1000)
