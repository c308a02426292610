"""A Qdrant Edge index without what was erased.

The engine writes a payload that replaces another to a new place, and its log keeps each operation: words that
no search finds are still in the files.  So the folder notes that something was erased, and whoever opens it
next copies what is left into new files first.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TypeVar

import msgspec
import qdrant_edge as edge
import structlog

from models.index import VectorSpace
from streams.stores.qdrant_edge_opening import open_shard
from streams.stores.qdrant_kinds import Kind

Item = TypeVar("Item", bound=msgspec.Struct)

#: Says that something was erased since the files were written.
_NOTE = "erased"
#: The new files, until they take the place of the old ones; and what says that all are there.
_FRESH, _COMPLETE = "rewritten", "complete"
#: Points that are copied at once.
_POINTS = 500

log = structlog.get_logger("streams.stores.qdrant_edge")


def note_erasure(folder: Path) -> None:
    """Note that the files hold something that was erased."""
    (folder / _NOTE).touch()


def rewrite_if_erased(folder: Path, kind: Kind[Item], space: VectorSpace, free_bytes: int) -> None:
    """Rewrite the files of a closed index if something was erased since they were written.

    Nothing is done if less than ``free_bytes`` would be free on the disk meanwhile.  An interrupted rewriting
    is finished or started anew.

    Raises:
        ConfigurationError: the files cannot be read, or are of another kind, format or model.
    """
    fresh = folder / _FRESH
    if not (fresh / _COMPLETE).exists():
        shutil.rmtree(fresh, ignore_errors=True)
        if not (folder / _NOTE).exists():
            return
        needed = _needed(folder) + free_bytes
        if shutil.disk_usage(folder).free < needed:
            log.warning(
                "the disk is too full to rewrite the index without what was erased; the next start tries again",
                folder=str(folder),
                needed_bytes=needed,
            )
            return
        points = _copy(folder, fresh, kind, space)
        (fresh / _COMPLETE).touch()
        log.info("the index is rewritten without what was erased", folder=str(folder), points=points)
    _swap(folder, fresh)


def _copy(folder: Path, fresh: Path, kind: Kind[Item], space: VectorSpace) -> int:
    """Copy all points into new files; return how many there are."""
    fresh.mkdir()
    old, new = open_shard(folder, kind, space).engine, open_shard(fresh, kind, space).engine
    try:
        start: str | None = None
        while True:
            records, following = old.scroll(
                edge.ScrollRequest(limit=_POINTS, offset=start, with_payload=True, with_vector=True)
            )
            points = [edge.Point(each.id, each.vector or {}, each.payload or {}) for each in records]
            if points:
                new.update(edge.UpdateOperation.upsert_points(points))
            if following is None:
                break
            start = str(following)
        new.flush()
        return int(new.info().points_count)
    finally:
        old.close()
        new.close()


def _needed(folder: Path) -> int:
    """Return how many bytes the new files may take: as many as the old ones."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _swap(folder: Path, fresh: Path) -> None:
    """Put the new files in the place of the old ones.  Begun again, it goes on where it was interrupted."""
    for path in sorted(fresh.iterdir()):
        if path.name == _COMPLETE:
            continue
        _remove(folder / path.name)
        path.rename(folder / path.name)
    (folder / _NOTE).unlink(missing_ok=True)
    shutil.rmtree(fresh)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
