"""Free room on the disk of an embedded index.

On a full disk a memory-mapped file kills the process (SIGBUS), so writes stop while there is still room.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from models.errors import DependencyUnavailable

#: Seconds for which an answer of the disk holds.  Asked at each write it took a fifteenth of recall's time.
_HOLDS_SECONDS = 1.0


class DiskSpace:
    """Refuses writes of an embedded index below ``minimum_free_bytes`` of free disk.

    The disk is asked at most once a second (of ``clock``) while there is room.  Once there is too little it is
    asked each time, so that writes go on as soon as there is room.
    """

    def __init__(
        self, folder: Path, minimum_free_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self.minimum_free_bytes = minimum_free_bytes
        self._clock = clock
        self._free = 0
        self._holds_until: float | None = None

    def require(self, new_bytes: int = 0) -> None:
        """Refuse when less than the minimum is free; ``new_bytes``: room for a copy of the index besides.

        Raises:
            DependencyUnavailable: with the bytes that are free and needed.
        """
        needed = self.minimum_free_bytes + new_bytes
        now = self._clock()
        if self._holds_until is None or now >= self._holds_until or self._free < needed:
            self._free = shutil.disk_usage(self._folder).free
            self._holds_until = now + _HOLDS_SECONDS
        if self._free < needed:
            what = "be rewritten without what was erased" if new_bytes else "write safely"
            raise DependencyUnavailable(
                "qdrant",
                f"only {self._free / 1e6:,.0f} MB are free on the disk of {self._folder}, and the embedded "
                f"index needs {needed / 1e6:,.0f} MB to {what}: free some space",
            )
