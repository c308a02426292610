"""The local model server, telling in every piece of an answer when it was sent.

A piece is a sentence of drawn words that ends with a time, so that whoever reads it knows how long it was on
its way, whatever it passed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.responses import Response, StreamingResponse

from benchmarks.quality.recall.scale import sentence
from deploy.local.model_faults import Fault
from deploy.local.model_server import ModelServer

#: The end of a piece: nanoseconds of the clock that the processes of a machine share.
STAMP = re.compile(r"x(\d{10,})x")


def stamps(text: str) -> list[float]:
    """Return when the pieces in a text were sent (seconds of :func:`time.monotonic`)."""
    return [int(found) / 1e9 for found in STAMP.findall(text)]


class Stamped(ModelServer):
    """Streams ``pieces`` pieces, one each ``pause_seconds``."""

    def __init__(self, pieces: int, port: int = 0) -> None:
        super().__init__(port=port)
        self._pieces = pieces
        self._chance = random.Random(3)

    def _stream(self, answer: Mapping[str, Any], fault: Fault | None) -> Response:
        async def sent() -> AsyncIterator[str]:
            began = time.monotonic()
            for number in range(self._pieces):
                await asyncio.sleep(began + number * self.pause_seconds - time.monotonic())
                text = f"{sentence(self._chance, 5).capitalize()} x{time.monotonic_ns()}x. "
                candidate: dict[str, Any] = {
                    "index": 0,
                    "content": {"role": "model", "parts": [{"text": text}]},
                }
                if number == self._pieces - 1:
                    candidate["finishReason"] = "STOP"
                yield f"data: {json.dumps({'candidates': [candidate]})}\r\n\r\n"

        return StreamingResponse(sent(), media_type="text/event-stream")


async def _run(port: int, pieces: int, pause: float) -> None:
    async with Stamped(pieces, port) as server:
        server.pause_seconds = pause
        await asyncio.Event().wait()


def main() -> None:
    """Serve until the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving.model")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pieces", type=int, required=True)
    parser.add_argument("--pause", type=float, required=True)
    given = parser.parse_args()
    asyncio.run(_run(given.port, given.pieces, given.pause))


if __name__ == "__main__":
    main()
