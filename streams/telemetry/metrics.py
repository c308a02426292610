"""Every metric that Switchboard exposes, defined once.

Base units (seconds, records, characters), prefix ``switchboard_``.  A :class:`Metrics` belongs to a
registry, so that a test makes its own; a worker makes one with :func:`process_metrics`.

The hot path counts per batch, not per record, and keeps its children (:mod:`.families`).
"""

from __future__ import annotations

import platform

from prometheus_client import CollectorRegistry, ProcessCollector

from streams.telemetry.buckets import (
    CONFIRM_BUCKETS,
    CONTEXT_BUCKETS,
    DETECTION_BUCKETS,
    HOLD_BUCKETS,
    HTTP_BUCKETS,
    SEARCHABLE_BUCKETS,
    STEP_BUCKETS,
)
from streams.telemetry.families import Family, Registered
from streams.telemetry.version import installed_version

__all__ = ["Family", "Metrics", "process_metrics"]


class Metrics(Registered):
    """All metrics over one registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        super().__init__(registry)
        self._runtime()
        self._dependencies()
        self._recovery()
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

    def _runtime(self) -> None:
        self.records_total = self._counter(
            "records_total", "Records delivered to a stage.", "service", "stage", "topic"
        )
        self.record_batches_total = self._counter(
            "record_batches_total", "Batches of records delivered to a stage.", "service", "stage", "topic"
        )
        self.effects_total = self._counter(
            "effects_total",
            "Confirmed effects of a stage; kind is output, state or dead_letter.",
            "stage",
            "kind",
        )
        self.outputs_total = self._counter(
            "outputs_total", "Records that a stage published and the broker confirmed.", "stage", "topic"
        )
        self.confirm_seconds = self._histogram(
            "confirm_seconds",
            "From handing a batch's outputs and state changes to the producer to their confirmation.",
            CONFIRM_BUCKETS,
            "stage",
        )
        self.step_seconds = self._histogram(
            "step_seconds", "Time a stage's step took for one batch, calls included.", STEP_BUCKETS, "stage"
        )
        self.batches_in_flight = self._gauge(
            "batches_in_flight", "Batches delivered and not yet acknowledged.", "service"
        )
        self.state_bytes = self._gauge(
            "state_bytes",
            "State of a process: what is in memory, and the files in the data folder that hold the rest.",
            "service",
            "place",
        )
        self.lag_records = self._gauge(
            "lag_records",
            "End of the partition minus the committed offset.",
            "stage",
            "topic",
            "partition",
        )
        self.lag_seconds = self._gauge(
            "lag_seconds",
            "Age of the oldest record that was delivered to a stage and is not done.",
            "stage",
            "topic",
            "partition",
        )
        self.retention_used_ratio = self._gauge(
            "retention_used_ratio",
            "That age as a share of the topic's retention; at 1 the broker deletes unread records.",
            "stage",
            "topic",
            "partition",
        )
        self.dead_letters_total = self._counter(
            "dead_letters_total",
            "Records that went to the dead-letter topic of their source topic.",
            "stage",
            "topic",
            "reason",
        )
        self.dead_letters_truncated_total = self._counter(
            "dead_letters_truncated_total",
            "Dead letters of more than 16 MiB, of which only the first 64 KiB were kept.",
            "stage",
            "topic",
        )
        self.skipped_records_total = self._counter(
            "skipped_records_total",
            "Records not processed: replayed (at or below the high-water mark) or duplicate (their message id "
            "was seen); of vectors, other_model (than the index has) or no_index (for things of their kind); "
            "of contexts, overtaken (by a later turn of the conversation).",
            "stage",
            "reason",
        )
        self.misrouted_records_total = self._counter(
            "misrouted_records_total",
            "Records found in a partition that their key does not hash to, and published to the right one.",
            "stage",
            "topic",
        )
        self.epoch_drops_total = self._counter(
            "epoch_drops_total",
            "Batches dropped unprocessed because they were fetched before a seek or a rebalance.",
            "stage",
        )
        self.rebalances_total = self._counter("rebalances_total", "Partition assignments received.", "service")

    def _dependencies(self) -> None:
        self.retries_total = self._counter(
            "retries_total", "Calls to something outside that were tried again.", "stage", "dependency"
        )
        self.dependency_wait_seconds_total = self._counter(
            "dependency_wait_seconds_total",
            "Time a stage stood still because a dependency was down, slow or throttling.",
            "stage",
            "dependency",
        )
        self.dependency_waiting = self._gauge(
            "dependency_waiting", "1 while a stage waits for a dependency.", "stage", "dependency"
        )

    def _recovery(self) -> None:
        self.recovery_seconds = self._gauge(
            "recovery_seconds", "Duration of the latest recovery of a table from its changelog.", "table"
        )
        self.recovery_records_total = self._counter(
            "recovery_records_total", "Changelog records read back into a table.", "table"
        )

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
