"""``make bench``: everything that is measured, on one broker in one run, as a table of ratios and as JSON."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import recorded
from benchmarks.pipeline.suite import Suite
from benchmarks.table import render
from deploy.local.kafka import LocalKafka


def main() -> int:
    """Run the suite; return 0 whatever the figures are: a machine's speed is no error."""
    logging.disable(logging.WARNING)  # a topic that was just made has no leader yet, and aiokafka says so
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a fiftieth of the load: shows that it runs")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help=f"keep the figures in {recorded.FILE.name}")
    parser.add_argument("--only", nargs="*", default=[], help="names of the parts to run (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="how often the contenders take turns (default 3)")
    arguments = parser.parse_args()
    if arguments.record and arguments.short:
        parser.error("--short measures nothing that is worth recording")
    load_before = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory(prefix="switchboard-bench-") as folder,
        LocalKafka(Path(folder) / "kafka", heap="1g", lasting=True) as kafka,
    ):
        suite = Suite(kafka, Path(folder), short=arguments.short, rounds=arguments.rounds)
        figures = suite.run(arguments.only)
    print(render(figures))
    if arguments.record:
        recorded.record(figures, load_before)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
