"""One call of a webhook: signed, bounded in time, not redirected."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable

import httpcore

from models.webhooks import Webhook
from streams.server.webhooks.addresses import AddressRefused, CheckedNetwork
from streams.server.webhooks.endpoints import signed_headers

#: Connections to one endpoint: a partition uses one at a time.
_CONNECTIONS = 8


class Sender:
    """Calls one endpoint.  ``seconds``: longest call; ``clock`` says what a signature is dated."""

    def __init__(
        self,
        webhook: Webhook,
        seconds: float,
        *,
        allow_private: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._webhook = webhook
        self._seconds = seconds
        self._clock = clock
        self._network = CheckedNetwork(allow_private=allow_private)
        self._pool = httpcore.AsyncConnectionPool(
            ssl.create_default_context(),
            max_connections=_CONNECTIONS,
            keepalive_expiry=30.0,
            network_backend=self._network,
        )

    async def send(self, message: str, body: bytes) -> str:
        """Send a message; return "" if the endpoint took it, else why it did not.

        The status decides: the body of an answer is not read, however long it is or takes.
        """
        headers = {
            "content-type": "application/json",
            "user-agent": "switchboard-webhooks",
            **signed_headers(self._webhook.secret, message, int(self._clock()), body),
        }
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(list(headers.items()), body)
        except (TimeoutError, httpcore.TimeoutException):
            return f"no answer within {self._seconds:g} s"
        except AddressRefused as error:
            return str(error)
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError) as error:
            return f"{type(error).__name__}: {error}"[:500]

    async def _post(self, headers: list[tuple[str, str]], body: bytes) -> str:
        async with self._pool.stream("POST", self._webhook.url, headers=headers, content=body) as answer:
            status: int = answer.status
        return "" if 200 <= status < 300 else f"it answered {status}"

    async def close(self) -> None:
        """Close the connections."""
        self._network.close()
        await self._pool.aclose()
