"""Measure a running Switchboard on made-up people: ``python -m benchmarks.notebook [FILE | FOLDER ...]``.

Starts Kafka and the services in a folder of their own, sends each person's sessions, prints the table of
``score.py``, and below it what the prototype keeps.  Without arguments: the people of ``dev/``, on whom nothing
was trained.  ``--recorded``: a model reads them whose server replays the recordings; ``python -m
benchmarks.notebook.beside`` needs no Kafka.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import nullcontext
from pathlib import Path

from benchmarks.notebook.labels import HERE
from benchmarks.notebook.replaying import served
from deploy.local.demo_parts import Parts
from deploy.local.ports import free_ports
from models.errors import DependencyUnavailable
from streams.config.settings import load_settings

#: How long the services may take to start.
_START_SECONDS = 180


def main() -> int:
    """Measure; return the exit status of ``score.py``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notebook", description=__doc__.split("\n")[0])
    parser.add_argument("people", nargs="*", type=Path, default=[HERE / "dev"], help="files or folders")
    parser.add_argument("--json", default="", help="write every figure to this file")
    parser.add_argument("--recorded", action="store_true", help="a model's server replays the recorded answers")
    parser.add_argument(
        "--vectors", default="build/notebook-vectors.npz", help="vectors of earlier runs (.npz)"
    )
    options = parser.parse_args()
    files = [
        file for each in options.people for file in ([each] if each.is_file() else sorted(each.glob("*.json")))
    ]
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        os.environ["SWITCHBOARD_DATA_DIR"] = folder
        (kafka_port,) = free_ports(1)
        settings = load_settings(data_dir=folder, metrics_port=0)
        with (
            served() if options.recorded else nullcontext("builtin") as model,
            Parts(settings, kafka_port, lambda text: print(text, file=sys.stderr), model) as parts,
        ):
            _wait(parts)
            command = [
                sys.executable,
                str(HERE / "score.py"),
                "--url",
                f"http://127.0.0.1:{parts.settings.api_port}",
            ]
            command += ["--json", options.json] if options.json else []
            status = subprocess.run([*command, "--verbose", *map(str, files)], check=False).returncode
    from benchmarks.notebook import prototype  # here: it needs what only training needs

    tested = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    print(prototype.line(tested, Path(options.vectors)))
    return status


def _wait(parts: Parts) -> None:
    """Wait until every service is ready."""
    until = time.monotonic() + _START_SECONDS
    for service, port in parts.metrics_ports.items():
        while not _is_ready(port):
            parts.check()
            if time.monotonic() > until:
                raise DependencyUnavailable(service, f"it is not ready after {_START_SECONDS} s")
            time.sleep(0.5)


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
