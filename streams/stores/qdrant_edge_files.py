"""The open files of a Qdrant Edge index: changed, and replaced by files without what was erased.

:mod:`streams.stores.qdrant_edge` changes them in its one thread; :mod:`~.qdrant_edge_rewriting` makes the new
files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import structlog

from models.errors import DependencyUnavailable
from models.index import VectorSpace
from streams.stores.qdrant_edge_opening import open_shard
from streams.stores.qdrant_edge_rewriting import Rewriting, living_files, note_erasure, remove_leftovers
from streams.stores.qdrant_edge_shard import Shard
from streams.stores.qdrant_kinds import Kind

T = TypeVar("T")
Item = TypeVar("Item", bound=msgspec.Struct)

log = structlog.get_logger("streams.stores.qdrant_edge")


class EdgeFiles(Generic[Item]):
    """The living files in a folder and, while they are rewritten, their copy.  Its functions block.

    ``living`` is where the files are, ``shard`` what is open of them, ``rewriting`` the copy.
    """

    def __init__(self, folder: Path, kind: Kind[Item], space: VectorSpace) -> None:
        """Remove what is left over, and open the rest.

        Raises :class:`ConfigurationError` when files cannot be removed or read, or they are of another kind,
        format or model.
        """
        self._folder = folder
        self._space = space
        remove_leftovers(folder)
        self.living = living_files(folder)
        self.shard: Shard[Item] = open_shard(self.living, kind, space)
        self.rewriting: Rewriting[Item] | None = None

    def change(self, change: Callable[[Shard[Item]], T]) -> T:
        """Change the shard, and what is copied of it."""
        try:
            return change(self.shard)
        finally:
            changed = {*self.shard.changed}
            self.shard.changed.clear()
            if self.rewriting is not None:
                try:
                    self.rewriting.refresh(changed)
                except Exception:  # the write itself is done: only the copy lacks it
                    log.exception("the copy of an index is given up", folder=str(self._folder))
                    self.abandon()

    def erase(self, change: Callable[[Shard[Item]], bool]) -> None:
        """Change; if that erased something, note it beside the files that hold it."""

        def noted(shard: Shard[Item]) -> None:
            if change(shard):
                note_erasure(self.living)
                if self.rewriting is not None:
                    note_erasure(self.rewriting.files)

        self.change(noted)

    def begin_rewriting(self) -> None:
        """Begin a copy; raises as :class:`~.qdrant_edge_rewriting.Rewriting`."""
        self.rewriting = Rewriting(self._folder, self.shard, self._space)

    def copy(self) -> bool:
        """Copy some points; return whether there are more.

        Raises:
            DependencyUnavailable: the copy was given up.
        """
        return self._copy().copy()

    def take_place(self) -> None:
        """Put the copy in the place of the living files; the old ones are then left over.

        Raises:
            DependencyUnavailable: the copy was given up.
        """
        old, copy = self.shard, self._copy()
        self.shard, self.living = copy.complete(), copy.files
        self.rewriting = None
        old.engine.close()

    def abandon(self) -> None:
        """Give the copy up, if there is one, and remove what is left over."""
        rewriting, self.rewriting = self.rewriting, None
        if rewriting is not None:
            rewriting.discard()
        remove_leftovers(self._folder)

    def close(self) -> None:
        """Give the copy up and close the files."""
        try:
            self.abandon()
        finally:
            self.shard.engine.close()

    def _copy(self) -> Rewriting[Item]:
        if self.rewriting is None:
            raise DependencyUnavailable("qdrant", f"the copy of {self.living} was given up: see the log")
        return self.rewriting
