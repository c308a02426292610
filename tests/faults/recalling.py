"""The recall service whose embedder is down while a file ``down`` lies in FOLDER: ``recalling.py FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models.errors import DependencyUnavailable
from models.index import Vectors
from streams.config.settings import load_settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.server.process.worker import run


def main(control: Path) -> int:
    embed = OnnxEmbedder._embed

    async def unless_down(self: OnnxEmbedder, worker: Any, texts: Sequence[str]) -> Vectors:
        if (control / "down").exists():
            raise DependencyUnavailable("embedder", "switched off by the test")
        return await embed(self, worker, texts)

    # Here both come along, who waits and the backlog; there is no switch for users to be down.
    OnnxEmbedder._embed = unless_down  # type: ignore[method-assign]
    return run("recall", load_settings())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
