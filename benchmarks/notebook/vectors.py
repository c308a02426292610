"""Vectors of texts by the built-in embedder, kept in a file between runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streams.llm.onnx_embedder import OnnxEmbedder

Vectors = dict[str, NDArray[np.float32]]


async def _embed(wanted: Sequence[str]) -> NDArray[np.float32]:
    embedder = OnnxEmbedder(timeout=3600)
    vectors = await embedder.embed(wanted)
    await embedder.close()
    return vectors


def embedded(wanted: Sequence[str], cache: Path) -> Vectors:
    """Return the vector of each text, in half precision as the log has them; ``cache`` keeps them (.npz)."""
    known: Vectors = {}
    if cache.exists():
        with np.load(cache, allow_pickle=False) as file:
            known = dict(zip(file["texts"].tolist(), file["vectors"].astype(np.float32), strict=True))
    missing = [text for text in dict.fromkeys(wanted) if text not in known]
    if missing:
        found = asyncio.run(_embed(missing)).astype(np.float16).astype(np.float32)
        known |= zip(missing, found, strict=True)
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, texts=np.array([*known]), vectors=np.stack([*known.values()]).astype(np.float16))
    return known
