"""Where the embedded indexes live, and what becomes of them when the embedder is changed.

::

    qdrant/                          the living indexes, and in `embedder.json` what made their vectors
    qdrant-<model>-<length>-<hash>/  the same, being built with another embedder; `whole`: ready

Until that is whole the living ones answer, asked with their own embedder; at the next start it takes their
place.  New things get vectors of the new embedder alone: who goes back finds `behind` in the living folder, and
what is missing is made again.

Only a folder that is called as its note says was begun here; a copy that somebody keeps is left alone.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec

from models.errors import ConfigurationError
from models.index import VectorSpace
from streams.config.settings import Settings
from streams.stores.folder_lock import FolderLock

#: Folder of the living indexes, inside ``Settings.folder``.
EDGE_FOLDER = "qdrant"

_NOTE, _WHOLE, _BEHIND = "embedder.json", "whole", "behind"
_PART = f"{_NOTE}.part"

#: The living indexes while others take their place; and what is not needed any more, once they have.
_REPLACED, _REMOVED = f"{EDGE_FOLDER}.replaced-by-switchboard", f"{EDGE_FOLDER}.removed-by-switchboard"

#: Held while folders are moved: its own lock lies in it.
_MOVING = f"{EDGE_FOLDER}.moving"

#: Settings that say which embedder it is.
_CHOOSING = ("embedder", "model_api", "model_url", "embedding_url", "embedding_name", "embedding_dimensions")


class _Note(msgspec.Struct, frozen=True):
    """Embedder of a folder's indexes, and the settings that choose it.  ``build`` names the build, so that
    marks of an earlier one do not count.
    """

    model: str
    dimensions: int
    settings: dict[str, Any]
    build: str = ""

    @property
    def space(self) -> VectorSpace:
        return VectorSpace(self.model, self.dimensions)


class IndexDirs(NamedTuple):
    """Index folders to open.  ``living``: the settings, with the embedder of the living indexes.

    ``built``: the folder in which vectors are being made again: another than ``folder``, that itself, or none.
    """

    folder: Path
    living: Settings
    built: Path | None = None

    @property
    def beside(self) -> Path | None:
        """The folder beside the living one, if there is one."""
        return None if self.built == self.folder else self.built

    def note(self, space: VectorSpace, settings: Settings) -> str:
        """Note what makes the vectors in the folder that is being built, or, without one, in the living one;
        return what names the build, ``""`` if nothing is built.

        To be called once the living ones are open, and nobody else's: what was begun for another embedder goes.

        Raises:
            ConfigurationError: the folders cannot be written, or are not ours.
        """
        with _writing(self.folder.parent):
            for other in _begun(self.folder):
                if other != self.beside:
                    _remove(other)
            note = _Note(*space, {name: getattr(settings, name) for name in _CHOOSING})
            if self.beside is None:
                _write(self.folder, note)
                return "" if self.built is None else _named(self.folder / _BEHIND)
            found = _read(self.beside)
            if found is None or found.space != space:
                _require_empty(self.beside)
                found = msgspec.structs.replace(note, build=uuid4().hex)
            _write(self.beside, msgspec.structs.replace(note, build=found.build))
            # Another name each time: what an earlier one has said of the living indexes is over.
            (self.folder / _BEHIND).write_text(uuid4().hex)
            return found.build

    def space_of_living(self) -> VectorSpace:
        """Return the vector space of the living indexes, as far as it is noted."""
        note = _read(self.folder)
        return VectorSpace("", 0) if note is None else note.space

    def mark_ready(self) -> None:
        """Note that it has: beside, it takes the place of the living ones at the next start.

        Raises:
            ConfigurationError: the folder cannot be written.
        """
        with _writing(self.folder.parent):
            if self.beside is not None:
                (self.beside / _WHOLE).touch()
            else:
                (self.folder / _BEHIND).unlink(missing_ok=True)


def find_index_dirs(settings: Settings, space: VectorSpace, *, patience: float = 0.0) -> IndexDirs:
    """Return where the indexes are for vectors of ``space``; those that are whole take their place first.

    Raises:
        ConfigurationError: another process has the living ones, for longer than ``patience`` seconds; or the
            folders cannot be written.
    """
    folder = settings.folder / EDGE_FOLDER
    beside = folder.with_name(_name(space))
    if _is_to_be_moved(folder, beside):
        with _writing(folder.parent):
            lock = FolderLock(
                folder.with_name(_MOVING), "It is moving the indexes: start this again.", patience
            )
            try:
                _restore(folder)
                _take_place(folder, beside, patience)
            finally:
                lock.release()
    note = _read(folder)
    if note is None or note.space == space:
        return IndexDirs(folder, settings, folder if (folder / _BEHIND).exists() else None)
    return IndexDirs(folder, settings.model_copy(update=note.settings), beside)


def noted(settings: Settings) -> tuple[VectorSpace, Settings] | None:
    """Return the living indexes' vector space and settings; ``None`` without a note, or on a server."""
    note = None if settings.qdrant_url else _read(settings.folder / EDGE_FOLDER)
    return None if note is None else (note.space, settings.model_copy(update=note.settings))


def forget_builds(folder: Path) -> bool:
    """Remove what is being built beside the indexes in ``folder``, which the caller owns, and what a crash left
    of those whose place was taken; say whether there was anything.  What is made again in ``folder`` itself is
    begun anew.
    """
    replaced = folder.with_name(_REPLACED)
    gone = [*_begun(folder), *([replaced] if replaced.exists() else [])]
    for each in gone:
        _remove(each)
    if (folder / _BEHIND).exists():
        (folder / _BEHIND).write_text(uuid4().hex)
    return bool(gone)


def _is_to_be_moved(folder: Path, beside: Path) -> bool:
    """Return whether a finished, interrupted or deleted build is left to move."""
    left = any(folder.with_name(name).exists() for name in (_REPLACED, _REMOVED))
    return left or (beside / _WHOLE).exists() or (not folder.exists() and _read(beside) is not None)


def _restore(folder: Path) -> None:
    """Have the living indexes at home again if a crash came while others took their place; clear up."""
    replaced = folder.with_name(_REPLACED)
    _clear(folder)
    if replaced.exists():
        if _read(folder) is not None:  # the others have it
            _remove(replaced)
            return
        if folder.exists():  # begun by a process that found none
            _remove(folder)
        replaced.rename(folder)


def _remove(folder: Path) -> None:
    """Remove a folder so that a crash leaves no half of it under its name."""
    _clear(folder)
    folder.rename(folder.with_name(_REMOVED))
    _clear(folder)


def _clear(folder: Path) -> None:
    if (removed := folder.with_name(_REMOVED)).exists():
        shutil.rmtree(removed)


def _take_place(folder: Path, beside: Path, patience: float) -> None:
    """Put what is whole into the place of the living indexes, and what is not if there are none."""
    note, is_whole = _read(beside), (beside / _WHOLE).exists()
    if note is None or not (is_whole or not folder.exists()):
        return
    if not folder.exists():
        if not is_whole:
            (beside / _BEHIND).write_text(note.build)
        beside.rename(folder)
    else:
        lock = FolderLock(folder / "facts", "Stop it: another index is to take the place of its own.", patience)
        try:
            folder.rename(folder.with_name(_REPLACED))
        finally:
            lock.release()
        beside.rename(folder)
        _restore(folder)
    (folder / _WHOLE).unlink(missing_ok=True)


def _begun(folder: Path) -> list[Path]:
    """Return the folders in which indexes were begun beside those in ``folder``."""
    found = []
    for each in folder.parent.glob(f"{EDGE_FOLDER}-*"):
        note = None if each.is_symlink() else _read(each)
        if note is not None and each.name == _name(note.space):
            found.append(each)
    return sorted(found)


def _read(folder: Path) -> _Note | None:
    """Return the note of a folder, as far as there is one: if not, the indexes' seals decide."""
    try:
        return msgspec.json.decode((folder / _NOTE).read_bytes(), type=_Note)
    except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
        return None


def _named(behind: Path) -> str:
    """Return the name of the build in place; after a crash it may have none."""
    if not (name := behind.read_text().strip()):
        behind.write_text(name := uuid4().hex)
    return name


def _write(folder: Path, note: _Note) -> None:
    if _read(folder) == note:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _PART).write_bytes(msgspec.json.encode(note))
    (folder / _PART).replace(folder / _NOTE)


def _require_empty(folder: Path) -> None:
    if folder.exists() and any(each.name != _PART for each in folder.iterdir()):
        raise ConfigurationError(
            f"{folder} is where an index for the new embedder is to be built, and does not say what made it. "
            f"Move it away, or delete it (rm -r '{folder}')."
        )


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"the indexes in {folder} cannot be moved or noted ({error}): make it writable, with room on its "
            "disk, and start this again"
        ) from error


def _name(space: VectorSpace) -> str:
    """Return the name of the folder for a space: of two that read alike, each has its own."""
    said = f"{space.model}-{space.dimensions}"
    readable = re.sub(r"[^a-z0-9.]+", "-", said.lower())[:80].strip("-.")
    return f"{EDGE_FOLDER}-{readable}-{blake2b(said.encode(), digest_size=4).hexdigest()}"
