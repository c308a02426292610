"""Why a broker does not let us in, or not do something: one line that says which setting or right it is."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from streams.config.settings import Settings

#: How long a broker may take to say why it refuses; it was waited for already.
_PROBE_SECONDS = 5.0

#: How long after a handshake TLS 1.3 may take to refuse our certificate, which it does only then.
_ALERT_SECONDS = 0.5

#: OpenSSL's ``X509_V_ERR_...`` codes of a certificate that was refused.
_EXPIRED, _NOT_YET, _OTHER_HOST, _OTHER_ADDRESS = 10, 9, 62, 64

_RIGHTS = "`switchboard topics acls` prints the rights that each service needs"


def user_of(settings: Settings) -> str:
    """Name whom the brokers know us as."""
    if "SASL" not in settings.kafka_security_protocol:
        return "a client without a Kafka user"
    if settings.kafka_sasl_mechanism == "OAUTHBEARER":
        return "the owner of the Kafka token"
    return f"the Kafka user {settings.kafka_sasl_username!r}"


def refusal(error: BaseException, settings: Settings) -> ConfigurationError | None:
    """Return the error for a broker's refusal of our identity; ``None`` for other errors."""
    named = ", ".join(sorted(_names(error)))
    who = user_of(settings)
    if isinstance(error, ConfigurationError):
        return error
    if isinstance(error, TopicAuthorizationFailedError):
        return ConfigurationError(f"{who} has not the rights that this takes on the topic {named}; {_RIGHTS}")
    if isinstance(error, GroupAuthorizationFailedError):
        return ConfigurationError(f"{who} has not the right to read in the consumer group {named}; {_RIGHTS}")
    if isinstance(error, ClusterAuthorizationFailedError | TransactionalIdAuthorizationFailed):
        return ConfigurationError(f"{who} has not the rights that this takes on the cluster; {_RIGHTS}")
    if isinstance(error, SaslAuthenticationFailed | AuthenticationFailedError):
        given = "the token in" if settings.kafka_sasl_mechanism == "OAUTHBEARER" else f"{who} with"
        return ConfigurationError(
            f"the broker does not let in {given} SWITCHBOARD_KAFKA_SASL_PASSWORD by "
            f"{settings.kafka_sasl_mechanism}: user, password or mechanism is wrong"
        )
    if isinstance(error, UnsupportedSaslMechanismError):
        return ConfigurationError(
            f"the broker does not know SWITCHBOARD_KAFKA_SASL_MECHANISM={settings.kafka_sasl_mechanism}"
        )
    if isinstance(error, IllegalSaslStateError):
        return ConfigurationError(
            "the broker knows no users at this port: set SWITCHBOARD_KAFKA_SECURITY_PROTOCOL to "
            f"{settings.kafka_security_protocol.removeprefix('SASL_')}, or give the port of its SASL listener"
        )
    return None


def denied(right: str, names: Iterable[str]) -> ConfigurationError:
    """Return the error for a missing right: ``denied("create the topic", ["a", "b"])``."""
    first, *more = sorted(names)
    others = f" and {len(more)} more" if more else ""
    return ConfigurationError(f"the broker gives us no right to {right} {first}{others}; {_RIGHTS}")


def _names(error: BaseException) -> set[str]:
    found: set[str] = set()
    for argument in error.args:
        names = argument if isinstance(argument, set | frozenset | list | tuple) else [argument]
        found |= {str(name).rpartition(" ")[2] for name in names}  # some say "Unable to ... for NAME"
    return found


async def why_not_connected(
    options: Mapping[str, Any], settings: Settings, error: BaseException, waited_seconds: float
) -> SwitchboardError:
    """Return the reason why a client with ``options`` (see ``connection``) cannot connect, by one more try.

    A broker that refuses us counts more than another one that is away.
    """
    options = dict(options)
    hosts = collect_hosts(options.pop("bootstrap_servers"))
    answered = False
    for host, port, _ in hosts:
        try:
            async with asyncio.timeout(min(_PROBE_SECONDS, max(1.0, waited_seconds))):
                refused = await _ask(host, port, options, settings)
        except (KafkaError, OSError, TimeoutError):
            continue
        if refused is not None:
            return ConfigurationError(f"{host}:{port}: {refused}")
        answered = True
    servers = settings.bootstrap_servers
    if answered:
        return DependencyUnavailable("kafka", f"the broker at {servers} failed: {error!r}")
    # A refused connection is known at once: only who waited may say so.
    waited = f" within {waited_seconds:g} s" if isinstance(error, TimeoutError) else ""
    return DependencyUnavailable(
        "kafka",
        f"no broker answers at {servers}{waited}: start one, or set "
        "SWITCHBOARD_BOOTSTRAP_SERVERS to the host:port of one that runs",
    )


async def _ask(host: str, port: int, options: Mapping[str, Any], settings: Settings) -> str | None:
    """Return why this broker refuses us, ``None`` if it does not.  Raises when it does not answer."""
    protocol, context = settings.kafka_security_protocol, options.get("ssl_context")
    # That it can be reached at all; what fails after this is a matter of protocol.
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    if context is not None:
        refused = await _handshake(host, port, context)
        if refused is not None:
            return refused
    try:
        broker = await create_conn(host, port, request_timeout_ms=int(_PROBE_SECONDS * 1000), **options)
        try:
            await broker.send(MetadataRequest([]))
        finally:
            broker.close()
    except (KafkaError, OSError) as error:
        denied = refusal(error, settings)
        if denied is not None:
            return str(denied)
        if context is None and await _speaks_tls(host, port):
            wanted = "SASL_SSL" if "SASL" in protocol else "SSL or SASL_SSL"
            return f"it speaks TLS only: set SWITCHBOARD_KAFKA_SECURITY_PROTOCOL={wanted} (now {protocol})"
        if "SASL" not in protocol:
            wanted = "SASL_SSL" if context else "SASL_PLAINTEXT"
            return (
                "it closes the connection before it answers: it wants a user. Set "
                f"SWITCHBOARD_KAFKA_SECURITY_PROTOCOL={wanted} (now {protocol})"
            )
        raise
    return None


async def _handshake(host: str, port: int, context: ssl.SSLContext) -> str | None:
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ALERT_SECONDS):
                    await reader.read(1)
        finally:
            writer.close()
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in (_EXPIRED, _NOT_YET):
            return f"its certificate has expired or is not valid yet ({error.verify_message})"
        if error.verify_code in (_OTHER_HOST, _OTHER_ADDRESS):
            return f"its certificate is for another host ({error.verify_message})"
        return (
            f"its certificate is signed by nobody that is trusted ({error.verify_message}): set "
            "SWITCHBOARD_KAFKA_SSL_CA_FILE to who signed it"
        )
    except (ssl.SSLError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or ""
        if "ALERT" in reason:
            return (
                f"it refuses our certificate ({reason.replace('_', ' ').lower()}): see "
                "SWITCHBOARD_KAFKA_SSL_CERT_FILE and SWITCHBOARD_KAFKA_SSL_KEY_FILE"
            )
        return "it speaks no TLS at this port: see SWITCHBOARD_KAFKA_SECURITY_PROTOCOL"
    return None


async def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: only whether it is TLS is asked
    try:
        _, writer = await asyncio.open_connection(host, port, ssl=context)
    except OSError:
        return False
    writer.close()
    return True
