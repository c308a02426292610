"""How long a turn waits for what the respond service lets through of its answer."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from models.responses import ResponseChunk
from streams.chat import running
from streams.chat.events import TurnNames
from streams.chat.running import RunningTurn

NAMES = TurnNames(turn_id="t", conversation_id="c", user_id="ada", tenant_id="default", response_id="r")


async def shown_of(
    monkeypatch: pytest.MonkeyPatch, *pieces: str | None, already: str = ""
) -> tuple[str, list[str]]:
    """Return what is shown of "One. Two. Three.", and the names of the events of its turn.

    Each time that the turn has waited as long as it waits, the next of the pieces comes; ``None``: none does.
    """
    turn: Any = RunningTurn(NAMES, None, None, set())  # type: ignore[arg-type]  # neither is asked here
    turn._said, turn._shown = "One. Two. Three.", already
    queue: asyncio.Queue[ResponseChunk] = asyncio.Queue()
    showing = asyncio.create_task(turn._show(queue))
    coming = iter(pieces)

    async def wait(tasks: list[asyncio.Task[None]], timeout: float) -> None:
        text = next(coming)
        if text is not None:
            final = text.endswith("Three.")
            chunk = ResponseChunk(response_id="r", conversation_id="c", sequence=0, text=text, final=final)
            queue.put_nowait(chunk)
        for _ in range(20):  # it is shown
            await asyncio.sleep(0)

    with monkeypatch.context() as patched:
        patched.setattr(running, "asyncio", SimpleNamespace(wait=wait))
        await turn._wait_for(showing)
    showing.cancel()
    assert next(coming, "nothing") == "nothing", "it waited no longer"
    return turn._shown, [event.name for event in turn._told._events]


async def test_a_slow_respond_service_is_waited_for_as_long_as_more_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, events = await shown_of(monkeypatch, "One. ", "Two. ", "Three.")
    assert shown == "One. Two. Three."
    assert events == ["text", "text", "text"]


async def test_of_a_silent_one_it_is_said_once_and_the_answer_is_shown_as_it_was_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, events = await shown_of(monkeypatch, None)
    assert shown == "One. Two. Three."
    assert events == ["notice", "text"]


async def test_one_that_falls_silent_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await shown_of(monkeypatch, "One. ", None))[1] == ["text", "notice"]
    assert (await shown_of(monkeypatch, None, already="One. "))[1] == ["notice"]
