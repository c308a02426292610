"""Every metric that Switchboard exposes, defined once; those of the runtime are in :mod:`.runtime_metrics`.

Base units (seconds, records, characters), prefix ``switchboard_``.  A :class:`Metrics` belongs to a
registry, so that a test makes its own; a worker makes one with :func:`process_metrics`.

The hot path counts per batch, not per record, and keeps its children (:mod:`.families`).
"""

from __future__ import annotations

import platform

from prometheus_client import CollectorRegistry, ProcessCollector

from streams.telemetry.buckets import (
    CONTEXT_BUCKETS,
    DETECTION_BUCKETS,
    HOLD_BUCKETS,
    HTTP_BUCKETS,
    SEARCHABLE_BUCKETS,
    STEP_BUCKETS,
)
from streams.telemetry.families import Family
from streams.telemetry.runtime_metrics import RuntimeMetrics
from streams.telemetry.version import installed_version

__all__ = ["Family", "Metrics", "process_metrics"]


class Metrics(RuntimeMetrics):
    """All metrics over one registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        super().__init__(registry)
        self._memory()
        self._models()
        self._turns()
        self._chats()
        self._contexts()
        self._responses()
        self._http()
        self._webhooks()
        self.build_info = self._gauge("build_info", "Always 1; the labels say what runs.", "version", "python")
        self.build_info.labels(installed_version(), platform.python_version()).set(1)

    def _memory(self) -> None:
        self.windows_total = self._counter("windows_total", "Windows published, by why they ended.", "reason")
        self.conversations = self._plain_gauge("conversations", "Conversations whose state this worker holds.")
        self.candidates_total = self._counter("candidates_total", "Statements found by the extractor.", "kind")
        self.statements_dropped_total = self._counter(
            "statements_dropped_total",
            "Statements of the extractor that their window does not bear out, by what is wrong with them.",
            "reason",
        )
        self.facts_total = self._counter(
            "facts_total", "Changes to facts that were published.", "kind", "status", "change"
        )
        self.summary_requests_total = self._counter(
            "summary_requests_total",
            "Requests published; kind is range, roll_up or repeat (of an unanswered one).",
            "kind",
        )

    def _models(self) -> None:
        self.model_questions_total = self._counter(
            "model_questions_total",
            "Questions to a language model, by what became of them: memo (answered before), answered, refused, "
            "over_budget (the built-in one did the work; a vector waits).",
            "purpose",
            "outcome",
        )
        self.model_calls_total = self._counter(
            "model_calls_total",
            "Calls of a language model; outcome is answered, refused, throttled, failed or let_go (hedged).",
            "purpose",
            "model",
            "outcome",
        )
        self.model_call_seconds = self._histogram(
            "model_call_seconds", "How long a call of a language model took.", STEP_BUCKETS, "purpose", "model"
        )
        self.model_tokens_total = self._counter(
            "model_tokens_total",
            "Tokens that were paid; cached: those of the input that were read from a cache.",
            "purpose",
            "model",
            "direction",
        )
        self.model_cost_usd_total = self._counter(
            "model_cost_usd_total", "What calls cost, by the list of prices, in US dollars.", "purpose", "model"
        )

    def _turns(self) -> None:
        self.message_characters_replaced_total = self._plain_counter(
            "message_characters_replaced_total",
            "Control characters and halves of characters that were replaced in the content of messages.",
        )
        self.masked_passages_total = self._counter(
            "masked_passages_total",
            "Passages of messages that were masked before they were stored as turns, by what they were.",
            "kind",
        )
        self.searchable_seconds = self._busiest(
            "searchable_seconds",
            "From the arrival of a message until a search finds it by its words; of the fifty busiest tenants, "
            "and of the others together (other).",
            SEARCHABLE_BUCKETS,
            "tenant",
        )
        self.episodes_total = self._counter(
            "episodes_total", "Episodes published, by why they ended; erased: taken back.", "reason"
        )

    def _chats(self) -> None:
        self.chat_turns_running = self._plain_gauge("chat_turns_running", "Turns of chats that run.")
        self.chat_turns_refused_total = self._plain_counter(
            "chat_turns_refused_total", "Turns of chats that did not begin because as many ran as may."
        )

    def _contexts(self) -> None:
        self.index_rebuild_ratio = self._gauge(
            "index_rebuild_ratio",
            "How much of an index is there that is built anew for a model, from 0 to 1; absent if none is.",
            "model",
        )
        self.index_erased_seconds = self._plain_gauge(
            "index_erased_seconds",
            "Since when files of embedded indexes hold something that was erased; 0: none does.",
        )
        self.contexts_total = self._counter(
            "contexts_total",
            "Contexts made for a next turn; by is meaning, or words when the embedder was busy.",
            "by",
        )
        self.context_seconds = self._plain_histogram(
            "context_seconds", "From the arrival of a turn to the context made after it.", CONTEXT_BUCKETS
        )
        self.context_texts_waiting = self._plain_gauge(
            "context_texts_waiting", "Turns whose vector a context waits for."
        )
        self.context_log_misses_total = self._plain_counter(
            "context_log_misses_total",
            "Calls that made contexts without the turns before, because the conversation log did not answer.",
        )

    def _responses(self) -> None:
        self.content_duplicates_detected_total = self._plain_counter(
            "content_duplicates_detected_total", "Passages filtered out of responses."
        )
        self.content_detection_latency_seconds = self._plain_histogram(
            "content_detection_latency_seconds",
            "Time to compare one sentence with those remembered.",
            DETECTION_BUCKETS,
        )
        self.content_detection_errors_total = self._plain_counter(
            "content_detection_errors_total", "Errors in detection; the text was let through."
        )
        self.response_characters_total = self._plain_counter(
            "response_characters_total", "Characters of responses received."
        )
        self.response_held_characters_total = self._plain_counter(
            "response_held_characters_total",
            "Characters that did not leave at once because they might have become a duplicate.",
        )

        self.response_hold_seconds = self._plain_histogram(
            "response_hold_seconds", "How long text that was held back waited.", HOLD_BUCKETS
        )
        self.response_irregularities_total = self._counter(
            "response_irregularities_total",
            "Chunks that were repeated, missing or late, and responses that fell silent without an end.",
            "kind",
        )

    def _http(self) -> None:
        self.http_requests_total = self._counter(
            "http_requests_total",
            "Requests that were answered; operation is that of the API description, or other (pages, MCP, no "
            "such path).",
            "operation",
            "status",
        )
        self.http_request_seconds = self._histogram(
            "http_request_seconds",
            "From a request's head to the beginning of its answer.",
            HTTP_BUCKETS,
            "operation",
        )
        self.http_open_streams = self._plain_gauge("http_open_streams", "Streams of events that are open.")
        self.http_refused_total = self._counter(
            "http_refused_total", "Requests and connections beyond a limit, by which.", "reason"
        )

    def _webhooks(self) -> None:
        self.webhook_deliveries_total = self._counter(
            "webhook_deliveries_total",
            "Calls of webhooks: delivered, failed (and tried again), dead_lettered (given up after a day).",
            "webhook",
            "outcome",
        )
        self.webhook_oldest_undelivered_seconds = self._gauge(
            "webhook_oldest_undelivered_seconds",
            "Age of the oldest record that an endpoint has not taken yet; 0 if there is none.",
            "webhook",
        )


def process_metrics() -> Metrics:
    """Return the metrics of a worker process: ours, and the process's own memory, CPU and open files."""
    metrics = Metrics()
    ProcessCollector(registry=metrics.registry)
    return metrics
