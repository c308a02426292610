"""Dead letters: whatever the record is, it can be put together again from what the queue takes."""

from __future__ import annotations

import hashlib
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.clients.records import Record, UnreadBatch
from streams.runtime.deadletters import KEPT_OF_LARGER, LARGEST_LETTER, is_cut, join_parts, letters, to_outputs
from streams.runtime.effects import DeadLetter, Output
from streams.runtime.publisher import record_bytes

SOURCE = "chat.messages.v1"
LIMIT = 2000

RECORD = Record(b"value", b"key", 7, "staging-chat.messages.v1", 3, 1_700_000_000_000, [("own", b"1")])


def outputs(record: Record | UnreadBatch, limit: int = LIMIT, message: str = "no") -> list[Output]:
    return to_outputs(DeadLetter(record, "invalid_json", message, 2), source=SOURCE, stage="stage", limit=limit)


def as_read(written: list[Output], first_offset: int = 0) -> list[Record]:
    """The records of the queue, as a consumer gets them."""
    return [
        Record(
            output.value, output.key, first_offset + n, output.topic, output.partition or 0, 0, output.headers
        )
        for n, output in enumerate(written)
    ]


def said(output: Output) -> dict[str, str]:
    return {name: (value or b"").decode() for name, value in output.headers if name.startswith("dlq_")}


def test_a_letter_is_the_record_and_says_why() -> None:
    [output] = outputs(RECORD)
    assert (output.topic, output.key, output.value, output.partition) == (SOURCE + ".dlq", b"key", b"value", 3)
    assert output.route is None
    assert output.headers[0] == ("own", b"1")
    assert said(output) == {
        "dlq_reason": "invalid_json",
        "dlq_message": "no",
        "dlq_stage": "stage",
        "dlq_topic": "staging-chat.messages.v1",
        "dlq_partition": "3",
        "dlq_offset": "7",
        "dlq_attempts": "2",
    }


headers = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=900)), max_size=5)


@given(
    st.none() | st.binary(max_size=3000),
    st.none() | st.binary(max_size=9000),
    headers,
    st.integers(1500, 6000),
    st.randoms(),
)
@example(b"k" * 1000, b"v" * 9000, [("own", b"h" * 900), ("own", None)], 1500, Random(1))
@example(b"k" * 3000, None, [], 1500, Random(1))
def test_every_record_comes_back_byte_for_byte(key, value, headers, limit, random) -> None:
    record = RECORD._replace(key=key, value=value, headers=headers)
    written = outputs(record, limit)
    assert all(record_bytes(output.key, output.value, output.headers) <= limit for output in written)
    assert {(output.partition, output.copy) for output in written} == {(3, True)}
    parts = as_read(written)
    random.shuffle(parts)
    joined = join_parts(parts)
    assert (joined.key, joined.value, list(joined.headers), joined.complete) == (key, value, headers, True)
    assert (joined.why["reason"], joined.why["offset"]) == ("invalid_json", "7")
    if len(written) > 1:
        assert [said(output)["dlq_part"] for output in written] == [str(n + 1) for n in range(len(written))]
        assert {said(output)["dlq_parts"] for output in written} == {str(len(written))}
        content = b"".join(output.value or b"" for output in written)
        assert {said(output)["dlq_sha256"] for output in written} == {hashlib.sha256(content).hexdigest()}
        assert {int(said(output)["dlq_bytes"]) for output in written} == {len(content)}


def test_a_missing_or_damaged_part_is_noticed() -> None:
    parts = as_read(outputs(RECORD._replace(value=bytes(5000))))
    with pytest.raises(ValueError, match=r"parts \[2\] of \d+ are missing"):
        join_parts([parts[0], *parts[2:]])
    damaged = parts[0]._replace(value=b"x" + (parts[0].value or b"")[1:])
    with pytest.raises(ValueError, match="not make the content"):
        join_parts([damaged, *parts[1:]])
    shorter = parts[-1]._replace(value=(parts[-1].value or b"")[:-1])
    with pytest.raises(ValueError, match="not make the content"):
        join_parts([*parts[:-1], shorter])


def test_of_more_than_16_mib_beginning_and_hash_are_kept() -> None:
    overhead = record_bytes(RECORD.key, b"", RECORD.headers)
    whole = RECORD._replace(value=bytes(LARGEST_LETTER - overhead))
    assert not is_cut(DeadLetter(whole, "r", "m"))
    assert is_cut(DeadLetter(whole._replace(key=b"key+"), "r", "m"))
    assert len(outputs(whole, 8 << 20)) == 3
    value = b"begin" + bytes(LARGEST_LETTER - overhead)
    larger = RECORD._replace(value=value, key=b"k" * 3000)
    assert is_cut(DeadLetter(larger, "r", "m"))
    [output] = outputs(larger, 2 << 20)
    assert (output.key, output.value, output.copy) == (b"k" * 1024, value[:KEPT_OF_LARGER], True)
    assert output.partition == 3
    joined = join_parts(as_read([output]))
    assert joined.complete is False
    assert (joined.key, list(joined.headers)) == (b"k" * 1024, [])
    assert joined.value == value[:65_536]
    assert joined.why["bytes"] == str(len(value))
    assert joined.why["sha256"] == hashlib.sha256(value).hexdigest()
    assert (joined.why["topic"], joined.why["partition"], joined.why["offset"]) == (RECORD.topic, "3", "7")
    assert joined.why["content"] == "cut"


@pytest.mark.parametrize("size", [100, 5000])
def test_a_packed_batch_is_kept_as_in_the_log(size: int) -> None:
    unread = UnreadBatch(
        "t", 3, 100, 149, 5, "zstd", 50, bytes(range(100)) * (size // 100), "batch_too_large", "m"
    )
    assert not is_cut(DeadLetter(unread, "r", "m"))
    written = outputs(unread)
    assert len(written) == 1 if size == 100 else len(written) > 2
    for output in written:
        assert (output.key, output.partition) == (None, 3)
        why = said(output)
        assert (why["dlq_offset"], why["dlq_last_offset"], why["dlq_codec"], why["dlq_records"]) == (
            "100",
            "149",
            "zstd",
            "50",
        )
        assert why["dlq_content"] == "batch"
    joined = join_parts(as_read(written))
    assert (joined.value, joined.key, joined.complete) == (unread.data, None, True)
    assert (list(joined.headers), joined.why["records"]) == ([], "50")


def test_letters_are_found_and_repeated_parts_count_once() -> None:
    plain = as_read(outputs(RECORD))
    split = as_read(outputs(RECORD._replace(offset=8, value=b"a" * 5000)))
    other = as_read(outputs(RECORD._replace(offset=9, value=b"b" * 5000)))
    found = list(letters([split[0], other[0], *plain, *split, *split, *other[1:]]))
    assert [(letter.why["offset"], letter.value) for letter in found] == [
        ("7", b"value"),
        ("8", b"a" * 5000),
        ("9", b"b" * 5000),
    ]
