"""The memory service with nothing but its summaries stage: starts in a moment, and needs no index."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack

from streams.agents.memory.summaries import Summaries
from streams.config.settings import Settings, load_settings
from streams.llm.builtin_summarizer import BuiltinSummarizer
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.tokenizer import cl100k_counter
from streams.server.process.services import Service
from streams.server.process.worker import run
from streams.telemetry.metrics import Metrics


async def opener(name: str, settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Service:
    count = cl100k_counter()
    return Service([Summaries(settings, BuiltinSummarizer(count, OnnxReader(), OnnxEmbedder()), count).stage()])


if __name__ == "__main__":
    sys.exit(run("memory", load_settings(), opener))
