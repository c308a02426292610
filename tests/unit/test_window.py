"""The window around a match: requirement 2's numbers, its clamps and its errors, word for word."""

from __future__ import annotations

import pytest
import samples

from models.errors import NotFound
from models.messages import Role
from models.turns import Turn
from processors.retrieval.recall.window import InvalidWindow, bounds, window
from streams.queries.conversations.windows import WindowRetriever
from streams.runtime.testing import START


def turn(index: int, user: str = "ada") -> Turn:
    names = {"turn_id": f"t{index}", "conversation_id": "conv-123", "user_id": user, "role": Role.USER}
    return samples.turn(index, at=START, arrived_at=START, **names)


def conversation(count: int) -> list[Turn]:
    return [turn(index) for index in range(count)]


def test_the_seeds_example() -> None:
    assert bounds("conv-123", 10, 11) == (4, 17)
    found = window("conv-123", 10, 11, 3, conversation(40))
    assert [each.index for each in found.messages] == list(range(4, 18))
    assert (found.window_start, found.window_end, found.matched_sequence_range) == (4, 17, (10, 11))
    assert found.conversation_id == "conv-123"


@pytest.mark.parametrize(
    ("first", "last", "turns", "count", "start", "end"),
    [
        (0, 1, 3, 40, 0, 7),  # clamped at the beginning
        (38, 39, 3, 40, 32, 39),  # true bounds at the end
        (1, 2, 3, 4, 0, 3),  # a short conversation
        (10, 11, 0, 40, 10, 11),
        (42, 43, 3, 40, 36, 39),  # behind the last, still in reach
    ],
)
def test_windows_are_clamped(first: int, last: int, turns: int, count: int, start: int, end: int) -> None:
    found = window("conv-123", first, last, turns, conversation(count)[::-1])
    assert (found.window_start, found.window_end) == (start, end)
    assert [each.index for each in found.messages] == list(range(start, end + 1))


def test_an_empty_window_says_how_long_the_conversation_is() -> None:
    assert "has 5, numbered 0 to 4" in window("conv-123", 100, 101, 3, [], 5).note
    assert "is erased" in window("conv-123", 0, 1, 1, conversation(40)[20:]).note
    assert not window("conv-123", 4, 4, 0, conversation(5)).note


@pytest.mark.parametrize(
    ("name", "first", "last", "turns", "said"),
    [
        ("", 0, 1, 3, "conversationId is required"),
        ("c", -1, 1, 3, "Sequence numbers must be non-negative"),
        ("c", 5, 3, 3, "matchedStartSeq (5) must be <= matchedEndSeq (3)"),
        ("c", 0, 1, 10_000, "windowSize (10000) must be between 0 and 500 turns"),
        ("c", 0, 10**9, 3, "the match has 1000000001 messages: ask for at most 2000"),
    ],
)
def test_what_is_no_window(name: str, first: int, last: int, turns: int, said: str) -> None:
    with pytest.raises(InvalidWindow) as caught:
        window(name, first, last, turns, [])
    assert str(caught.value) == said


class Kept:
    """A log and a topic in memory: what each holds, and whether the topic was read."""

    def __init__(self, logged: list[Turn], said: list[Turn], length: int | None = None) -> None:
        self.logged, self.said = logged, said
        self.following = length if length is not None else (logged[-1].index + 1 if logged else 0)
        self.read = 0

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        return tenant_id == "default" and any(each.user_id == user_id for each in self.logged)

    async def length(self, tenant_id: str, conversation_id: str) -> int:
        return self.following

    async def in_log(self, tenant_id: str, conversation_id: str, first: int, last: int) -> list[Turn]:
        return [each for each in self.logged if first <= each.index <= last]

    async def in_topic(self, tenant_id: str, conversation_id: str) -> list[Turn]:
        self.read += 1
        return self.said if tenant_id == "default" else []


class LogOf:
    def __init__(self, kept: Kept) -> None:
        self.takes_part, self.length, self.turns = kept.takes_part, kept.length, kept.in_log


class TopicOf:
    def __init__(self, kept: Kept) -> None:
        self.turns = kept.in_topic


async def indices(kept: Kept, first: int, last: int, user: str = "ada", tenant: str = "default") -> list[int]:
    retriever = WindowRetriever(LogOf(kept), TopicOf(kept))
    found = await retriever.window(tenant, user, "conv-123", first, last)
    return [each.index for each in found.messages]


async def test_expired_and_recreated_logs_are_completed_from_the_topic() -> None:
    whole = conversation(20)
    for logged in ([], whole[15:]):
        kept = Kept(logged, whole)
        assert await indices(kept, 10, 11) == list(range(4, 18))
        assert kept.read == 1
    kept = Kept(whole[5:], whole)
    assert await indices(kept, 12, 12) == list(range(6, 19))
    assert kept.read == 0


async def test_another_person_and_another_tenant_see_nothing() -> None:
    for kept in (Kept(conversation(20), conversation(20)), Kept([], conversation(20))):
        with pytest.raises(NotFound, match="bob takes part in no conversation conv-123 of tenant default"):
            await indices(kept, 3, 4, user="bob")
        with pytest.raises(NotFound, match="of tenant other"):
            await indices(kept, 3, 4, tenant="other")
