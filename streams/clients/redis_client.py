"""The client of Redis (or Valkey), let in as the settings say."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, RedisError

from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from streams.config.settings import Settings

T = TypeVar("T")

_ANSWER_SECONDS = 10.0

#: Connections of a client: who finds none free waits for one, for as long as for an answer.
_MOST_CONNECTIONS = 64

#: Longest wait for all that is asked at once, the start of a server of one's own included.
_ASK_SECONDS = 20.0


def open_redis(settings: Settings) -> Redis:
    """Return a client of ``SWITCHBOARD_REDIS_URL``, which must be set; it connects with its first command.

    User and password of the settings win over those of the URL.
    """
    options: dict[str, Any] = {}
    if settings.redis_username:
        options["username"] = settings.redis_username
    if password := settings.redis_password.get_secret_value():
        options["password"] = password
    if settings.redis_ssl_ca_file is not None:
        options["ssl_ca_certs"] = str(settings.redis_ssl_ca_file)
    return Redis.from_pool(BlockingConnectionPool.from_url(settings.redis_url, **_patience(), **options))


def open_socket(path: Path) -> Redis:
    """Return a client of a server that listens on a socket; it connects with its first command."""
    # A server of one's own is soon there again: what is asked on a connection to the former one is asked again.
    again = Retry(ExponentialWithJitterBackoff(base=0.01, cap=1.0), retries=10)
    pool = BlockingConnectionPool(
        connection_class=UnixDomainSocketConnection, path=str(path), retry=again, **_patience()
    )
    return Redis.from_pool(pool)


def _patience() -> dict[str, Any]:
    return {
        "max_connections": _MOST_CONNECTIONS,
        "timeout": _ANSWER_SECONDS,
        "socket_timeout": _ANSWER_SECONDS,
        "socket_connect_timeout": _ANSWER_SECONDS,
    }


def in_words(error: RedisError | OSError) -> SwitchboardError:
    """Return the error to raise for an error of the client: a wrong setting, or an unavailable Redis."""
    # The client's own greeting (HELLO) is refused in other words than a command.
    if isinstance(error, AuthenticationError | AuthorizationError) or "already authenticated" in str(error):
        return ConfigurationError(
            f"Redis does not let us in ({error}): see SWITCHBOARD_REDIS_USERNAME and SWITCHBOARD_REDIS_PASSWORD"
        )
    if _certificate_refused(error):
        return ConfigurationError(
            f"the certificate of Redis is not trusted ({error}): set SWITCHBOARD_REDIS_SSL_CA_FILE to who "
            "signed it"
        )
    return DependencyUnavailable("redis", f"no usable answer ({error or type(error).__name__})")


async def answered(ask: Callable[[], Awaitable[T]], ready: Callable[[], Awaitable[None]] | None) -> T:
    """Return the answer of Redis; ``ready`` is awaited before the request.

    Raises:
        DependencyUnavailable: whatever is wrong with Redis, in words: it is waited for.
    """
    try:
        async with asyncio.timeout(_ASK_SECONDS):
            if ready is not None:
                await ready()
            return await ask()
    except (RedisError, OSError) as error:  # TimeoutError is one
        said = in_words(error)
        if isinstance(said, DependencyUnavailable):
            raise said from error
        raise DependencyUnavailable("redis", str(said)) from error


def _certificate_refused(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


async def answers(settings: Settings) -> None:
    """Ask Redis whether it is there.

    Raises :class:`ConfigurationError` if it does not let us in, :class:`DependencyUnavailable` if it does not
    answer.
    """
    client = open_redis(settings)
    try:
        await client.ping()
    except (RedisError, OSError) as error:
        raise in_words(error) from error
    finally:
        await client.aclose()
