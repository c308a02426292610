"""The client that blocks."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar
from uuid import uuid4

import httpx2

from switchboard_client.calls import Calls, history
from switchboard_client.core import Call, Policy, Request, Response, Send, TransportError, Wait, carry_out
from switchboard_client.streaming import TurnStream
from switchboard_client.types import (
    Added,
    Change,
    Context,
    Correction,
    Event,
    Fact,
    LoggedMessage,
    Message,
    Search,
)

T = TypeVar("T")


class Switchboard:
    """The memory of one person, over HTTP.  Use it with ``with``, or :meth:`close` it.

    ``url``: where ``switchboard serve`` is.  ``user_id``: whose memory; may be left out with a token that is
    for one person.  ``timeout``: seconds for each wait for the other side.  Errors:
    :mod:`switchboard_client.errors`.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8371",
        *,
        user_id: str = "",
        token: str = "",
        tenant_id: str = "",
        timeout: float = 30.0,
        policy: Policy = Policy(),  # noqa: B008 - frozen
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._calls = Calls(user_id, tenant_id, token)
        self._policy = policy
        # No proxy and no netrc of the machine: a token goes where the URL says.
        self._http = httpx2.Client(base_url=url, timeout=timeout, transport=transport, trust_env=False)

    def __enter__(self) -> Switchboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def add(self, messages: Iterable[Message], *, idempotency_key: str = "") -> Added:
        """Remember messages (1 to 1,000); return when the broker has all of them.

        The same ``idempotency_key`` and messages again count once.
        """
        return self._do(self._calls.add(messages, idempotency_key))

    def search(
        self,
        query: str,
        *,
        search_type: str = "both",
        limit: int = 5,
        conversation_id: str = "",
        kind: str = "",
    ) -> Search:
        """Search facts and what was said; ``search_type``: facts, turns, episodes or both."""
        return self._do(self._calls.search(query, search_type, limit, conversation_id, kind))

    def context(self, conversation_id: str) -> Context:
        """Return the context for the next turn of a conversation."""
        return self._do(self._calls.context(conversation_id))

    def facts(self, *, status: str = "active", page_size: int = 100) -> Iterator[Fact]:
        """Yield all facts about the person, page after page."""
        start: str | None = ""
        while start is not None:
            page = self._do(self._calls.facts_page(start, page_size, status))
            yield from page.items
            start = page.next

    def fact(self, fact_id: str) -> Fact:
        """Return one fact, whatever its status, with the sentences that it came from."""
        return self._do(self._calls.fact(fact_id))

    def history(self, fact_id: str) -> list[Change]:
        """Return the changes of a fact, the latest last."""
        return history(self.fact(fact_id))

    def correct(self, fact_id: str, text: str, *, idempotency_key: str = "") -> Correction:
        """Say what holds instead of a fact, as a value or in the person's own words."""
        return self._do(self._calls.correct(fact_id, text, idempotency_key))

    def forget(self, fact_id: str) -> None:
        """Forget a fact: it is gone from search within seconds."""
        self._do(self._calls.forget(fact_id))

    def close_conversation(self, conversation_id: str) -> None:
        """Say that a conversation is over: its last messages are read now, not when it has been silent."""
        self._do(self._calls.close_conversation(conversation_id))

    def messages(self, conversation_id: str, *, limit: int = 200) -> list[LoggedMessage]:
        """Return the latest messages of a conversation, oldest first."""
        return self._do(self._calls.messages(conversation_id, limit)).messages[::-1]

    def forget_conversation(self, conversation_id: str) -> None:
        """Forget what was said in a conversation, by anybody, and what was learned from it alone."""
        self._do(self._calls.forget_conversation(conversation_id))

    def progress(self, position: str, *, wait: float = 0) -> dict[str, Any]:
        """Say how far a message has come: read, in the open window, extracted, searchable, or refused."""
        return self._do(self._calls.progress(position, wait))

    def turn(self, conversation_id: str, content: str, *, turn_id: str = "") -> Iterator[Event]:
        """Say something and yield the events of its answer; a broken stream is taken up where it broke off.

        ``turn_id``: a name of your own; the same again with the same content is said once.
        """
        stream = TurnStream(
            self._calls, conversation_id, content, turn_id or f"t-{uuid4().hex}", self._policy, random.random
        )
        while not stream.is_done():
            try:
                with self._http.stream(**_arguments(stream.request())) as answer:
                    if answer.status_code >= 400:
                        answer.read()
                        wait = stream.refused(_response(answer))
                    else:
                        for piece in answer.iter_raw():
                            yield from stream.feed(piece)
                        if stream.is_done():
                            return
                        wait = stream.broken(TransportError("it ended early", sent=True))
            except httpx2.TransportError as error:
                wait = stream.broken(_failed(error))
            time.sleep(wait)

    def _do(self, call: Call[T]) -> T:
        steps = carry_out(call, self._policy, random.random)
        came: Response | TransportError | None = None
        while True:
            try:
                step = steps.send(came)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Wait):
                time.sleep(step.seconds)
                came = None
            else:
                came = self._send(step)

    def _send(self, step: Send) -> Response | TransportError:
        try:
            return _response(self._http.request(**_arguments(step.request)))
        except httpx2.TransportError as error:
            return _failed(error)


def _arguments(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.query),
        "headers": dict(request.headers),
        "content": request.body,
    }


def _response(answer: httpx2.Response) -> Response:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Response(answer.status_code, headers, answer.content)


def _failed(error: httpx2.TransportError) -> TransportError:
    never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
    return TransportError(f"{type(error).__name__}: {error}", sent=not isinstance(error, never_sent))
