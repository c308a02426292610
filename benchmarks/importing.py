"""Memory use of an import against the size of the export, with made-up files of ChatGPT's form.

``python -m benchmarks.importing`` (30 and 300 MB; ``--megabytes 5 50`` for others) counts them with
``switchboard import chatgpt FILE --dry-run`` in a process of its own, and says what that took at most.  With
``--publish`` they are imported, each into a broker of its own: which messages are there is kept in memory then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin
from streams.clients.catalog import load_catalog
from streams.config.settings import load_settings

_TURNS = 40

_WORDS = ("the", "garden", "beans", "rain", "train", "early", "harbour", "ticket", "bread", "library", "cello")


class Measured(NamedTuple):
    """One import.  ``peak``: resident memory at most, in MB."""

    megabytes: float
    messages: int
    seconds: float
    peak: float


def main() -> int:
    """Measure, and print a line for each size and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.importing", description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[30.0, 300.0])
    parser.add_argument("--publish", action="store_true", help="publish them, instead of only counting them")
    given = parser.parse_args()
    found = []
    for size in given.megabytes:
        with ExitStack() as resources:
            folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="switchboard-import-"))
            file = Path(folder) / "conversations.json"
            write_export(file, int(size * 1e6))
            environment = None
            if given.publish:
                kafka = resources.enter_context(LocalKafka(Path(folder) / "kafka", heap="1g", lasting=True))
                environment = {"SWITCHBOARD_BOOTSTRAP_SERVERS": kafka.bootstrap_servers}
                asyncio.run(
                    admin.apply(load_catalog(), load_settings(bootstrap_servers=kafka.bootstrap_servers))
                )
            found.append(measure(file, environment))
        each = found[-1]
        print(
            f"{each.megabytes:6.0f} MB {each.messages:9,} messages {each.seconds:6.1f} s "
            f"{each.megabytes / each.seconds:5.1f} MB/s  at most {each.peak:4.0f} MB of memory",
            flush=True,
        )
    first, last = found[0], found[-1]
    print(f"{last.megabytes / first.megabytes:.1f} x the size: {last.peak / first.peak:.2f} x the memory")
    return 0


def measure(file: Path, environment: dict[str, str] | None = None) -> Measured:
    """Count what an export holds, in a process of its own; publish it if there is a broker to publish it to."""
    command = [sys.executable, "-m", "streams.cli", "import", "chatgpt", str(file), "--user", "ada", "--json"]
    command += [] if environment else ["--dry-run"]
    answer = file.with_suffix(".counted")
    began = time.perf_counter()
    told = os.open(answer, os.O_WRONLY | os.O_CREAT)
    process = os.posix_spawn(
        sys.executable,
        command,
        os.environ | (environment or {}),
        file_actions=[(os.POSIX_SPAWN_DUP2, told, 1)],
    )
    os.close(told)
    _, status, used = os.wait4(process, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"the import ended with status {os.waitstatus_to_exitcode(status)}")
    messages = json.loads(answer.read_text())["messages"]
    return Measured(file.stat().st_size / 1e6, messages, seconds, used.ru_maxrss / 1024)


def write_export(file: Path, size: int) -> None:
    """Write conversations until the file has ``size`` bytes; the same size is the same file."""
    chance = random.Random(size)
    with file.open("w") as out:
        out.write("[")
        number = 0
        while out.tell() < size:
            out.write("," * (number > 0))
            _write_conversation(out, number, chance)
            number += 1
        out.write("]")


def _write_conversation(out: IO[str], number: int, chance: random.Random) -> None:
    began = 1_700_000_000 + 3600 * number
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n-0"]}}
    for turn in range(_TURNS):
        text = " ".join(chance.choices(_WORDS, k=chance.randint(5, 120)))
        mapping[f"n-{turn}"] = {
            "id": f"n-{turn}",
            "parent": f"n-{turn - 1}" if turn else "root",
            "children": [f"n-{turn + 1}"] if turn + 1 < _TURNS else [],
            "message": {
                "id": f"m-{number}-{turn}",
                "author": {"role": "assistant" if turn % 2 else "user", "metadata": {}},
                "create_time": began + 30 * turn,
                "content": {"content_type": "text", "parts": [text]},
            },
        }
    conversation = {
        "title": f"Conversation {number}",
        "create_time": began,
        "mapping": mapping,
        "current_node": f"n-{_TURNS - 1}",
        "conversation_id": f"c-{number}",
    }
    json.dump(conversation, out)


if __name__ == "__main__":
    sys.exit(main())
