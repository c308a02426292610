"""``python -m benchmarks.serving [--short] PART ...``: some parts, on one deployment, as a line of JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.serving import beside, chats, http, latency, live, loads, mcp, page
from benchmarks.serving.deployment import SERVICES, Deployment

#: Facts and turns that are there before anybody asks.
_STORED, _STORED_SHORT = 200_000, 1_000

PARTS = {
    "latency": latency.measure,
    "beside": beside.measure,
    "loads": loads.measure,
    "http": http.measure,
    "mcp": mcp.measure,
    "page": page.measure,
    "live": live.measure,
    "chats": chats.measure,
}


async def measure(parts: list[str], folder: Path, short: bool) -> dict[str, Any]:
    """Return the figures of each part."""
    found: dict[str, Any] = {}
    with ExitStack() as resources:
        environment = dict(os.environ)
        if "chats" in parts:
            environment |= resources.enter_context(chats.model_server())
        async with Deployment(folder, environment) as deployment:
            await deployment.fill(_STORED_SHORT if short else _STORED)
            await deployment.start(*SERVICES)
            for name in parts:
                if name == "page" and page.CHROMIUM is None:
                    print("no Chromium on PATH: the page is not measured", file=sys.stderr, flush=True)
                    continue
                print(f"measuring {name} ...", file=sys.stderr, flush=True)
                try:
                    found[name] = await PARTS[name](deployment, short)
                except BaseException:
                    print(json.dumps(found), flush=True)  # what was measured before is not lost for it
                    raise
    return found


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="switchboard-serving-") as folder:
        found = asyncio.run(measure(given.parts, Path(folder), given.short))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
