"""``webhooks.endpoints.v1`` and ``webhooks.undelivered.v1``: who is told of facts and summaries over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from models.facts import Count
from models.messages import Identifier, Timestamp

#: The topics whose records are delivered.
WebhookTopic = Literal["memory.facts.v1", "memory.summaries.v1"]


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint.  Key: ``webhook_id``, compacted; without a value it was removed.

    It gets the records of ``topic`` that arrive after ``created_at``, of ``tenant_id`` alone unless that is
    ``""``.  ``secret`` (``whsec_`` and base64) signs them.
    """

    webhook_id: Identifier
    url: Annotated[str, msgspec.Meta(pattern="^https?://", max_length=2048)]
    topic: WebhookTopic
    secret: Annotated[str, msgspec.Meta(pattern="^whsec_[A-Za-z0-9+/]{32,88}={0,2}$")]
    created_at: Timestamp
    tenant_id: Annotated[str, msgspec.Meta(max_length=256)] = ""


class Undelivered(msgspec.Struct, frozen=True, kw_only=True):
    """A record that an endpoint did not take for a day.  Key: ``message_id``, its ``webhook-id``.

    It names the record and does not repeat it: what was erased meanwhile stays erased, and the topic has the
    latest state under ``key``.  ``reason`` is that of the last attempt.
    """

    message_id: Identifier
    webhook_id: Identifier
    topic: WebhookTopic
    partition: Count
    offset: Count
    key: str
    reason: str
    attempts: Count
    written_at: Timestamp
    given_up_at: Timestamp
