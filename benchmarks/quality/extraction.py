"""Messages a second that the built-in extractor reads on one core: ``python -m benchmarks.quality.extraction``.

Surface features alone reject a part of the sentences; the rest is embedded.  Measured on the plain chats of
the Notebook, each message in a window of its own conversation.  CPU seconds of the process, threads included.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from benchmarks.notebook.labels import HERE, chats, window_of
from models.messages import Role
from models.windows import Window
from processors.extraction.keeper import worth_reading
from processors.extraction.units import units_of
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_embedder import OnnxEmbedder


def rejected(windows: Sequence[Window]) -> tuple[float, int, int]:
    """Return CPU seconds of the surface features, and how many sentences they reject, of how many."""
    began, kept, of = time.process_time(), 0, 0
    for window in windows:
        reads = worth_reading(units_of(window))
        kept, of = kept + sum(reads), of + len(reads)
    return time.process_time() - began, of - kept, of


async def extracted(windows: Sequence[Window]) -> float:
    """Return CPU seconds of the whole extractor."""
    embedder = OnnxEmbedder()
    extractor = BuiltinExtractor(embedder.behind)
    await extractor.extract(windows[:5])  # the model loads
    began = time.process_time()
    await extractor.extract(windows)
    seconds = time.process_time() - began
    await embedder.close()
    return seconds


def main() -> None:
    """Measure and print."""
    windows = [window_of(chat, chat["sessions"][0]) for chat in chats(HERE / "chats.jsonl")]
    messages = sum(len(each.messages) for each in windows)
    users = sum(each.role is Role.USER for window in windows for each in window.messages)
    rejected(windows[:20])  # what is compiled once
    seconds, none, of = rejected(windows)
    print(f"{messages:,} messages of {len(windows)} chats, {users:,} of them by users, {of:,} sentences")
    print(
        f"surface features: {messages / seconds:,.0f} messages/s; they reject {none / of:.2f} of the sentences"
    )
    seconds = asyncio.run(extracted(windows))
    print(f"whole extractor, embedding the rest: {messages / seconds:,.0f} messages/s")


if __name__ == "__main__":
    main()
