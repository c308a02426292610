"""``python -m benchmarks.quality FOLDER [--json FILE] [--only PART ...]``: everything that public sets tell.

Runs the parts one after another, each as ``python -m benchmarks.quality.PART FOLDER``, whose docstring says
what its figures mean, and passes over those whose sets are not in FOLDER.  The file has the figures of each
part by its name, and how long it took (seconds).  Exits 2 if no part was measured, or as the first that failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PARTS = ("extraction", "recall", "context", "boundaries")

#: Exit code of a part whose sets are not there.
_NOT_THERE = 2


def main(arguments: list[str]) -> int:
    """Measure what is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=[*PARTS])
    given = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="switchboard-quality-") as folder:
        for part in given.only:
            print(f"== {part}", flush=True)
            file, began = Path(folder, f"{part}.json"), time.perf_counter()
            command = [
                sys.executable,
                "-m",
                f"benchmarks.quality.{part}",
                str(given.folder),
                "--json",
                str(file),
            ]
            ended = subprocess.run(command, check=False).returncode
            if ended == _NOT_THERE:
                continue
            if ended:
                return ended
            seconds = round(time.perf_counter() - began, 1)
            found[part] = {"figures": json.loads(file.read_bytes()), "seconds": seconds}
            print(f"== {part}: {seconds:.0f} s", flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    return 0 if found else _NOT_THERE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
