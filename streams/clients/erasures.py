"""How the erasure of a conversation or a person is written into a topic: a record without a value.

Its headers say whose it is, and up to which arrival; its key names it.  Where the records of a topic are erased
one by one, whoever knows them does so when it reads this, and takes nothing any more that arrived until then.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import msgspec

from models import ids
from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT
from streams.clients import cloudevents
from streams.clients.records import Headers

SCOPE_HEADER = "erased_scope"
CONVERSATION_HEADER = "erased_conversation_id"
USER_HEADER = "erased_user_id"
TENANT_HEADER = "erased_tenant_id"
UNTIL_HEADER = "erased_until"

EVENT = "memory.erasure.v1"

#: What :data:`SCOPE_HEADER` says.
_SCOPE = b"all"


class _Record(Protocol):
    """Fields of a record for erasures."""

    @property
    def timestamp(self) -> int: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Headers: ...


class _Effects(Protocol):
    """Effects of a step, as far as an erasure needs them."""

    def emit(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = ...,
        *,
        route: bytes | None = ...,
        partition: int | None = ...,
    ) -> None: ...


class Erasing(NamedTuple):
    """Erasure of a conversation, of a person (the other id is ``""``), or of a person in a conversation, by
    arrival up to ``until``.
    """

    tenant_id: str
    conversation_id: str
    user_id: str
    until: datetime

    def key(self, partition: int) -> str:
        """Return the key of its record in a partition."""
        return ids.erasure_id(self.tenant_id, self.conversation_id, self.user_id, partition)

    def covers(self, tenant_id: str, user_id: str, *conversation_ids: str) -> bool:
        """Say whether what a person said in these conversations is erased, up to some arrival."""
        if tenant_id != self.tenant_id or self.user_id not in ("", user_id):
            return False
        return self.conversation_id in ("", *conversation_ids)

    @property
    def named(self) -> bytes:
        """The conversation, or else the person, as the JSON of whatever rests on it holds it."""
        return msgspec.json.encode(self.conversation_id or self.user_id)

    def headers(self) -> Headers:
        """Return the headers of an erasure in a record without a value."""
        return [*self.headers_now(), (UNTIL_HEADER, self.until.isoformat().encode())]

    def headers_now(self) -> Headers:
        """Return the headers that erase all that arrived before the record, by the broker's clock."""
        return [
            (SCOPE_HEADER, _SCOPE),
            (TENANT_HEADER, self.tenant_id.encode()),
            (CONVERSATION_HEADER, self.conversation_id.encode()),
            (USER_HEADER, self.user_id.encode()),
        ]


def announce(effects: _Effects, topic: str, erasing: Erasing, partition: int, source: str) -> None:
    """Write an erasure into a partition; ``source`` is the CloudEvents source of who does."""
    key = erasing.key(partition).encode()
    effects.emit(topic, key, None, _headers(erasing, partition, source), partition=partition)


def announce_by_key(effects: _Effects, topic: str, erasing: Erasing, partition: int, source: str) -> None:
    """Write an erasure into a topic whose keys are conversations and decide the partition.

    Under another key it would be moved away from the records that it erases.  ``partition``: where it was read.
    """
    effects.emit(topic, erasing.conversation_id.encode(), None, _headers(erasing, partition, source))


def _headers(erasing: Erasing, partition: int, source: str) -> Headers:
    event_id = f"{erasing.key(partition)}/{erasing.until.isoformat()}"
    return [*cloudevents.outgoing(EVENT, source, event_id), *erasing.headers()]


def read(record: _Record) -> Erasing | None:
    """Return the erasure that a record says, ``None`` if it says anything else.

    Raises:
        InvalidRecord: ``invalid_erasure``.
    """
    if record.value is not None or not record.headers:
        return None
    headers = {name: value or b"" for name, value in record.headers}
    if SCOPE_HEADER not in headers:
        return None
    try:
        tenant_id, conversation_id, user_id = (
            headers.get(name, b"").decode() for name in (TENANT_HEADER, CONVERSATION_HEADER, USER_HEADER)
        )
    except UnicodeDecodeError as error:
        raise InvalidRecord("invalid_erasure", f"a header of an erasure is not UTF-8: {error}") from error
    if not conversation_id and not user_id:
        raise InvalidRecord(
            "invalid_erasure",
            f"an erasure names a conversation ({CONVERSATION_HEADER}) or a person ({USER_HEADER})",
        )
    return Erasing(tenant_id or DEFAULT_TENANT, conversation_id, user_id, until_of(record))


def until_of(record: _Record) -> datetime:
    """Return up to which arrival a record without a value erases: as it says, or up to its own.

    Raises:
        InvalidRecord: ``invalid_erasure``.
    """
    said = dict(record.headers).get(UNTIL_HEADER)
    if not said:
        return datetime.fromtimestamp(record.timestamp / 1000, UTC)
    try:
        return datetime.fromisoformat(said.decode()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidRecord("invalid_erasure", f"{UNTIL_HEADER} must be a time (RFC 3339): {error}") from error
