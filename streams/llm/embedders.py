"""Choice of the embedder by ``SWITCHBOARD_EMBEDDER``: each has an index of its own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from models.errors import ConfigurationError
from models.ports import Embedder, VectorSource
from processors.retrieval.embedding.wording import EMBEDDED_CHARACTERS
from streams.config.settings import Settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.telemetry.metrics import Metrics

ONNX = "onnx:"


async def open_embedder(
    settings: Settings, resources: AsyncExitStack, metrics: Metrics | None = None, *, start: bool = False
) -> Embedder:
    """Return the embedder; what must be closed at the end goes on ``resources``.

    ``metrics``: of a worker, which shares the model's limits with others; without, it is for a single question.
    ``start``: load the model now rather than with the first text.

    Raises:
        ConfigurationError: there is no such model, or its endpoint does not take the key.
    """
    if settings.asks_model("embedder"):
        return (await _model(settings, resources, metrics))[0]
    if settings.embedder.startswith(ONNX):
        from streams.llm.onnx_folder import OnnxFolder

        embedder = OnnxEmbedder(OnnxFolder(Path(settings.embedder.removeprefix(ONNX))))
    else:
        embedder = OnnxEmbedder()
    resources.push_async_callback(embedder.close)
    if start:
        await embedder.start()
    return embedder


async def open_vectors(
    settings: Settings, resources: AsyncExitStack, metrics: Metrics
) -> tuple[Embedder, VectorSource | None]:
    """Return the embedder of the worker that fills the log of vectors, and, if its calls cost money, what keeps
    account of them; raises as :func:`open_embedder`, and if vectors would wait for their budget for ever.
    """
    if settings.asks_model("embedder"):
        _require_budget(settings)
        return await _model(settings, resources, metrics)
    return await open_embedder(settings, resources, metrics), None


def behind_contexts(embedder: Embedder) -> Embedder:
    """Return the same embedder for the log of vectors: of one that runs here, what delays nobody who waits."""
    return embedder.behind_contexts if isinstance(embedder, OnnxEmbedder) else embedder


def _require_budget(settings: Settings) -> None:
    from streams.llm.port import Usage
    from streams.llm.prices import cost, price_of

    endpoint = settings.embedding_endpoint
    # No token is shorter than a byte.
    tokens = settings.call_batch_records * 4 * EMBEDDED_CHARACTERS
    most = cost(price_of(endpoint, settings.own_prices), Usage(tokens))
    if settings.model_budget_usd < most:
        raise ConfigurationError(
            f"SWITCHBOARD_MODEL_BUDGET_USD is {settings.model_budget_usd:g}, and {settings.call_batch_records} "
            f"texts, which {endpoint.model} makes vectors of at once, may cost {most:.3f}: "
            "they could wait for ever. Set it to more, or SWITCHBOARD_CALL_BATCH_RECORDS to less; "
            "SWITCHBOARD_EMBEDDER=builtin makes vectors on this machine, for nothing"
        )


async def _model(
    settings: Settings, resources: AsyncExitStack, metrics: Metrics | None
) -> tuple[Embedder, VectorSource | None]:
    # Imported here because the library takes a second to load.
    from streams.llm.account import Account
    from streams.llm.embedder import ModelEmbedder
    from streams.llm.factory import open_client, open_limiter, open_memos
    from streams.llm.memo.topic import MemoTopic
    from streams.llm.memo.vectors import VECTORS, VectorLog
    from streams.llm.tokenizer import cl100k_counter
    from streams.llm.vectors import ModelVectors

    endpoint = settings.embedding_endpoint
    client = await open_client(endpoint, resources)
    if metrics is None:
        return ModelEmbedder(endpoint, client, cl100k_counter()), None
    limiter, redis, ready = open_limiter(settings, endpoint.model, "embedder", resources)
    memos = open_memos(settings, redis, ready, resources)
    account = Account(settings, endpoint, memos, metrics)
    embedder = ModelEmbedder(endpoint, client, cl100k_counter(), limiter, account)
    topic = MemoTopic(settings, topic=VECTORS)
    resources.push_async_callback(topic.close)
    return embedder, ModelVectors(embedder, account, memos, VectorLog(topic), metrics)
