"""Opening an export: a file, or the zip archive that it came in, as pieces of bytes."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import InvalidRecord, NotFound
from streams.config.printing import printable

_PIECE = 256 << 10

#: What is read of an archive, by source; nothing is ever written under a name from it.
_WANTED = {
    "chatgpt": re.compile(r"(^|/)conversations(-\d+)?\.json$"),
    "claude": re.compile(r"(^|/)conversations\.json$"),
    "whatsapp": re.compile(r"\.txt$"),
    "jsonl": re.compile(r"\.jsonl$"),
}


class Export:
    """An export that can be read more than once."""

    def __init__(self, path: Path, member: str = "") -> None:
        self._path = path
        self._member = member
        self.name = printable(f"{path}:{member}" if member else str(path))

    def pieces(self) -> Iterator[bytes]:
        """Yield what it holds.  Raises :class:`NotFound` or :class:`InvalidRecord` when it cannot be read."""
        with _reading(self.name):
            if not self._member:
                with self._path.open("rb") as stream:
                    while piece := stream.read(_PIECE):
                        yield piece
                return
            with zipfile.ZipFile(self._path) as archive, archive.open(self._member) as stream:
                while piece := stream.read(_PIECE):
                    yield piece


def open_exports(path: Path, source: str) -> list[Export]:
    """Return the exports of ``source`` at a path: a file, or the files of a folder or an archive.

    Raises:
        NotFound: there is nothing at the path, or it cannot be read.
        InvalidRecord: an archive that is damaged, or a folder or archive that holds nothing of that kind.
    """
    name = printable(str(path))
    with _reading(name):
        if path.is_dir():
            found = [export for each in sorted(path.rglob("*")) for export in _within(each, path, source)]
        elif not path.is_file():
            raise NotFound(f"{name} does not exist: name the file or the folder that was exported")
        else:
            found = _members(path, source) if zipfile.is_zipfile(path) else [Export(path)]
    if not found:
        raise InvalidRecord("nothing_inside", f"{name} holds no export of {source}: is it another one's?")
    return found


def _within(path: Path, folder: Path, source: str) -> list[Export]:
    """Return the exports of ``source`` in a file of a folder."""
    name = path.relative_to(folder).as_posix()
    if (not _is_wanted(name, source) and path.suffix.lower() != ".zip") or not path.is_file():
        return []
    return _members(path, source) if zipfile.is_zipfile(path) else [Export(path)]


def _members(path: Path, source: str) -> list[Export]:
    with zipfile.ZipFile(path) as archive:
        names = sorted(info.filename for info in archive.infolist() if _is_wanted(info.filename, source))
    return [Export(path, name) for name in names]


def _is_wanted(name: str, source: str) -> bool:
    # "._conversations.json" is no export: macOS keeps a file's attributes in such a one.
    return _WANTED[source].search(name) is not None and not name.rpartition("/")[2].startswith(".")


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise InvalidRecord(
            "damaged_archive", f"{name} cannot be unpacked ({error}): unpack it, or export it anew"
        ) from error
    except OSError as error:
        raise NotFound(f"{name} cannot be read: {error.strerror}") from error
