"""Faust's own clients are let in as ours are: a producer of Faust's is started with every app."""

from __future__ import annotations

from typing import Any

from faust.auth import Credentials, OAuthCredentials, SASLCredentials, SSLCredentials

from streams.clients import kafka
from streams.config.settings import Settings


def faust_credentials(settings: Settings) -> Credentials | None:
    """Return Faust's form of the broker's credentials; ``None`` without TLS and user.

    Raises :class:`ConfigurationError` when a file of certificates cannot be used.
    """
    options: dict[str, Any] = kafka.connection(settings)
    context = options.get("ssl_context")
    if "SASL" not in options["security_protocol"]:
        return SSLCredentials(context=context) if context is not None else None
    if "sasl_oauth_token_provider" in options:
        return OAuthCredentials(oauth_cb=options["sasl_oauth_token_provider"], ssl_context=context)
    return SASLCredentials(
        username=options["sasl_plain_username"],
        password=options["sasl_plain_password"],
        ssl_context=context,
        mechanism=options["sasl_mechanism"],
    )
