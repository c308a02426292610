"""Files are read before they are needed: what is written of them, and no more than is wanted."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from fact_samples import SPACE, make_fact

from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS

PAGE = os.sysconf("SC_PAGESIZE")


def drop(path: Path) -> None:
    """Have the system let go of a file's pages."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if is_at_hand(path, 0):
        pytest.skip("this file system keeps its files in memory")


def is_at_hand(path: Path, offset: int) -> bool:
    """Say whether a page can be read without waiting for the disk."""
    with path.open("rb") as file:
        try:
            return os.preadv(file.fileno(), [bytearray(PAGE)], offset, os.RWF_NOWAIT) == PAGE
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            pytest.skip("this file system does not say which pages are at hand")


def payloads_of(folder: Path) -> Path:
    """Return the first file of an index's payloads."""
    [found] = folder.glob("segments/*/payload_storage/page_0.dat")
    return found


async def test_what_an_index_holds_is_at_hand_once_it_is_open(tmp_path: Path) -> None:
    index = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await index.upsert([make_fact(f"likes tea number {number}") for number in range(100)])
    await index.close()
    payloads = payloads_of(tmp_path)
    drop(payloads)
    again = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    assert is_at_hand(payloads, 0)
    assert is_at_hand(payloads, 4 * PAGE)
    await again.close()
