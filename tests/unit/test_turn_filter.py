"""How long a turn waits for what the respond service lets through of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from models.answers import Answer, AnswerKind, PromptLaid, Spoken
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.turns import Turn
from models.understanding import QueryUnderstanding
from streams.chat import readback
from streams.chat.events import TurnEvents, TurnNames
from streams.chat.filtered import Told
from streams.chat.readback import ReadBack
from streams.chat.running import RunningTurn

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = TurnNames(turn_id="t", conversation_id="c", user_id="ada", tenant_id="default", response_id="r")


def chunk(sequence: int, text: str, *, final: bool = False) -> ResponseChunk:
    return ResponseChunk(response_id="r", conversation_id="c", sequence=sequence, text=text, final=final)


def repeated(sentence: str) -> ContentDuplicationEvent:
    return ContentDuplicationEvent(
        event_id=f"d-{sentence}",
        session_id="c",
        response_id="r",
        timestamp=NOW,
        duplicate_sentence=sentence,
        similar_sentence=sentence,
        similarity_score=1.0,
        position_in_response=5,
    )


async def shown_of(
    monkeypatch: pytest.MonkeyPatch, *pieces: str | None, already: str = ""
) -> tuple[str, list[str]]:
    """Return what is shown of "One. Two. Three.", and the names of the events of its turn.

    Each time that the turn has waited as long as it waits, the next of the pieces comes; ``None``: none does.
    """
    told = TurnEvents()
    back = ReadBack(told.tell)
    back.shown = already
    queue: asyncio.Queue[Told] = asyncio.Queue()
    showing = asyncio.create_task(back.follow(queue))
    coming, number = iter(pieces), count()

    async def wait(tasks: list[asyncio.Task[None]], timeout: float) -> None:
        text = next(coming)
        if text is not None:
            final = text.endswith("Three.")
            queue.put_nowait(chunk(next(number), text, final=final))
        for _ in range(20):  # it is shown
            await asyncio.sleep(0)

    with monkeypatch.context() as patched:
        patched.setattr(readback, "asyncio", SimpleNamespace(wait=wait))
        await back.to_its_end(showing, "One. Two. Three.")
    showing.cancel()
    assert next(coming, "nothing") == "nothing", "it waited no longer"
    return back.shown, [event.name for event in told._events]


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
    assert (await shown_of(monkeypatch, "One. ", None))[1] == ["text", "notice", "text"]
    assert (await shown_of(monkeypatch, None, already="One. Two. Three."))[1] == ["notice"]


@pytest.mark.parametrize("pieces", [("One. ", None), ("One. ", "Two. ", None)])
async def test_of_one_that_falls_silent_in_the_middle_the_rest_is_shown_as_it_was_said(
    monkeypatch: pytest.MonkeyPatch, pieces: tuple[str | None, ...]
) -> None:
    shown, events = await shown_of(monkeypatch, *pieces)
    assert shown == "One. Two. Three."
    assert events[-2:] == ["notice", "text"]


async def test_after_what_was_taken_out_of_it_an_answer_is_shown_as_far_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the rest of it begins is not known then: nothing is shown twice."""
    shown, events = await shown_of(monkeypatch, None, already="Two. ")
    assert (shown, events) == ("Two. ", ["notice"])


async def test_what_a_respond_service_writes_again_after_a_crash_is_shown_once() -> None:
    queue: asyncio.Queue[Told] = asyncio.Queue()
    told = TurnEvents()
    back, repeat = ReadBack(told.tell), repeated("One.")
    written: list[ResponseChunk | ContentDuplicationEvent] = [chunk(0, "One. "), repeat, chunk(1, "Two. ")]
    for each in (*written, *written, chunk(2, "Three.", final=True)):
        queue.put_nowait(each)
    async with asyncio.timeout(60):
        await back.follow(queue)
    assert back.shown == "One. Two. Three."
    assert back.duplicates == [repeat]
    assert [event.name for event in told._events] == ["text", "duplicate", "text", "text"]


async def test_what_was_taken_out_at_the_end_is_told_when_its_topic_tells_of_it() -> None:
    """The end of the text and what repeats in it are in topics of their own, and either may be there first."""
    queue: asyncio.Queue[Told] = asyncio.Queue()
    told = TurnEvents()
    back, said = ReadBack(told.tell), "One. Two. One. Two."
    queue.put_nowait(chunk(0, "One. Two. ", final=True))
    await back.follow(queue)
    waiting = asyncio.create_task(back.repeats(queue, said))
    kept = msgspec.structs.replace(repeated("One."), event_id="d-0", kept=True)
    for each in (kept, repeated("One."), repeated("One.")):
        queue.put_nowait(each)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done(), "not all of it is known"
    queue.put_nowait(repeated("Two."))
    async with asyncio.timeout(60):
        await waiting
    assert [each.duplicate_sentence for each in back.duplicates] == ["One.", "One.", "Two."]
    assert [event.name for event in told._events] == ["text", *["duplicate"] * 3]
    await back.repeats(queue, said)  # and nothing more is waited for


async def test_what_nobody_tells_of_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readback, "_REPEATS_SECONDS", 0.01)
    back = ReadBack(TurnEvents().tell)
    back.shown = "One."
    async with asyncio.timeout(60):
        await back.repeats(asyncio.Queue(), "- One. - One.")


async def test_an_answer_of_which_a_piece_is_missing_is_not_kept() -> None:
    """The reader lost the broker, and what was written meanwhile is gone: it is to be tried again."""
    queue: asyncio.Queue[ResponseChunk] = asyncio.Queue()
    for each in (chunk(0, "One. "), chunk(2, "Three.", final=True)):
        queue.put_nowait(each)
    written: list[Any] = []

    @contextmanager
    def watch(*_: str) -> Iterator[asyncio.Queue[ResponseChunk]]:
        yield queue

    async def ready() -> None:
        assert not written, "it is waited for before the first piece is written"

    async def answer(turn: Turn, looking: Any) -> AsyncGenerator[Spoken | Answer]:
        yield Spoken("One. Two. Three.")
        yield Answer(
            kind=AnswerKind.NOTED,
            by="test",
            understanding=QueryUnderstanding(query="", is_ambiguous=False, score=0.0),
            prompt=PromptLaid(round=0, version="test", budget=0, tokens=0, tiers=(), items=()),
            text="One. Two. Three.",
        )

    async def write(record: Any) -> None:
        written.append(record)

    means: Any = SimpleNamespace(
        answerer=SimpleNamespace(answer=answer),
        filtered=SimpleNamespace(watch=watch, ready=ready),
        sending=SimpleNamespace(chunk=write, message=write),
    )
    turn = RunningTurn(NAMES, None, means, set())  # type: ignore[arg-type]  # it is not asked here
    turn.start()
    async with asyncio.timeout(60):
        told = [event async for event in turn.events()]
    assert [event.name for event in told] == ["turn", "text", "end"]
    assert turn.ended is not None
    assert (turn.ended.status, turn.ended.try_again) == ("interrupted", True)
    assert all(isinstance(each, ResponseChunk) for each in written), "no message of the assistant"
