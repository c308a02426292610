"""Reading files before they are needed, so that they lie in the system's memory when they are mapped."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_CHUNK = 1024 * 1024

#: What a file system answers that cannot say where a file has holes (some of networks and of FUSE).
_KNOWS_NO_HOLES = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTTY})


def read_ahead(folders: Iterable[Path], most_bytes: int) -> int:
    """Read the files in folders and below, holes left out, up to so many bytes; return how many it were.

    Nothing is kept in this process: the system has the pages at hand, and takes them back when it needs the
    room.  A file that goes away meanwhile is left out.

    Raises:
        OSError: a file cannot be read.
    """
    buffer, left = bytearray(_CHUNK), most_bytes
    for path in (path for folder in folders for path in sorted(folder.rglob("*"))):
        if not path.is_file() or left <= 0:
            continue
        try:
            with path.open("rb", buffering=0) as file:
                for start, end in _written(file.fileno()):
                    file.seek(start)
                    while start < end and left > 0:
                        count = file.readinto(memoryview(buffer)[: min(_CHUNK, end - start, left)])
                        if not count:
                            break
                        start, left = start + count, left - count
        except FileNotFoundError:
            continue
    return most_bytes - left


def _written(file: int) -> Iterator[tuple[int, int]]:
    """Yield where a file's bytes are, first and end; files that are mapped are as long as they may grow."""
    end = 0
    while True:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            if error.errno in _KNOWS_NO_HOLES and not end:
                yield 0, os.fstat(file).st_size
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end
