"""Dead letters in the log: seldom enough to be read, and with what is needed to find them."""

from __future__ import annotations

from structlog.testing import capture_logs

from streams.runtime.letter_log import LetterLog


def tell(told: LetterLog, reason: str = "invalid_field", topic: str = "chat.messages.v1", at: int = 7) -> None:
    told.tell(topic, 3, at, reason, "at `$.content`")


def test_the_first_of_a_kind_is_told_then_every_tenfold() -> None:
    told = LetterLog("conversations")
    with capture_logs() as lines:
        for offset in range(1000):
            tell(told, at=offset)
    assert [(line["so_far"], line["offset"]) for line in lines] == [(1, 0), (10, 9), (100, 99), (1000, 999)]
    first = lines[0]
    assert (first["stage"], first["topic"], first["partition"]) == ("conversations", "chat.messages.v1", 3)
    assert (first["reason"], first["why"]) == ("invalid_field", "at `$.content`")


def test_every_kind_is_told_by_itself_and_what_a_failing_step_says_is_not() -> None:
    told = LetterLog("conversations")
    with capture_logs() as lines:
        tell(told)
        tell(told, "step_failed")
        tell(told, topic="other.v1")
        tell(told)
    assert [(line["topic"], line["reason"]) for line in lines] == [
        ("chat.messages.v1", "invalid_field"),
        ("chat.messages.v1", "step_failed"),
        ("other.v1", "invalid_field"),
    ]
    assert "$" not in lines[1]["why"]
