"""The calls: what each sends, and what it answers.  Both clients have a method for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import msgspec

from switchboard_client.core import Call, Request
from switchboard_client.types import (
    Added,
    Change,
    Context,
    Conversation,
    Correction,
    Fact,
    Message,
    Page,
    Search,
)

#: Messages of one call at most.
MOST_MESSAGES = 1000


@dataclass(frozen=True)
class Calls:
    """The calls of one person (or, with ``user_id`` empty, of whom the token is for)."""

    user_id: str = ""
    tenant_id: str = ""
    token: str = ""

    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def add(self, messages: Iterable[Message], idempotency_key: str = "") -> Call[Added]:
        """Remember messages, at most 1,000."""
        given = [{"role": each.role} | msgspec.to_builtins(each) for each in messages]
        if not 1 <= len(given) <= MOST_MESSAGES:
            raise ValueError(f"{len(given)} messages: a call takes 1 to {MOST_MESSAGES}")
        headers = {"idempotency-key": idempotency_key or uuid4().hex}
        # What is sent again has the same key, so it counts once.
        return Call(self._post("/v1/messages", self._whose({"messages": given}), headers), Added)

    def search(
        self, query: str, search_type: str = "both", limit: int = 5, conversation_id: str = "", kind: str = ""
    ) -> Call[Search]:
        """Search facts and what was said; words of a person are in no URL, which servers log."""
        asked = {"q": query, "search_type": search_type, "limit": limit}
        more = {"conversation_id": conversation_id, "kind": kind}
        body = self._whose(asked | {name: value for name, value in more.items() if value})
        return Call(self._post("/v1/search", body, {"accept": "application/json"}), Search)

    def context(self, conversation_id: str) -> Call[Context]:
        """Return the call that reads the context for the next turn of a conversation."""
        return Call(self._get("/v1/context", {"conversation_id": conversation_id}), Context)

    def facts_page(self, start: str = "", limit: int = 100, status: str = "active") -> Call[Page[Fact]]:
        """A page of the facts about the person."""
        asked = {"limit": str(limit), "status": status} | ({"start": start} if start else {})
        return Call(self._get("/v1/facts", asked), Page[Fact], rename="facts")

    def fact(self, fact_id: str) -> Call[Fact]:
        """One fact, whatever its status, with evidence and changes."""
        return Call(self._get(f"/v1/facts/{segment(fact_id)}", {}), Fact)

    def correct(self, fact_id: str, text: str, idempotency_key: str = "") -> Call[Correction]:
        """Say what holds instead of a fact."""
        path = f"/v1/facts/{segment(fact_id)}/correct"
        headers = {"idempotency-key": idempotency_key or uuid4().hex}
        return Call(self._post(path, {"text": text}, headers, self._whose({})), Correction)

    def forget(self, fact_id: str) -> Call[dict[str, Any]]:
        """Forget a fact."""
        path = f"/v1/facts/{segment(fact_id)}"
        return Call(Request("DELETE", path, self._whose({}), self.headers()), dict[str, Any])

    def close_conversation(self, conversation_id: str) -> Call[dict[str, Any]]:
        """End the open window of a conversation, so that its last messages are read now."""
        path = f"/v1/conversations/{segment(conversation_id)}/close"
        return Call(Request("POST", path, self._whose({}), self.headers()), dict[str, Any])

    def messages(self, conversation_id: str, limit: int = 200) -> Call[Conversation]:
        """The latest messages of a conversation, the latest first."""
        asked = {"order": "newest", "limit": str(limit)}
        return Call(self._get(f"/v1/conversations/{segment(conversation_id)}", asked), Conversation)

    def forget_conversation(self, conversation_id: str) -> Call[dict[str, Any]]:
        """Forget what was said in a conversation, by anybody."""
        path = f"/v1/conversations/{segment(conversation_id)}"
        whose = {"tenant_id": self.tenant_id} if self.tenant_id else {}
        return Call(Request("DELETE", path, whose, self.headers()), dict[str, Any])

    def progress(self, position: str, wait: float = 0) -> Call[dict[str, Any]]:
        """How far a message has come."""
        asked = {"position": position} | ({"wait": f"{wait:g}"} if wait else {})
        return Call(self._get("/v1/progress", asked), dict[str, Any])

    def turn(self, conversation_id: str, content: str, turn_id: str) -> Request:
        """Say something and have it answered, as a stream; said again with the same id it is said once."""
        body = self._whose({"content": content, "turn_id": turn_id})
        return self._post(f"/v1/conversations/{segment(conversation_id)}/turns", body, EVENTS)

    def turn_again(self, conversation_id: str, turn_id: str, last_id: str) -> Request:
        """The rest of a turn's stream."""
        after = {"last-event-id": last_id} if last_id else {}
        where = {"conversation_id": conversation_id}
        return self._get(f"/v1/turns/{segment(turn_id)}/events", where, EVENTS | after)

    def _whose(self, body: dict[str, Any]) -> dict[str, Any]:
        own = {"user_id": self.user_id, "tenant_id": self.tenant_id}
        return {name: value for name, value in own.items() if value} | body

    def _get(self, path: str, query: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Request:
        accept = headers or {"accept": "application/json"}
        return Request("GET", path, self._whose(dict(query)), self.headers() | dict(accept))

    def _post(
        self, path: str, body: object, headers: Mapping[str, str], query: Mapping[str, str] | None = None
    ) -> Request:
        sent = {"content-type": "application/json"} | dict(headers)
        return Request("POST", path, dict(query or {}), self.headers() | sent, msgspec.json.encode(body))


EVENTS = {"accept": "text/event-stream"}


def history(fact: Fact) -> list[Change]:
    """Return the changes of a fact, the latest last."""
    return sorted(fact.changes, key=lambda change: change.version)


def segment(identity: str) -> str:
    """Return an id as one segment of a path; raises :class:`ValueError` for an empty one."""
    if not identity:
        raise ValueError("an id is empty")
    # Dots would be resolved away.
    return quote(identity, safe="").replace(".", "%2E") if identity in (".", "..") else quote(identity, safe="")
