"""The tokens, as ``switchboard serve`` knows them: followed in the topic, and kept (their hashes, that is)
beside the data for when Kafka is down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from models.access import Token
from models.errors import DependencyUnavailable
from streams.clients.kafka.followed import Followed
from streams.config.settings import Settings
from streams.server.tokens.secret import hash_of
from streams.server.tokens.topic import TOKENS


class KnownTokens:
    """Follows the topic from :meth:`start` to :meth:`close`."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._by_hash: dict[str, Token] | None = None
        self._followed = Followed(settings, TOKENS, self._set)

    async def start(self, patience: float) -> None:
        """Begin; return when the topic was read, or ``patience`` (seconds) is over."""
        await self._followed.start(patience)

    async def close(self) -> None:
        """Follow no longer."""
        await self._followed.close()

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Tasks that must keep running: without them, a revoked token lets people in."""
        return self._followed.tasks

    @property
    def any(self) -> bool:
        """True if there are tokens, so that every request needs one.

        Raises:
            DependencyUnavailable: it is not known: Kafka was never reached from here.
        """
        return bool(self._known())

    def find(self, text: str) -> Token | None:
        """Return the valid token; ``None``: it is unknown, revoked or expired.

        Raises:
            DependencyUnavailable: as :attr:`any`.
        """
        token = self._known().get(hash_of(text) or "")
        if token is None or (token.expires_at is not None and token.expires_at <= self._clock()):
            return None
        return token

    def _known(self) -> Mapping[str, Token]:
        if self._by_hash is None:
            raise DependencyUnavailable("kafka", "the tokens have not been read yet, so nobody is let in")
        return self._by_hash

    def _set(self, tokens: Mapping[str, Token]) -> None:
        self._by_hash = {token.sha256: token for token in tokens.values()}
