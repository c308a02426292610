"""The ledger of erasures, ``memory.erasures.v1``: who was erased and until when, for ever, without any name.

It keeps a late producer from bringing somebody back: what a person sent before the erasure, and what arrives
after it, is not taken.  Both times stand in the log of messages, so a replay refuses the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Protocol

import msgspec
import structlog

from models.erasures import ErasedPerson
from models.errors import ConfigurationError, DependencyUnavailable
from models.messages import ChatMessage
from streams.clients.erasure_key import derived, has_key, signing_key
from streams.clients.kafka.followed import Followed
from streams.clients.kafka.keyed_topic import KeyedTopic
from streams.config.settings import Settings

LEDGER = KeyedTopic("memory.erasures.v1", ErasedPerson, "erasures")

#: How long after an erasure a message must have arrived to be refused (seconds).  By then every service knows
#: the erasure, however busy it is, so that a replay, which knows it from the beginning, refuses nothing else.
GRACE_SECONDS = 10.0

_PURPOSE = b"switchboard ledger of erasures"

log = structlog.get_logger("streams.clients.erasure_ledger")


class PersonHash:
    """Keyed hashes of people.  Two keys give one person two hashes, so ``key_id`` says which key it is.

    Raises:
        ConfigurationError: the key cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._key = derived(signing_key(settings), _PURPOSE)
        self.key_id = hashlib.sha256(self._key).hexdigest()[:16]

    def of(self, tenant_id: str, user_id: str) -> str:
        """Return the hash of a person, in hexadecimal."""
        return hmac.digest(self._key, msgspec.json.encode((tenant_id, user_id)), "sha256").hex()


async def note(settings: Settings, tenant_id: str, user_id: str, until: datetime) -> None:
    """Write down that a person was erased.

    Raises:
        ConfigurationError: the key cannot be read.
        DependencyUnavailable: the broker does not answer.
    """
    hashed = await asyncio.to_thread(PersonHash, settings)
    person_id = hashed.of(tenant_id, user_id)
    await LEDGER.put(settings, person_id, ErasedPerson(person_id=person_id, key_id=hashed.key_id, until=until))


class Refusing(Protocol):
    """People who are not brought back, as :class:`ErasureLedger`."""

    @property
    def is_empty(self) -> bool:
        """True if nobody was erased."""
        ...

    def refuses(self, message: ChatMessage, arrived: float) -> bool:
        """Say whether a message that arrived then (epoch seconds) was sent before its person was erased."""
        ...


class NobodyErased:
    """Implements :class:`Refusing` where nobody was erased."""

    is_empty = True

    def refuses(self, message: ChatMessage, arrived: float) -> bool:
        """Say no."""
        return False


class ErasureLedger:
    """Implements :class:`Refusing` with the topic, followed from :meth:`start` to :meth:`close`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._followed = Followed(settings, LEDGER, self._set)
        self._hash: PersonHash | None = None
        self._until: dict[str, float] = {}
        self._latest = 0.0
        self._foreign = 0

    async def start(self) -> None:
        """Begin; what was kept beside the data counts until the topic was read."""
        await self._followed.start(0.0)

    async def close(self) -> None:
        """Follow no longer."""
        await self._followed.close()

    async def ready(self) -> None:
        """Return when the topic was read to its end once.

        Raises:
            DependencyUnavailable: it cannot be read yet, so nobody knows who must not be brought back.
        """
        if not await self._followed.wait(self._settings.request_timeout_seconds):
            raise DependencyUnavailable("kafka", f"{LEDGER.topic} has not been read yet")

    @property
    def is_empty(self) -> bool:
        """True if nobody was erased."""
        return not self._until

    def refuses(self, message: ChatMessage, arrived: float) -> bool:
        """Say whether a message that arrived then (epoch seconds) was sent before its person was erased."""
        sent = message.sent_at.timestamp()
        if sent > self._latest or arrived - sent <= GRACE_SECONDS:
            return False  # most messages, and no hash is needed to know it
        until = self.until(message.tenant_id, message.user_id)
        return until is not None and sent <= until and arrived > until + GRACE_SECONDS

    def until(self, tenant_id: str, user_id: str) -> float | None:
        """Return until when a person was erased (epoch seconds), ``None``: never."""
        return None if self._hash is None else self._until.get(self._hash.of(tenant_id, user_id))

    def _set(self, people: Mapping[str, ErasedPerson]) -> None:
        if people and self._hash is None and has_key(self._settings):
            try:
                self._hash = PersonHash(self._settings)
            except ConfigurationError as error:
                log.error("the key of erasures cannot be read", error=str(error))
        key_id = "" if self._hash is None else self._hash.key_id
        self._until = {
            each.person_id: each.until.timestamp() for each in people.values() if each.key_id == key_id
        }
        self._latest = max(self._until.values(), default=0.0)
        foreign = len(people) - len(self._until)
        if foreign > self._foreign:
            log.error(
                "people were erased with another key than this process has, so it cannot keep a late producer "
                "from bringing them back: give all services the same SWITCHBOARD_ERASURE_KEY_FILE",
                people=foreign,
            )
        self._foreign = foreign


async def open_ledger(settings: Settings, resources: AsyncExitStack) -> ErasureLedger:
    """Return the ledger, followed until ``resources`` are closed."""
    ledger = ErasureLedger(settings)
    resources.push_async_callback(ledger.close)
    await ledger.start()
    return ledger
