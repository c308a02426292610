"""Erasing over HTTP, and the proof of it: an id at once, a certificate once the views are empty."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import NamedTuple

import structlog

from models.errors import ConfigurationError
from streams.clients.erasure_key import signing_key
from streams.clients.serving import CONTROL, serves
from streams.config.settings import Settings
from streams.queries.erasure import certificate, erasing, receipts
from streams.queries.erasure.certificate import Store
from streams.queries.erasure.erasing import Remaining
from streams.queries.erasure.generations import generations
from streams.queries.erasure.receipts import Asked
from streams.telemetry.version import code_version

log = structlog.get_logger("streams.queries.erasure")

_VIEWS = "views: search, facts, conversation log"


class Accepted(NamedTuple):
    """An erasure that the services will do.  ``erasure_id``: ``""`` without a key that certificates need."""

    asked: Asked
    left: Remaining
    erasure_id: str


class Erasures:
    """Erases conversations and people, and proves it.  ``cluster_id`` asks the broker for its own."""

    def __init__(self, settings: Settings, cluster_id: Callable[[], Awaitable[str]]) -> None:
        self._settings = settings
        self._cluster_id = cluster_id

    async def erase_conversation(self, tenant_id: str, conversation_id: str, user_id: str = "") -> Accepted:
        """Have a conversation forgotten, or what one person said in it.

        Raises:
            ConfigurationError: it belongs to another tenant.
            DependencyUnavailable: Kafka does not answer.
        """
        at = datetime.now(UTC)
        stored, answers = await erasing.erase_conversation(self._settings, tenant_id, conversation_id, user_id)
        owner = user_id or ("" if stored is None else stored.state.user_id)
        return await self._accepted(
            Asked(tenant_id, "conversation", user_id, owner, (conversation_id,), at, answers)
        )

    async def erase_person(self, tenant_id: str, user_id: str) -> Accepted:
        """Have a person forgotten: their conversations, in shared ones their own words, and facts about them.

        Raises:
            DependencyUnavailable: Kafka does not answer.
        """
        at = datetime.now(UTC)
        found, answers = await erasing.erase_person(self._settings, tenant_id, user_id)
        return await self._accepted(receipts.of_person(tenant_id, user_id, found, at, answers))

    async def read(self, erasure_id: str) -> Asked:
        """Read the erasure of an id.

        Raises:
            NotFound: nobody with this key gave such an id.
            ConfigurationError: the key cannot be read.
        """
        return receipts.unseal(erasure_id, await asyncio.to_thread(signing_key, self._settings))

    async def certify(self, asked: Asked) -> bytes:
        """Return the signed certificate of an erasure that the views were seen to have done.

        Raises:
            ConfigurationError: the key cannot be read.
            DependencyUnavailable: Kafka does not answer.
        """
        return await certify(self._settings, asked, await self._cluster_id())

    async def _accepted(self, asked: Asked) -> Accepted:
        left = erasing.remaining(self._settings, datetime.now(UTC))
        try:
            key = await asyncio.to_thread(signing_key, self._settings)
        except ConfigurationError as error:
            # It is erased in any case; only the proof is not to be had.
            log.warning("an erasure has no id", error=str(error))
            return Accepted(asked, left, "")
        return Accepted(asked, left, receipts.seal(asked, key))


async def certify(settings: Settings, asked: Asked, cluster_id: str, unchecked: str = "") -> bytes:
    """Return a signed certificate; ``unchecked``: why the views were not seen to be empty.

    Raises:
        ConfigurationError: the key cannot be read, or the settings name backups wrongly.
        DependencyUnavailable: Kafka does not answer.
    """
    now = datetime.now(UTC)
    views = Store(
        store=_VIEWS,
        state="unchecked" if unchecked else "removed",
        note=f"not seen to be empty: {unchecked}" if unchecked else "asked after the erasure: nothing is known",
    )
    others = await generations(settings)
    serving = settings.generation or serves(await CONTROL.read_all(settings)).name
    return certificate.issue(
        settings,
        asked,
        cluster_id=cluster_id,
        issued_at=now,
        version=await asyncio.to_thread(code_version),
        stores=[
            views,
            *certificate.other_views(serving, ["", *others]),
            *certificate.topics(settings, now, others),
            *certificate.elsewhere(settings, asked.answers, now),
            *certificate.backups(settings, now),
        ],
    )
