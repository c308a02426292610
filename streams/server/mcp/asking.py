"""Asking the HTTP API for an assistant: what it refuses is said so that a model can do something about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
from mcp.server.mcpserver.exceptions import ToolError

from streams.config.printing import printable
from streams.server.mcp.answers import preview

_NO_PERSON = (
    "It is not known whose memory this is: connect to /mcp?user_id=NAME, start `switchboard mcp --user NAME`, "
    "or use a token that is for one person. The model cannot choose."
)


#: What an assistant does about a problem, by its type: it has these tools, and not the API.
_INSTEAD = {
    "urn:switchboard:problem:unknown-fact": "list_facts tells which there are.",
    "urn:switchboard:problem:unknown-conversation": "search_memory says which conversations there are.",
}


class Ask:
    """Asks for one person (``user_id`` empty: the one that the token is for)."""

    def __init__(self, client: httpx.AsyncClient, headers: Mapping[str, str], user_id: str) -> None:
        self._client = client
        self._headers = dict(headers)
        self._user_id = user_id

    async def get(self, path: str, **parameters: str | int) -> dict[str, Any]:
        """Return the answer of a ``GET``.  Raises :class:`ToolError` with what to do."""
        return await self._send("GET", path, params=self._whose(parameters))

    async def post(
        self, path: str, body: Mapping[str, Any] | None = None, key: str = "", *, whose: str = "body"
    ) -> dict[str, Any]:
        """Return the answer of a ``POST``; ``key`` makes a repetition count once.  Raises as :meth:`get`.

        ``whose``: where the operation takes the person from, the ``body`` or the ``query``.
        """
        if body is None:
            return await self._send("POST", path, params=self._whose({}))
        headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
        content = msgspec.json.encode(self._whose(body) if whose == "body" else body)
        params = self._whose({}) if whose == "query" else {}
        return await self._send("POST", path, params=params, content=content, headers=headers)

    async def delete(self, path: str) -> dict[str, Any]:
        """Return the answer of a ``DELETE``.  Raises as :meth:`get`."""
        return await self._send("DELETE", path, params=self._whose({}))

    async def person(self) -> str:
        """Return the person of this memory, from the connection or its token.  Raises as :meth:`get`."""
        person = self._user_id or (await self.get("/v1/session")).get("user_id")
        if not person:
            raise ToolError(_NO_PERSON)
        return str(person)

    def _whose(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return ({"user_id": self._user_id} if self._user_id else {}) | dict(given)

    async def _send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> dict[str, Any]:
        try:
            answer = await self._client.request(
                method, path, headers=self._headers | dict(headers or {}), **more
            )
        except httpx.TransportError as error:
            raise ToolError(
                f"The memory does not answer ({type(error).__name__}): it may be starting or down. Go on "
                "without it, and try again later."
            ) from error
        try:
            body = msgspec.json.decode(answer.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = {}
        if answer.is_success and isinstance(body, dict):
            return body
        raise ToolError(_why(answer.status_code, body if isinstance(body, dict) else {}))


def _why(status: int, body: Mapping[str, Any]) -> str:
    detail = str(body.get("detail", ""))
    advice = _INSTEAD.get(str(body.get("type")), str(body.get("advice", "")))
    if status == httpx.codes.BAD_REQUEST and "user_id" in detail and "missing" in detail:
        return _NO_PERSON
    return printable(
        " ".join(filter(None, (preview(detail) or f"The memory answered {status}.", preview(advice))))
    )


def segment(identity: str) -> str:
    """Return an id as a segment of a path.  Raises :class:`ToolError` for an empty one."""
    if not identity.strip():
        raise ToolError("An id is empty: take it from an answer of search_memory or list_facts.")
    return quote(identity, safe="")
