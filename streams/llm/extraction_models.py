"""Models that read conversations in a worker: rules or a language model, by the settings."""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import NamedTuple

from models.errors import ConfigurationError
from models.ports import Extractor, GraphReader, KnownNotes, MergeValidator, Summarizer
from processors.text.tokens import TokenCounter
from streams.clients.policies.known import Policies
from streams.config.settings import Settings
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.builtin_summarizer import BuiltinSummarizer
from streams.llm.builtin_validator import BuiltinMergeValidator
from streams.llm.memo.marks import ErasureMarks
from streams.llm.memo.topic import MemoTopic
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.own_extractor import OwnExtractor, load
from streams.telemetry.metrics import Metrics


class ExtractionModels(NamedTuple):
    """Models of a worker: for facts, summaries and merge questions; and for the graph, if one is set."""

    extractor: Extractor
    summarizer: Summarizer
    validator: MergeValidator
    graph: GraphReader | None = None


async def open_extraction_models(
    settings: Settings,
    metrics: Metrics,
    count: TokenCounter,
    resources: AsyncExitStack,
    known: KnownNotes | None = None,
    policies: Policies | None = None,
) -> ExtractionModels:
    """Return all of them; what must be closed at the end goes on ``resources``.

    ``known``: where a model's known notes come from.  ``policies``: what tenants want a model to note.

    Raises:
        ConfigurationError: a model is to be asked, and something about it is set wrongly; what is named as an
            extractor is none; or clusters are looked for without the extra ``clusters``.
    """
    if settings.looks_for_recurring and find_spec("sklearn") is None:
        raise ConfigurationError(
            f"SWITCHBOARD_RECURRING_FACT_SIMILARITY={settings.recurring_fact_similarity:g} looks for clusters, "
            "which needs the extra `clusters`: pip install 'switchboard[clusters]', or leave the setting out"
        )
    # The summarizer was measured with this model, whatever vectors are searched by.
    embedder = OnnxEmbedder()
    reader = OnnxReader()
    summarizer, validator = BuiltinSummarizer(count, reader, embedder.behind), BuiltinMergeValidator()
    resources.push_async_callback(embedder.close)
    resources.push_async_callback(reader.close)
    own = load(settings.extractor) if settings.names_own_extractor else None
    if not settings.reads_with_model:
        topic = MemoTopic(settings)
        resources.push_async_callback(topic.close)
        erased = ErasureMarks(topic).erased
        reads = BuiltinExtractor(reader, erased) if own is None else OwnExtractor(own, erased)
        return ExtractionModels(reads, summarizer, validator)
    # Imported here because the library takes a second to load.
    from streams.llm.extractor import ModelExtractor
    from streams.llm.factory import open_asking
    from streams.llm.relator import ModelGraphReader
    from streams.llm.summarizer import ModelSummarizer
    from streams.llm.validator import ModelMergeValidator
    from streams.llm.windows import WindowQuestions

    asking = await open_asking(settings, metrics, count, resources)
    with_graph = settings.asks_model("graph_reader")
    questions = WindowQuestions(
        asking, settings.model_windows_per_call, known, with_graph=with_graph, policies=policies
    )
    builtin = BuiltinExtractor(reader, asking.memos.erased_by_now)
    extractor: Extractor = builtin
    if settings.asks_model("extractor"):
        extractor = ModelExtractor(questions, builtin, metrics)
    elif own is not None:
        extractor = OwnExtractor(own, asking.memos.erased_by_now)
    return ExtractionModels(
        extractor,
        ModelSummarizer(asking, summarizer) if settings.asks_model("summarizer") else summarizer,
        ModelMergeValidator(asking, validator) if settings.asks_model("merge_validator") else validator,
        ModelGraphReader(questions, metrics) if with_graph else None,
    )
