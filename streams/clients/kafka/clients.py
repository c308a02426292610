"""Every Kafka client is made here, so that one place knows how the brokers let us in.

:func:`connection` turns the settings into what aiokafka's clients take.  Clients are opened with
:func:`connect`, which says in one line why a broker refuses: aiokafka itself only says that it could not
bootstrap.  What is refused is a :class:`ConfigurationError` (exit 78): waiting would not help.  A broker that
does not answer is :class:`DependencyUnavailable`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from models.errors import ConfigurationError, SwitchboardError
from streams.clients.kafka.refusals import refusal, why_not_connected
from streams.config.background import keeping_cancellation
from streams.config.settings import Settings
from streams.config.settings.access import read_secret

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer, AIOKafkaProducer)

#: How long a client may take to close: a broker that hangs must not keep us from leaving.
CLOSE_SECONDS = 5.0


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka is untyped
    """The OAUTHBEARER token: read again for every connection, since whoever issues it renews the file."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def token(self) -> str:
        """Return the token."""
        path = self._settings.kafka_sasl_password_file
        if path is None:
            return self._settings.kafka_sasl_password.get_secret_value()
        try:
            return await asyncio.to_thread(read_secret, path, "SWITCHBOARD_KAFKA_SASL_PASSWORD_FILE")
        except ValueError as error:
            raise ConfigurationError(str(error)) from error


def connection(settings: Settings) -> dict[str, Any]:
    """Return the arguments of an aiokafka client that say where the brokers are and how they let us in.

    Raises :class:`ConfigurationError` when a file of certificates cannot be used.
    """
    protocol = settings.kafka_security_protocol
    options: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "security_protocol": protocol,
    }
    if "SSL" in protocol:
        options["ssl_context"] = _ssl_context(settings)
    if "SASL" in protocol:
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism
        if settings.kafka_sasl_mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = TokenFile(settings)
        else:
            options["sasl_plain_username"] = settings.kafka_sasl_username
            options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return options


def _ssl_context(settings: Settings) -> ssl.SSLContext:
    ca, certificate, key = (
        settings.kafka_ssl_ca_file,
        settings.kafka_ssl_cert_file,
        settings.kafka_ssl_key_file,
    )
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise _unusable("CA", ca, "certificates in PEM", error) from error
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except _KeyHasPassword:
            raise ConfigurationError(
                f"SWITCHBOARD_KAFKA_SSL_KEY_FILE={key} is protected by a password: give one that is not"
            ) from None
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise ConfigurationError(
                    f"SWITCHBOARD_KAFKA_SSL_KEY_FILE={key} is not the key of the certificate in "
                    f"SWITCHBOARD_KAFKA_SSL_CERT_FILE={certificate}"
                ) from error
            raise _unusable("CERT", certificate, "a certificate and its key in PEM", error) from error
        except OSError as error:
            raise _unusable("CERT", f"{certificate} or its key", "files that exist", error) from error
    return context


class _KeyHasPassword(Exception):
    pass


def _no_password() -> str:
    raise _KeyHasPassword  # OpenSSL would ask at the terminal


def _unusable(what: str, path: object, wanted: str, error: OSError) -> ConfigurationError:
    reason = getattr(error, "reason", None) or error.strerror or str(error)
    return ConfigurationError(
        f"SWITCHBOARD_KAFKA_SSL_{what}_FILE={path} cannot be used ({reason}): give {wanted}"
    )


def make_admin(settings: Settings, name: str, **options: Any) -> AIOKafkaAdminClient:
    """Return an admin client, not yet connected.  ``name`` is what the broker's logs call it."""
    return AIOKafkaAdminClient(client_id=name, **connection(settings), **options)


def make_consumer(settings: Settings, name: str, *topics: str, **options: Any) -> AIOKafkaConsumer:
    """Return a consumer, not yet connected, which sees committed records only and commits nothing by itself."""
    defaults = {"enable_auto_commit": False, "isolation_level": "read_committed"}
    return AIOKafkaConsumer(*topics, client_id=name, **connection(settings), **(defaults | options))


def make_producer(settings: Settings, name: str, **options: Any) -> AIOKafkaProducer:
    """Return an idempotent producer, not yet connected, whose records all in-sync replicas must have."""
    defaults = {"acks": "all", "enable_idempotence": True}
    return AIOKafkaProducer(client_id=name, **connection(settings), **(defaults | options))


def client_id(service: str, settings: Settings) -> str:
    """Return the client id of the members of a service's group: the service, and their namespace."""
    place = settings.kubernetes_namespace
    return f"switchboard-{service}@{place}" if place else f"switchboard-{service}"


def namespace_of(client: str) -> str:
    """Return the Kubernetes namespace in a :func:`client_id`; ``""``: it says none."""
    return client.partition("@")[2]


@asynccontextmanager
async def connected(client: Client, settings: Settings, timeout_seconds: float) -> AsyncIterator[Client]:
    """Connect ``client``, yield it, and close it.

    Raises :class:`ConfigurationError` if a broker refuses us, :class:`DependencyUnavailable` if none answers.
    """
    try:
        await connect(client, settings, timeout_seconds)
        yield client
    finally:
        await close(client)


async def connect(client: Client, settings: Settings, timeout_seconds: float) -> None:
    """Connect ``client``; see :func:`connected`, which also closes it."""
    try:
        with keeping_cancellation():
            async with asyncio.timeout(timeout_seconds):
                await client.start()
    except (KafkaError, OSError, TimeoutError) as error:
        why: SwitchboardError | None = refusal(error, settings)
        if why is None:
            why = await why_not_connected(connection(settings), settings, error, timeout_seconds)
        raise why from error


async def close(client: Client) -> None:
    """Close a client within :data:`CLOSE_SECONDS`; its sockets go with it in any case."""
    stop = client.close if isinstance(client, AIOKafkaAdminClient) else client.stop
    with keeping_cancellation(), suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            # Tasks of aiokafka that have not begun yet raise CancelledError when it ends them.
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            await stop()
