"""Messages a second that the built-in extractor reads on one core: ``python -m benchmarks.quality.extraction``.

Measured on the plain chats of the Notebook, each chat a window.  CPU seconds of the process, threads included.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from benchmarks.notebook.labels import HERE, chats, window_of
from models.messages import Role
from models.windows import Window
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_reader import OnnxReader


async def extracted(windows: Sequence[Window]) -> float:
    """Return CPU seconds of the whole extractor."""
    reader = OnnxReader()
    extractor = BuiltinExtractor(reader)
    await extractor.extract(windows[:5])  # the model loads
    began = time.process_time()
    await extractor.extract(windows)
    seconds = time.process_time() - began
    await reader.close()
    return seconds


def main() -> None:
    """Measure and print."""
    windows = [window_of(chat, chat["sessions"][0]) for chat in chats(HERE / "chats.jsonl")]
    messages = sum(len(each.messages) for each in windows)
    users = sum(each.role is Role.USER for window in windows for each in window.messages)
    seconds = asyncio.run(extracted(windows))
    print(f"{messages:,} messages of {len(windows)} chats, {users:,} of them by users")
    print(f"{messages / seconds:,.0f} messages/s")


if __name__ == "__main__":
    main()
