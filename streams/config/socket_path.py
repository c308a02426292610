"""Where a UNIX socket of ours lies: in the data folder, if its path is short enough for the system."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

#: A socket's path may have 107 bytes on Linux, 103 on macOS.
_LONGEST_PATH = 100


def socket_path(path: Path) -> Path:
    """Return ``path``, or a place whose path is short enough; the temporary folder may be too deep as well."""
    if _fits(path):
        return path
    name = f"switchboard-{hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()}.sock"
    folders = [Path(tempfile.gettempdir()), Path("/tmp")]
    return next((folder / name for folder in folders if _fits(folder / name)), path)


def _fits(path: Path) -> bool:
    return len(str(path).encode()) <= _LONGEST_PATH
