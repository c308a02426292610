"""Which embedder a process uses, as ``SWITCHBOARD_EMBEDDER`` says: each has an index of its own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from models.ports import Embedder
from streams.adapters.onnx_embedder import OnnxEmbedder
from streams.settings import Settings
from streams.telemetry.metrics import Metrics

ONNX = "onnx:"


async def open_embedder(
    settings: Settings, resources: AsyncExitStack, metrics: Metrics | None = None, *, start: bool = False
) -> Embedder:
    """Return the embedder; what must be closed at the end goes on ``resources``.

    ``metrics``: of a worker, which shares Gemini's limits with others; without, it is for a single question.
    ``start``: load the model now rather than with the first text.

    Raises:
        ConfigurationError: there is no such model, or Gemini does not take the key.
    """
    if settings.embedder == "gemini":
        return await _gemini(settings, resources, metrics)
    if settings.embedder.startswith(ONNX):
        from streams.adapters.onnx_folder import OnnxFolder

        embedder = OnnxEmbedder(OnnxFolder(Path(settings.embedder.removeprefix(ONNX))))
    else:
        embedder = OnnxEmbedder()
    resources.push_async_callback(embedder.close)
    if start:
        await embedder.start()
    return embedder


async def _gemini(settings: Settings, resources: AsyncExitStack, metrics: Metrics | None) -> Embedder:
    # Imported here because the library takes a second to load.
    from streams.adapters.gemini.embedder import GeminiEmbedder
    from streams.adapters.gemini.factory import open_client, open_limiter
    from streams.adapters.tokenizer import cl100k_counter

    model = settings.gemini_embedding_model
    client = await open_client(settings, model, "SWITCHBOARD_GEMINI_EMBEDDING_MODEL", resources)
    limiter = None if metrics is None else open_limiter(settings, model, "embedder", resources)[0]
    return GeminiEmbedder(settings, client, cl100k_counter(), limiter, metrics)
