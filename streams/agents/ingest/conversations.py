"""ingest/conversations: messages in, overlapping windows and summary requests out (seeds 000 and 004).

State per conversation: :class:`processors.conversations.state.ConversationState`.  Accepted summaries come back
as the stage's second source and close the request that they answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.errors import ConsistencyError, InvalidRecord
from models.messages import ChatMessage
from models.summaries import Summary
from processors.conversations.fold import Fold, LoadPage
from processors.conversations.state import (
    ConversationPolicy,
    ConversationState,
    Kept,
    decode_page,
    decode_state,
    encode_page,
    encode_state,
    is_page,
    page_key,
    wake_at,
)
from processors.conversations.windows import WindowSizes
from processors.text.tokens import TokenCounter
from processors.text.validation import decode, decode_chat_message
from streams import cloudevents
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader, TimerContext
from streams.settings import Settings

MESSAGES = "chat.messages.v1"
SUMMARIES = "memory.summaries.v1"
WINDOWS = "memory.windows.v1"
REQUESTS = "memory.summary-requests.v1"

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/ingest"

#: What another tenant calls by a conversation's id is refused: a window is of one tenant, and so is all that is
#: learned from it.
_STRANGER = InvalidRecord(
    "tenant_mismatch",
    "the conversation belongs to another tenant_id: ids of conversations must differ between tenants",
)


#: The settings that decide about windows and requests: those of the policy, and what is too long to be taken.
DECIDING = (
    "window_size",
    "window_overlap",
    "idle_seconds",
    "idle_grace_seconds",
    "recent_message_ids",
    "token_threshold",
    "summary_retry_seconds",
    "max_content_bytes",
)


def policy_of(settings: Settings) -> ConversationPolicy:
    """Return what the settings say about windows, idleness and summaries."""
    return ConversationPolicy(
        sizes=WindowSizes(settings.window_size, settings.window_overlap),
        idle_seconds=settings.idle_seconds,
        idle_grace_seconds=settings.idle_grace_seconds,
        recent_message_ids=settings.recent_message_ids,
        token_threshold=settings.token_threshold,
        summary_retry_seconds=settings.summary_retry_seconds,
    )


class Conversations:
    """The step, its timers, and what they need to know."""

    def __init__(self, settings: Settings, count: TokenCounter) -> None:
        self._settings = settings
        self._policy = policy_of(settings)
        self._count = count

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="conversations",
            sources=(MESSAGES, SUMMARIES),
            table="conversations",
            step=self.step,
            on_timer=self.on_timer,
            timer_at=self._timer_at,
            batch_records=self._settings.batch_records,
            decided_by=self._settings.chosen(*DECIDING),
        )

    def _timer_at(self, key: bytes, payload: bytes) -> float | None:
        return None if is_page(key) else wake_at(decode_state(payload), self._policy)

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Fold a batch of messages or of summaries, conversation by conversation."""
        effects = Effects()
        if batch.source == SUMMARIES:
            self._fold_summaries(batch, state, effects)
        else:
            self._fold_messages(batch, state, effects)
        return effects

    def _fold_messages(self, batch: RecordBatch, state: StateReader, effects: Effects) -> None:
        conversations: dict[bytes, list[tuple[ChatMessage, SourceRecord]]] = {}
        limit = self._settings.max_content_bytes
        for record in batch.records:
            try:
                message = decode_chat_message(
                    record.key, record.value, max_content_bytes=limit, arrived_ms=record.timestamp
                )
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if record.key is None:
                # Without a key it lies in an arbitrary partition: send it to its conversation's.
                effects.forward(MESSAGES, message.conversation_id.encode(), record.value, record.headers)
                effects.count("misrouted_records_total", "conversations", MESSAGES)
                continue
            conversations.setdefault(record.key, []).append((message, record))
        for key, run in conversations.items():
            self._fold_run(key, run, batch, state, effects)

    def _fold_run(
        self,
        key: bytes,
        run: Sequence[tuple[ChatMessage, SourceRecord]],
        batch: RecordBatch,
        state: StateReader,
        effects: Effects,
    ) -> None:
        folded_to, payload = state.read(key)
        first = run[0][0]
        before = decode_state(payload) if payload else ConversationState(first.tenant_id, first.user_id)
        new: list[tuple[ChatMessage, int, float]] = []
        last, replayed = run[0][1], 0
        for message, record in run:
            if message.tenant_id != before.tenant_id:
                if record.offset >= folded_to:
                    effects.dead_letter(record, _STRANGER)
            elif record.offset < folded_to:
                replayed += 1
            else:
                new.append((message, record.offset, record.timestamp / 1000))
                last = record
        if replayed:
            effects.count("skipped_records_total", "conversations", "replayed", by=replayed)
        if new:
            fold = self._fold(key, before, batch.partition, state, effects)
            fold.add(new)
            if fold.duplicates:
                effects.count("skipped_records_total", "conversations", "duplicate", by=fold.duplicates)
            self._store(key, fold, last.timestamp / 1000, last.offset + 1, effects, last.headers)

    def _fold_summaries(self, batch: RecordBatch, state: StateReader, effects: Effects) -> None:
        for record in batch.records:
            try:
                summary = decode(Summary, record.value)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            key = summary.conversation_id.encode()
            staged = effects.changes.get(key)
            folded_to, payload = state.read(key)
            payload = staged.payload if staged is not None else payload
            if payload is None or record.offset < folded_to:
                effects.count("skipped_records_total", "conversations", "replayed")
                continue
            fold = self._fold(key, decode_state(payload), batch.partition, state, effects)
            if not fold.answer(summary):
                effects.count("skipped_records_total", "conversations", "duplicate")
            self._store(key, fold, record.timestamp / 1000, record.offset + 1, effects)

    def on_timer(self, keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
        """Flush what has gone idle and repeat what was not answered, once the partition is caught up."""
        effects = Effects()
        for key in keys:
            _, payload = state.read(key)
            if payload is None:
                continue
            if not context.caught_up:
                # Messages that decide whether it is idle may still be in the log.
                effects.wake(key, context.now + self._settings.tick_seconds)
                continue
            fold = self._fold(key, decode_state(payload), context.partition, state, effects)
            fold.pause(context.now)
            self._store(key, fold, context.now, None, effects, idle=True)
        return effects

    def _fold(
        self, key: bytes, before: ConversationState, partition: int, state: StateReader, effects: Effects
    ) -> Fold:
        return Fold(
            key.decode(), before, self._policy, self._count, (MESSAGES, partition), _pages(key, state, effects)
        )

    def _store(
        self,
        key: bytes,
        fold: Fold,
        now: float,
        next_offset: int | None,
        effects: Effects,
        cause: Sequence[tuple[str, bytes | None]] = (),
        *,
        idle: bool = False,
    ) -> None:
        after = fold.finish(now)
        inherited = cloudevents.incoming(cause) if cause else None
        for window in fold.windows:
            effects.emit(
                WINDOWS,
                key,
                _encode(window),
                cloudevents.outgoing("memory.window.v1", _SOURCE, window.window_id, cause=inherited),
            )
            effects.count("windows_total", window.reason)
        for request in fold.requests:
            effects.emit(
                REQUESTS,
                key,
                _encode(request),
                cloudevents.outgoing("memory.summary-request.v1", _SOURCE, request.request_id),
            )
            kind = "repeat" if request.attempt > 1 else "roll_up" if request.roll_up else "range"
            effects.count("summary_requests_total", kind)
        # In an order that a crash in between does not harm: a page is there before the state names it, and
        # goes after the state has let it go.
        for begins, page in fold.pages.items():
            if page is not None:
                effects.store(page_key(key, begins), encode_page(page))
        effects.store(key, encode_state(after, idle=idle), next_offset)
        for begins, page in fold.pages.items():
            if page is None:
                effects.remove(page_key(key, begins))
        at = wake_at(after, self._policy)
        effects.wake(key, max(at, now + self._settings.tick_seconds) if at is not None and idle else at)


def _pages(key: bytes, state: StateReader, effects: Effects) -> LoadPage:
    """Return what loads pages of ``key``: those that this very batch stored, and those stored before."""

    def load(begins: int) -> Sequence[Kept]:
        name = page_key(key, begins)
        staged = effects.changes.get(name)
        payload = staged.payload if staged is not None else state.read(name)[1]
        if payload is None:
            raise ConsistencyError(f"the state of a conversation names a page at {begins} that is not there")
        return decode_page(payload)

    return load
