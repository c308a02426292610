"""Opening an export: a file, or the zip archive that it came in, as pieces of bytes."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import InvalidRecord, NotFound
from streams.printing import printable

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
    """Return what there is to read in a file: itself, or the members of an archive that belong to ``source``.

    Raises:
        NotFound: there is no such file, or it cannot be read.
        InvalidRecord: an archive that is damaged, or holds nothing of that kind.
    """
    name = printable(str(path))
    with _reading(name):
        if not path.is_file():
            raise NotFound(f"{name} is no file: name the one that was exported")
        if not zipfile.is_zipfile(path):
            return [Export(path)]
        with zipfile.ZipFile(path) as archive:
            members = sorted(
                info.filename for info in archive.infolist() if _WANTED[source].search(info.filename)
            )
    if not members:
        raise InvalidRecord("nothing_inside", f"{name} holds no export of {source}: is it another one's?")
    return [Export(path, member) for member in members]


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
