"""Dead letters are read whatever whoever wrote their headers put there."""

from __future__ import annotations

import pytest

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
