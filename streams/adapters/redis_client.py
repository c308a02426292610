"""The client of Redis (or Valkey), let in as the settings say."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, AuthorizationError, RedisError

from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from streams.settings import Settings

T = TypeVar("T")

_ANSWER_SECONDS = 10.0

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
    return Redis.from_url(
        settings.redis_url,
        socket_timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_ANSWER_SECONDS,
        **options,
    )


def in_words(error: RedisError | OSError) -> SwitchboardError:
    """Return what an error of the client means: a setting that is wrong, or a Redis to wait for."""
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
    """Return what Redis answers; ``ready`` is awaited before it is asked.

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
