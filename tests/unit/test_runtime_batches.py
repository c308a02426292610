"""Record batches, byte by byte: numbers and records as aiokafka, and so Java, writes and reads them."""

from __future__ import annotations

import struct

from hypothesis import example, given
from hypothesis import strategies as st

from streams.clients.aiokafka_internals import DefaultRecordBatchBuilder
from streams.runtime.batches import HEADER_BYTES, batches, with_readable_names


def payload(*records: tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 30)
    for offset, key, value, headers in records:
        builder.append(offset, 0, key, value, headers)
    return bytes(builder.build())[HEADER_BYTES:]


def batch(offset: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 30)
    builder.append(0, 0, b"k", b"v", [])
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, offset)
    return bytes(data)


class TestBatches:
    def header(self, offset: int) -> bytes:
        """What compaction leaves of a batch whose records are all gone."""
        header = bytearray(batch(offset)[:HEADER_BYTES])
        struct.pack_into(">i", header, 8, HEADER_BYTES - 12)
        return bytes(header)

    def test_all_that_are_whole_are_found_also_without_a_record(self) -> None:
        data = batch(0) + self.header(1) + batch(2) + self.header(3)
        found = [*batches(data)]
        assert [one.first_offset for one in found] == [0, 1, 2, 3]
        assert [one.end for one in found] == [one.start for one in found[1:]] + [len(data)]
        assert found[1].payload_start == found[1].end
        for cut in range(1, HEADER_BYTES):
            assert [one.first_offset for one in batches(data[:-cut])] == [0, 1, 2]


sized = st.none() | st.sampled_from([0, 1, 63, 64, 127, 128, 129, 8191, 8192, 9000]).map(bytes)


@given(st.lists(st.tuples(sized, sized, st.lists(st.tuples(st.text(max_size=90), sized), max_size=3))))
@example([(None, None, [("n" * count, None)] * count) for count in (63, 64, 65)])
def test_names_that_can_be_read_stay_byte_for_byte(
    records: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
) -> None:
    written = payload(*((offset, *record) for offset, record in enumerate(records)))
    assert with_readable_names(written, len(records)) == written
