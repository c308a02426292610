"""The client that is awaited."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeVar
from uuid import uuid4

import httpx2

from switchboard_client.calls import Calls, history
from switchboard_client.core import Call, Policy, Response, Send, TransportError, Wait, carry_out
from switchboard_client.streaming import TurnStream
from switchboard_client.synchronous import _arguments, _failed, _response
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


class AsyncSwitchboard:
    """The memory of one person, over HTTP.  Use it with ``async with``, or await :meth:`close`.

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
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._calls = Calls(user_id, tenant_id, token)
        self._policy = policy
        # No proxy and no netrc of the machine: a token goes where the URL says.
        self._http = httpx2.AsyncClient(base_url=url, timeout=timeout, transport=transport, trust_env=False)

    async def __aenter__(self) -> AsyncSwitchboard:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def add(self, messages: Iterable[Message], *, idempotency_key: str = "") -> Added:
        """Remember messages (1 to 1,000); return when the broker has all of them.

        The same ``idempotency_key`` and messages again count once.
        """
        return await self._do(self._calls.add(messages, idempotency_key))

    async def search(
        self,
        query: str,
        *,
        search_type: str = "both",
        limit: int = 5,
        conversation_id: str = "",
        kind: str = "",
    ) -> Search:
        """Search facts and what was said; ``search_type``: facts, turns, episodes or both."""
        return await self._do(self._calls.search(query, search_type, limit, conversation_id, kind))

    async def context(self, conversation_id: str) -> Context:
        """Return the context for the next turn of a conversation."""
        return await self._do(self._calls.context(conversation_id))

    async def facts(self, *, status: str = "active", page_size: int = 100) -> AsyncIterator[Fact]:
        """Yield all facts about the person, page after page."""
        start: str | None = ""
        while start is not None:
            page = await self._do(self._calls.facts_page(start, page_size, status))
            for fact in page.items:
                yield fact
            start = page.next

    async def fact(self, fact_id: str) -> Fact:
        """Return one fact, whatever its status, with the sentences that it came from."""
        return await self._do(self._calls.fact(fact_id))

    async def history(self, fact_id: str) -> list[Change]:
        """Return the changes of a fact, the latest last."""
        return history(await self.fact(fact_id))

    async def correct(self, fact_id: str, text: str, *, idempotency_key: str = "") -> Correction:
        """Say what holds instead of a fact, as a value or in the person's own words."""
        return await self._do(self._calls.correct(fact_id, text, idempotency_key))

    async def forget(self, fact_id: str) -> None:
        """Forget a fact: it is gone from search within seconds."""
        await self._do(self._calls.forget(fact_id))

    async def close_conversation(self, conversation_id: str) -> None:
        """Say that a conversation is over: its last messages are read now, not when it has been silent."""
        await self._do(self._calls.close_conversation(conversation_id))

    async def messages(self, conversation_id: str, *, limit: int = 200) -> list[LoggedMessage]:
        """Return the latest messages of a conversation, oldest first."""
        return (await self._do(self._calls.messages(conversation_id, limit))).messages[::-1]

    async def forget_conversation(self, conversation_id: str) -> None:
        """Forget what was said in a conversation, by anybody, and what was learned from it alone."""
        await self._do(self._calls.forget_conversation(conversation_id))

    async def progress(self, position: str, *, wait: float = 0) -> dict[str, Any]:
        """Say how far a message has come: read, in the open window, extracted, searchable, or refused."""
        return await self._do(self._calls.progress(position, wait))

    async def turn(self, conversation_id: str, content: str, *, turn_id: str = "") -> AsyncIterator[Event]:
        """Say something and yield the events of its answer; a broken stream is taken up where it broke off.

        ``turn_id``: a name of your own; the same again with the same content is said once.
        """
        stream = TurnStream(
            self._calls, conversation_id, content, turn_id or f"t-{uuid4().hex}", self._policy, random.random
        )
        while not stream.is_done():
            try:
                async with self._http.stream(**_arguments(stream.request())) as answer:
                    if answer.status_code >= 400:
                        await answer.aread()
                        wait = stream.refused(_response(answer))
                    else:
                        async for piece in answer.aiter_raw():
                            for event in stream.feed(piece):
                                yield event
                        if stream.is_done():
                            return
                        wait = stream.broken(TransportError("it ended early", sent=True))
            except httpx2.TransportError as error:
                wait = stream.broken(_failed(error))
            await asyncio.sleep(wait)

    async def _do(self, call: Call[T]) -> T:
        steps = carry_out(call, self._policy, random.random)
        came: Response | TransportError | None = None
        while True:
            try:
                step = steps.send(came)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                came = None
            else:
                came = await self._send(step)

    async def _send(self, step: Send) -> Response | TransportError:
        try:
            return _response(await self._http.request(**_arguments(step.request)))
        except httpx2.TransportError as error:
            return _failed(error)
