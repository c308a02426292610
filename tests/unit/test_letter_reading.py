"""Dead letters are read whatever whoever wrote their headers put there."""

from __future__ import annotations

import msgspec
import pytest

from models.errors import InvalidRecord
from models.messages import ChatMessage
from processors.text.validation import decode
from streams.dead_letters.causes import cause_of, field_of
from streams.dead_letters.reading import _Reader
from streams.runtime.records import Record

MANY = b"9" * 5000


@pytest.mark.parametrize(
    "headers",
    [
        [("dlq_reason", b"no"), ("dlq_parts", MANY), ("dlq_part", b"1")],
        [("dlq_reason", b"no"), ("dlq_parts", b"2"), ("dlq_part", MANY)],
        [("dlq_reason", b"no"), ("dlq_parts", "²".encode()), ("dlq_part", b"1")],
        [("dlq_reason", b"no"), ("dlq_bytes", MANY)],
    ],
)
def test_a_number_that_is_none_is_left_out(headers: list[tuple[str, bytes | None]]) -> None:
    """Python reads none of thousands of digits: the command and the page failed over one such letter."""
    reader = _Reader("chat.messages.v1.dlq", None, with_records=True)
    reader.take(Record(b"value", b"key", 7, headers=headers))
    [whole] = reader.letters()
    assert (whole.letter.offset, whole.letter.reason, whole.letter.size) == (7, "no", 5)


def refused(**fields: object) -> str:
    good = {
        "message_id": "m",
        "conversation_id": "c",
        "user_id": "ada",
        "role": "user",
        "content": "hi",
        "sent_at": "2026-01-05T08:00:00Z",
    }
    whole = {name: value for name, value in (good | fields).items() if value is not ...}
    with pytest.raises(InvalidRecord) as error:
        decode(ChatMessage, msgspec.json.encode(whole))
    return str(error.value)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": None}, "content"),
        ({"user_id": ...}, "user_id"),
        ({"sent_at": "yesterday"}, "sent_at"),
        ({"role": "wizard"}, "role"),
    ],
)
def test_the_field_of_a_refusal_is_found(fields: dict[str, object], field: str) -> None:
    assert field_of(refused(**fields)) == field


def test_refusals_of_one_cause_differ_in_values_alone() -> None:
    assert cause_of(refused(role="wizard")) == cause_of(refused(role="elf"))
    assert cause_of(refused(content=None)) != cause_of(refused(content=7))
    assert field_of("sent_at 2030-01-05T08:00:00+00:00 lies 4 days in the future") == "sent_at"
    one, other = (f"sent_at 203{n}-01-05T08:00:00.5+00:00 lies {n} days in the future" for n in (4, 9))
    assert cause_of(one) == cause_of(other)
