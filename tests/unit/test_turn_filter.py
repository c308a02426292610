"""What a turn shows of its answer: no repeats, what was held in time, and the metrics of the filter."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import samples

from models.messages import Role
from models.responses import ContentDuplicationEvent
from models.turns import Turn
from streams.chat.events import TurnNames
from streams.chat.filtering import AnswerFilter, FilterRules
from streams.config.settings import Settings
from streams.telemetry.metrics import Metrics

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = TurnNames(turn_id="t", conversation_id="c", user_id="ada", tenant_id="default", response_id="r")

ONCE = "Water the beans in the evening, when it is cool."
OTHER = "The peas need a fence against the hares."


class Answer:
    """An answer, and what was told of it."""

    def __init__(self, said: tuple[Any, ...] = (), **settings: Any) -> None:
        self.metrics = Metrics()
        self.rules = FilterRules(Settings(**settings), self.metrics)
        self.told: list[str | ContentDuplicationEvent] = []
        self.filter = AnswerFilter(self.rules, NAMES, said, self.told.append)

    @property
    def text(self) -> str:
        return "".join(each for each in self.told if isinstance(each, str))

    def counted(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"switchboard_{name}")


async def test_a_repeat_is_taken_out_told_and_counted() -> None:
    answer = Answer()
    for piece in (f"{ONCE} ", OTHER, f" {ONCE}"):
        answer.filter.add(piece)
        await asyncio.sleep(0)
    answer.filter.finish()
    assert answer.text == answer.filter.shown
    assert answer.text.strip() == f"{ONCE} {OTHER}"
    [repeat] = answer.filter.duplicates
    assert repeat in answer.told and repeat.duplicate_sentence == ONCE
    assert (repeat.response_id, repeat.session_id) == ("r", "c")
    assert answer.counted("content_duplicates_detected_total") == 1
    assert answer.counted("response_characters_total") == len(f"{ONCE} {OTHER} {ONCE}")
    assert (answer.counted("content_detection_latency_seconds_count") or 0) > 0


async def test_an_error_of_the_filter_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer()

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(answer.rules, "count", fail)
    answer.filter.add(ONCE)
    async with asyncio.timeout(60):
        while answer.filter._error is None:
            await asyncio.sleep(0)
    with pytest.raises(ZeroDivisionError):
        answer.filter.finish()


def said(role: Role, text: str, age: timedelta = timedelta(0)) -> Turn:
    at = NOW - age
    return samples.turn(
        0, text, turn_id=text, message_id=text, role=role, sent_at=at, arrived_at=at, began_at=NOW
    )


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ([said(Role.ASSISTANT, ONCE)], OTHER),
        ([said(Role.ASSISTANT, ONCE), said(Role.ASSISTANT, OTHER)], ""),
        ([said(Role.USER, ONCE)], f"{ONCE} {OTHER}"),
        ([said(Role.ASSISTANT, ONCE, timedelta(seconds=100))], f"{ONCE} {OTHER}"),
    ],
)
async def test_earlier_answers_are_not_repeated(before: list[Turn], shown: str) -> None:
    rules: dict[str, Any] = {"response_memory": "conversation", "response_memory_seconds": 60.0}
    known = Answer(**rules).rules.said_in(before, NOW)
    answer = Answer(known, **rules)
    answer.filter.add(f"{ONCE} {OTHER}")
    answer.filter.finish()
    assert answer.text.strip() == shown
