"""One suite for the blocking and the awaited client, against a real ``serve`` with real services behind it."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from serve_rig import ServeRig
from switchboard_client import AsyncSwitchboard, Message, Switchboard, errors
from switchboard_client.core import Policy
from waiting import eventually

pytestmark = pytest.mark.kafka

PATIENT = Policy(attempts=10, first_wait=0.05, longest_wait=0.5)


class Asker:
    """Asks as one person."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.user = f"rosa-{uuid.uuid4().hex[:6]}"
        self.conversation = f"c-{uuid.uuid4().hex[:8]}"


class Blocking(Asker):
    def __call__(self, method: str, *given: Any, url: str = "", **options: Any) -> Any:
        with Switchboard(url or self.url, user_id=self.user, policy=PATIENT) as memory:
            came = getattr(memory, method)(*given, **options)
            return list(came) if inspect.isgenerator(came) else came


class Awaited(Asker):
    def __call__(self, method: str, *given: Any, url: str = "", **options: Any) -> Any:
        async def go() -> Any:
            async with AsyncSwitchboard(url or self.url, user_id=self.user, policy=PATIENT) as memory:
                came = getattr(memory, method)(*given, **options)
                return [each async for each in came] if inspect.isasyncgen(came) else await came

        return asyncio.run(go())


@pytest.fixture(params=[Blocking, Awaited])
def ask(request: pytest.FixtureRequest, deployment: ServeRig) -> Asker:
    deployment.need("ingest", "memory", "recall", "respond")
    made: Asker = request.param(deployment.url)
    return made


def test_what_was_said_is_found_corrected_and_forgotten(ask: Any) -> None:
    said = [
        Message(conversation_id=ask.conversation, content="I live in Lisbon."),
        Message(conversation_id=ask.conversation, content="Good.", role="assistant"),
        Message(conversation_id=ask.conversation, content="I have a dog called Bruno."),
    ]
    added = ask("add", said, idempotency_key=ask.conversation)
    assert (
        ask("add", said, idempotency_key=ask.conversation).messages[0].message_id
        == added.messages[0].message_id
    )
    eventually(
        lambda: ask("progress", added.messages[-1].position, wait=5)["state"] == "in_window",
        "it waits in the window",
    )
    ask("close_conversation", ask.conversation)
    lives = eventually(
        lambda: [fact for fact in ask("facts", page_size=1) if "Lisbon" in fact.statement], "it is known"
    )[0]
    assert ask("fact", lives.fact_id).provenance[0].quote
    assert [each.change for each in ask("history", lives.fact_id)] == ["created"]
    found = ask("search", "Where does she live?", search_type="facts", limit=1)
    assert found.results[0].fact is not None and found.results[0].fact.fact_id == lives.fact_id
    assert ask("context", ask.conversation).status in ("made", "nothing", "not_made_yet")

    told = ask("correct", lives.fact_id, "Munich")
    assert "Munich" in told.statement and not told.ends

    def stands() -> bool:
        return told.instead in {fact.fact_id for fact in ask("facts")}

    eventually(stands, "what holds instead is known")
    ask("forget", told.instead)
    eventually(lambda: not stands(), "it is forgotten")
    with pytest.raises(errors.NotFound):
        ask("fact", "no-such-fact")


def test_a_broken_stream_resumes_without_repetition(ask: Any, deployment: ServeRig) -> None:
    with broken_once(deployment.api_port, after=b"event: turn") as url:
        events = ask("turn", ask.conversation, "I have a cat called Miezi.", url=url)
    assert [int(each.id) for each in events] == list(range(1, len(events) + 1))
    assert (events[0].kind, events[-1].kind) == ("turn", "end")
    with broken_once(deployment.api_port, after=b"HTTP/1.1 200") as url:
        again = ask("turn", ask.conversation, "And a dog called Otto.", url=url)
    assert again[-1].data["status"] == "answered"

    def kept() -> list[str]:
        with deployment.client() as client:
            found = client.get(f"/v1/conversations/{ask.conversation}", params={"user_id": ask.user})
        return [each["role"] for each in found.json()["messages"]] if found.is_success else []

    eventually(lambda: len(kept()) >= 4, "the log has both turns")
    assert kept() == ["user", "assistant"] * 2


@contextmanager
def broken_once(port: int, after: bytes) -> Iterator[str]:
    """Yield the address of a way to ``port`` whose first connection breaks after so much of an answer."""
    listening = socket.create_server(("127.0.0.1", 0))
    first = threading.Event()

    def carry(source: socket.socket, sink: socket.socket, *, breaks: bool) -> None:
        seen = b""
        try:
            while piece := source.recv(65536):
                seen += piece
                if breaks and after in seen:
                    sink.sendall(piece[: len(piece) // 2])
                    break
                sink.sendall(piece)
        except OSError:
            pass
        for each in (source, sink):
            with suppress(OSError):  # the other direction has ended it
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", port))
            breaks = not first.is_set()
            first.set()
            threading.Thread(target=carry, args=(client, server), kwargs={"breaks": False}, daemon=True).start()
            threading.Thread(
                target=carry, args=(server, client), kwargs={"breaks": breaks}, daemon=True
            ).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()
