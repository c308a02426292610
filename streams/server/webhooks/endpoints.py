"""Endpoints of webhooks: made, listed and removed, and what each record is signed with (Standard Webhooks)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from models.webhooks import Undelivered, Webhook
from streams.clients.kafka.keyed_topic import KeyedTopic

WEBHOOKS = KeyedTopic("webhooks.endpoints.v1", Webhook, "webhooks")
UNDELIVERED = KeyedTopic("webhooks.undelivered.v1", Undelivered, "undelivered")

#: Endpoints of a deployment: each has a consumer group.
MOST_WEBHOOKS = 100

_PREFIX = "whsec_"


def new_secret() -> str:
    """Return a new secret: 32 random bytes."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def message_id(webhook_id: str, topic: str, partition: int, offset: int) -> str:
    """Return the ``webhook-id`` of a record, the same whenever it is sent again."""
    name = f"{webhook_id}\x1f{topic}\x1f{partition}\x1f{offset}"
    return f"msg_{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def signed_headers(secret: str, message: str, seconds: int, body: bytes) -> dict[str, str]:
    """Return the three headers of a message that is sent at ``seconds`` of the epoch."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.digest(key, f"{message}.{seconds}.".encode() + body, "sha256")
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
