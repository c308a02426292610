"""New files for a Qdrant Edge index, without what was erased, made while it serves.

The engine writes a payload that replaces another to a new place, and its log keeps each operation: words that
no search finds are still in the files.  So what is left is copied into new files, which take their place::

    segments/, wal/, edge_config.json   the first files
    erased                              something was erased of the files beside this, first when it was written
    rewritten-2/                        newer files, with their own `erased`; they live once `complete` is there

The newest that are complete are the living ones; all others are left over, of a process that was killed or of
one that has not removed them yet.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import qdrant_edge as edge

from models.errors import ConfigurationError
from models.index import VectorSpace
from streams.stores.qdrant_edge_opening import open_shard
from streams.stores.qdrant_edge_shard import Shard

Item = TypeVar("Item", bound=msgspec.Struct)

#: Says that something was erased since the files beside it were written.
_NOTE = "erased"
#: Says that the files beside it are all that there are.
_COMPLETE = "complete"
#: The first files of an index, which have no folder of their own.
_FIRST = ("segments", "wal", "edge_config.json", _NOTE)

#: Points that are copied at once: the engine holds the interpreter for 3 ms.
_POINTS = 10
#: So many points are copied between two flushes, which keep the log of the new files short.
_FLUSHED_POINTS = 20_000


def living_files(folder: Path) -> Path:
    """Return where the living files of the index in ``folder`` are."""
    numbers = [number for number, path in _rewritten(folder).items() if (path / _COMPLETE).exists()]
    return _numbered(folder, max(numbers)) if numbers else folder


def remove_leftovers(folder: Path) -> None:
    """Remove all files of the index in ``folder`` but the living ones.

    Raises:
        ConfigurationError: some cannot be removed.
    """
    living = living_files(folder)
    leftovers = [path for path in _rewritten(folder).values() if path != living]
    if living != folder:
        leftovers += [folder / name for name in _FIRST]
    try:
        for path in leftovers:
            _remove(path)
    except OSError as error:
        raise ConfigurationError(
            f"cannot remove {error.filename}, left over of a rewritten index ({error.strerror}): make "
            "it writable, or remove it yourself"
        ) from error


def note_erasure(files: Path) -> None:
    """Note that files hold something that was erased, unless they did before."""
    if not (files / _NOTE).exists():
        (files / _NOTE).touch()


def erased_at(files: Path) -> datetime | None:
    """Return since when files hold something that was erased; ``None``: they do not."""
    try:
        return datetime.fromtimestamp((files / _NOTE).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def bytes_of(files: Path) -> int:
    """Return how much room files take on the disk, those left over included."""
    found = 0
    for path in files.rglob("*"):
        try:
            found += path.stat().st_blocks * 512
        except FileNotFoundError:  # a segment that was replaced
            continue
    return found


class Rewriting(Generic[Item]):
    """The copy of an index that is being made: blocking functions, called by the one owner of both.

    What was changed while it is made is copied by :meth:`refresh` after each change.  So a point that
    :meth:`copy` has passed, or that was changed, is the same in both.
    """

    def __init__(self, folder: Path, old: Shard[Item], space: VectorSpace) -> None:
        """Begin new files; what an earlier attempt left of them goes.

        Raises:
            ConfigurationError: what was left cannot be removed, or they cannot be opened.
            OSError: they cannot be made.
        """
        remove_leftovers(folder)
        numbers = _rewritten(folder)
        self.files = _numbered(folder, max(numbers, default=1) + 1)
        self._old = old
        self._start: str | None = None
        self._unflushed = 0
        self.files.mkdir()
        self._new = open_shard(self.files, old.kind, space).engine

    def copy(self) -> bool:
        """Copy some points; return whether there are more."""
        records, following = self._old.engine.scroll(
            edge.ScrollRequest(limit=_POINTS, offset=self._start, with_payload=True, with_vector=True)
        )
        self._put(records)
        self._start = None if following is None else str(following)
        return following is not None

    def refresh(self, ids: set[str]) -> None:
        """Copy points that were changed, and remove those that are there no more."""
        if not ids:
            return
        records = self._old.engine.retrieve([*ids], True, True)
        self._put(records)
        if gone := ids - {str(record.id) for record in records}:
            self._new.update(edge.UpdateOperation.delete_points([*gone]))

    def complete(self) -> Shard[Item]:
        """Make the new files the living ones, for whoever opens the index as well; return their shard."""
        self._new.flush()
        (self.files / _COMPLETE).touch()
        for path in (self.files, self.files.parent):
            _sync(path)
        return replace(self._old, engine=self._new)

    def discard(self) -> None:
        """Close and remove the new files."""
        self._new.close()
        _remove(self.files)

    def _put(self, records: Sequence[edge.Record]) -> None:
        points = [edge.Point(each.id, each.vector or {}, each.payload or {}) for each in records]
        if points:
            self._new.update(edge.UpdateOperation.upsert_points(points))
        self._unflushed += len(points)
        if self._unflushed >= _FLUSHED_POINTS:
            self._unflushed = 0
            self._new.flush()


def _rewritten(folder: Path) -> dict[int, Path]:
    """Return the folders of newer files by their numbers."""
    found = {}
    for path in folder.glob("rewritten*"):
        if match := re.fullmatch(r"rewritten(?:-(\d+))?", path.name):
            found[int(match[1] or 1)] = path
    return found


def _numbered(folder: Path, number: int) -> Path:
    return folder / f"rewritten-{number}"


def _remove(path: Path) -> None:
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return


def _sync(folder: Path) -> None:
    """Bring the names in a folder through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
