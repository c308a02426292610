"""Dead letters in the log: seldom enough to be read, and with what is needed to find them."""

from __future__ import annotations

from structlog.testing import capture_logs

from streams.runtime.letter_log import LetterLog


def tell(told: LetterLog, reason: str = "invalid_field", topic: str = "chat.messages.v1", at: int = 7) -> None:
    told.tell(topic, 3, at, reason, "at `$.content`")


def test_every_kind_is_named_and_failing_texts_are_not() -> None:
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
