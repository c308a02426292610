"""The way to a Qdrant server: a client, and what its errors mean."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from models.errors import ConfigurationError, DependencyUnavailable, Unanswered

T = TypeVar("T")


async def ask(request: Awaitable[T], shown: str, timeout: float) -> T:
    """Await one request for at most ``timeout`` seconds and give the client's errors their names.

    ``shown`` is the server's address as people may see it.  What is left, such as 400 and 409, is a mistake of
    ours, or for the caller to judge.

    Raises:
        DependencyUnavailable: the server is down, slow, throttling or fails.  ConfigurationError: it refuses
            access, or is not trusted.
    """
    try:
        async with asyncio.timeout(timeout):
            return await request
    except TimeoutError as error:
        raise Unanswered("qdrant", f"{shown}: no answer within {timeout:g} s") from error
    except (ResponseHandlingException, ResourceExhaustedResponse) as error:
        reason = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            raise ConfigurationError(
                f"the certificate of the Qdrant server at {shown} is not trusted ({reason}): set "
                "SWITCHBOARD_QDRANT_SSL_CA_FILE to who signed it"
            ) from error
        raise DependencyUnavailable("qdrant", f"{shown}: {reason}") from error
    except UnexpectedResponse as error:
        status = error.status_code or 0
        if status in (401, 403):
            raise ConfigurationError(
                f"the Qdrant server at {shown} refuses access (SWITCHBOARD_QDRANT_API_KEY): {error}"
            ) from error
        if status in (404, 408, 429) or status >= 500:
            raise DependencyUnavailable("qdrant", f"{shown}: {error}") from error
        raise


def connect(url: str, timeout: float, api_key: str, ca_file: Path | None) -> AsyncQdrantClient:
    """Return a client of the server at ``url``, or of ``:memory:`` or a folder: the client's local mode.

    Raises:
        ConfigurationError: ``ca_file`` cannot be used.
    """
    if url == ":memory:":
        return AsyncQdrantClient(location=url)
    if not url.startswith(("http://", "https://")):
        return AsyncQdrantClient(path=url)
    # The client's own check of the server's version blocks the event loop; the index asks instead.
    return AsyncQdrantClient(
        url=url,
        timeout=math.ceil(timeout),
        check_compatibility=False,
        api_key=api_key or None,
        verify=_trusted(ca_file),
    )


def _trusted(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror
        raise ConfigurationError(
            f"SWITCHBOARD_QDRANT_SSL_CA_FILE={ca_file} cannot be used ({reason}): give certificates in PEM"
        ) from error
