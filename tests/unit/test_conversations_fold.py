"""The fold of one conversation, at the edges of what it decides; ``tests/agents`` shows it at work."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest
import samples

from models.errors import ConfigurationError
from models.messages import ChatMessage
from models.windows import WindowReason
from processors.conversations.drafts import SummaryRequestDraft
from processors.conversations.fold import Fold
from processors.conversations.message_ids import IdPage
from processors.conversations.state import (
    ConversationPolicy,
    ConversationState,
    Kept,
)
from processors.conversations.windows import WindowSizes

IDLE, FORGET = 900.0, 9000.0
START = 1_700_000_000.0
POLICY = ConversationPolicy(
    sizes=WindowSizes(4, 1), idle_seconds=IDLE, forget_seconds=FORGET, token_threshold=1000
)


def count(text: str) -> int:
    return len(text)


class Conversation:
    """A conversation that is frozen after each call, as the stage does it."""

    def __init__(self, policy: ConversationPolicy = POLICY) -> None:
        self.policy = policy
        self.state: ConversationState | None = ConversationState("acme", "ada")
        self.stored: dict[int, Sequence[Kept]] = {}
        self.stored_ids: dict[IdPage, bytes] = {}
        self.requests: list[SummaryRequestDraft] = []
        self.said = 0

    def thawed(self) -> Fold:
        state = self.state or ConversationState("acme", "ada")
        return Fold(
            "c", state, self.policy, count, ("t", 3), self.stored.__getitem__, self.stored_ids.__getitem__
        )

    def frozen(self, fold: Fold, now: float = START) -> Fold:
        self.state = fold.finish(now)
        self.stored_ids |= {name: ids for name, ids in fold.id_pages.items() if ids is not None}
        for begins, page in fold.pages.items():
            if page is None:
                del self.stored[begins]
            else:
                self.stored[begins] = page
        self.requests += fold.requests
        return fold

    def say(self, *contents: str, at: float = START) -> Fold:
        fold = self.thawed()
        run = []
        for content in contents:
            said = msgspec.structs.replace(message(self.said, at), content=content)
            run.append((said, 100 + self.said, at))
            self.said += 1
        fold.add(run)
        return self.frozen(fold)

    def answer(self, request: SummaryRequestDraft, tokens: int, **changes: object) -> tuple[bool, Fold]:
        named = {name: getattr(request, name) for name in ("request_id", "from_index", "to_index", "source")}
        summary = samples.summary(summary_id="s-" + request.request_id, tokens=tokens, **named)
        fold = self.thawed()
        taken = fold.answer(msgspec.structs.replace(summary, **changes))
        return taken, self.frozen(fold)


def message(number: int, sent: float = START) -> ChatMessage:
    return samples.message(number, "x", tenant_id="acme", sent_at=datetime.fromtimestamp(sent, UTC))


class TestSilence:
    @pytest.mark.parametrize(("after", "reasons"), [(IDLE - 1, []), (IDLE, [WindowReason.IDLE])])
    def test_a_message_sent_long_after_begins_a_window(self, after: float, reasons: list[WindowReason]) -> None:
        """However soon it arrived: in a backfill everything arrives at once."""
        fold = Conversation().thawed()
        fold.add([(message(0), 100, START), (message(1, START + after), 101, START)])
        assert [window.reason for window in fold.windows] == reasons


class TestRequests:
    def ranges(self, sizes: WindowSizes, threshold: int) -> list[tuple[int, int]]:
        conversation = Conversation(msgspec.structs.replace(POLICY, sizes=sizes, token_threshold=threshold))
        for _ in range(30):
            conversation.say("x" * 5)
        assert (len(conversation.stored) > 5) is (sizes.size < 30)
        for request in conversation.requests:  # grows with each answer
            said = [message["message_id"] for message in msgspec.json.decode(request.messages)]
            assert said == [f"m{n}" for n in range(request.from_index, request.to_index + 1)]
            conversation.answer(request, 1)
        state = conversation.state
        assert state is not None
        assert {*conversation.stored} == {*state.pages}
        ends = [begins + len(page) for begins, page in conversation.stored.items()]
        assert all(end > state.tokens.from_index for end in ends), "what is summarized is let go of"
        return [(request.from_index, request.to_index) for request in conversation.requests]

    @pytest.mark.parametrize("threshold", range(40, 150, 9))
    def test_a_request_has_its_messages_wherever_they_are_kept(self, threshold: int) -> None:
        """While one waits for its answer, the bodies of later ones go from the state to pages."""
        in_pages, in_the_state = (self.ranges(WindowSizes(size, 1), threshold) for size in (4, 64))
        assert in_pages == in_the_state
        assert len(in_pages) > 1


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (10, 11), (10, -1), (0, 0)])
def test_sizes_with_which_no_window_would_get_on_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{size} messages cannot overlap by {overlap}"):
        WindowSizes(size, overlap)
    WindowSizes(1, 0)
    WindowSizes(10, 9)
