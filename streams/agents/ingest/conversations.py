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
    is_page,
    page_key,
    wake_at,
)
from processors.conversations.windows import WindowSizes
from processors.text.tokens import TokenCounter
from processors.text.validation import decode, decode_chat_message
from streams import cloudevents
from streams.runtime.codec import Codec
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.records import SourceRecord
from streams.runtime.stage import Stage, TimerContext
from streams.settings import Settings

MESSAGES = "chat.messages.v1"
SUMMARIES = "memory.summaries.v1"
WINDOWS = "memory.windows.v1"
REQUESTS = "memory.summary-requests.v1"

#: A conversation under its id, and bodies of its messages under keys of their own.  MessagePack, because it
#: passes over a body without reading it.
STATE: Codec[ConversationState] = Codec("conversation", ConversationState)
PAGE: Codec[Sequence[Kept]] = Codec("page", tuple[Kept, ...])

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
    """What the stage does with messages, summaries and timers, and what it needs to know for that."""

    def __init__(self, settings: Settings, count: TokenCounter) -> None:
        self._settings = settings
        self._policy = policy_of(settings)
        self._max_content_bytes = settings.max_content_bytes
        self._count = count

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="conversations",
            table="conversations",
            codec=STATE,
            others=(PAGE,),
            sources={
                MESSAGES: Source(decode=self._decode, fold=self._fold_messages, home=_home),
                SUMMARIES: Source(
                    decode=lambda record: decode(Summary, record.value),
                    fold=self._fold_summary,
                    key=lambda summary: summary.conversation_id.encode(),
                    each=True,
                ),
            },
            wake_at=self._wake_at,
            on_timer=self._on_timer,
            timer_at=self._timer_at,
            # Cheap, and the more messages of a conversation come at once, the fewer states are written.
            batch_records=4 * self._settings.batch_records,
            decided_by=self._settings.chosen(*DECIDING),
        )

    def _decode(self, record: SourceRecord) -> ChatMessage:
        limit = self._max_content_bytes
        return decode_chat_message(
            record.key, record.value, max_content_bytes=limit, arrived_ms=record.timestamp
        )

    def _wake_at(self, state: ConversationState) -> float | None:
        return wake_at(state, self._policy)

    def _timer_at(self, key: bytes, payload: bytes) -> float | None:
        return None if is_page(key) else self._wake_at(STATE.decode(payload, key))

    def _fold_messages(
        self, before: ConversationState | None, run: Run[ChatMessage], work: Work
    ) -> ConversationState | None:
        first = run.items[0][0]
        state = before or ConversationState(first.tenant_id, first.user_id)
        tenant_id = state.tenant_id
        new = [
            (message, record.offset, record.timestamp / 1000)
            for message, record in run.items
            if message.tenant_id == tenant_id
        ]
        last = run.last
        if len(new) < len(run.items):
            last = self._refuse_strangers(run, tenant_id, work)
        if not new:
            return before
        fold = self._fold(run.key, state, last.partition, work)
        fold.add(new)
        if fold.duplicates:
            work.skip("duplicate", by=fold.duplicates)
        return self._finish(run.key, fold, last.timestamp / 1000, work, last.headers)

    @staticmethod
    def _refuse_strangers(run: Run[ChatMessage], tenant_id: str, work: Work) -> SourceRecord:
        """Dead-letter what other tenants call by this conversation's id; return the last record that is its
        own."""
        last = run.last
        for message, record in run.items:
            if message.tenant_id == tenant_id:
                last = record
            else:
                work.dead_letter(record, _STRANGER)
        return last

    def _fold_summary(
        self, before: ConversationState | None, run: Run[Summary], work: Work
    ) -> ConversationState | None:
        if before is None:
            work.skip("replayed")
            return None
        ((summary, record),) = run.items
        fold = self._fold(run.key, before, record.partition, work)
        if not fold.answer(summary):
            work.skip("duplicate")
        return self._finish(run.key, fold, record.timestamp / 1000, work)

    def _on_timer(self, key: bytes, context: TimerContext, work: Work) -> None:
        """Flush what has gone idle and repeat what was not answered, once the partition is caught up."""
        before = work.get(key, STATE)
        if before is None:
            return
        if not context.caught_up:
            # Messages that decide whether it is idle may still be in the log.
            work.wake(key, context.now + self._settings.tick_seconds)
            return
        fold = self._fold(key, before, context.partition, work)
        fold.pause(context.now)
        # Most conversations are idle most of the time, so this is what memory holds: packed, a quarter of the
        # size for some microseconds when the conversation goes on.
        after = self._finish(key, fold, context.now, work)
        work.put(key, after, STATE, packed=True)
        if (at := self._wake_at(after)) is not None:
            work.wake(key, max(at, context.now + self._settings.tick_seconds))

    def _fold(self, key: bytes, before: ConversationState, partition: int, work: Work) -> Fold:
        return Fold(key.decode(), before, self._policy, self._count, (MESSAGES, partition), _pages(key, work))

    def _finish(
        self,
        key: bytes,
        fold: Fold,
        now: float,
        work: Work,
        cause: Sequence[tuple[str, bytes | None]] = (),
    ) -> ConversationState:
        after = fold.finish(now)
        inherited = cloudevents.incoming(cause) if cause else None
        for window in fold.windows:
            work.emit(
                WINDOWS,
                key,
                _encode(window),
                cloudevents.outgoing("memory.window.v1", _SOURCE, window.window_id, cause=inherited),
            )
            work.count("windows_total", window.reason)
        for request in fold.requests:
            work.emit(
                REQUESTS,
                key,
                _encode(request),
                cloudevents.outgoing("memory.summary-request.v1", _SOURCE, request.request_id),
            )
            kind = "repeat" if request.attempt > 1 else "roll_up" if request.roll_up else "range"
            work.count("summary_requests_total", kind)
        # A crash in between must not harm: a page is there before the state names it, and goes after the state
        # has let it go.
        for begins, page in fold.pages.items():
            if page is None:
                work.remove(page_key(key, begins))
            else:
                work.put(page_key(key, begins), page, PAGE)
        return after


def _home(message: ChatMessage) -> tuple[str, bytes]:
    return MESSAGES, message.conversation_id.encode()


def _pages(key: bytes, work: Work) -> LoadPage:
    """Return what loads pages of ``key``."""

    def load(begins: int) -> Sequence[Kept]:
        page = work.get(page_key(key, begins), PAGE)
        if page is None:
            raise ConsistencyError(f"the state of a conversation names a page at {begins} that is not there")
        return page

    return load
