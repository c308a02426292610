"""ingest/conversations: messages in, overlapping windows and summary requests out (requirements 1 and 5).

State per conversation: :class:`processors.conversations.state.ConversationState`.  Accepted summaries come back
as the stage's second source and close the request that they answer.

Where windows end is decided by the log of messages alone, so that a replay cuts at the same places.  What else
has a say in it is first given a place in that log, as a punctuation between two messages: a command to close or
to erase (the third source; how far its topic is read when a message comes differs from run to run), and that a
conversation is silent by the wall clock (which is not the broker's, and never the same again).  Commands that
are read again are copied again; a conversation knows how far it has had copies from each partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec

from models.errors import InvalidRecord
from models.messages import ChatMessage, MendedMessage, Punctuation, PunctuationKind
from models.summaries import Summary
from models.windows import WindowReason
from processors.conversations.fold import Fold
from processors.conversations.state import (
    ConversationPolicy,
    ConversationState,
    is_page,
    repeat_at,
    silent_at,
    wake_at,
)
from processors.conversations.windows import WindowSizes
from processors.text.tokens import TokenCounter
from processors.text.validation import decode
from streams.agents import id_pages
from streams.agents.emitting import emit
from streams.agents.ingest import body_pages, summary_ledger
from streams.agents.ingest.punctuating import decode_command, fold_commands, punctuation
from streams.agents.ingest.summary_ledger import LEDGER
from streams.agents.message_log import decode_item, fold_into, taken
from streams.clients import cloudevents, erasures
from streams.clients.catalog import catalog_for
from streams.clients.erasure_ledger import NobodyErased, Refusing
from streams.clients.records import Headers, SourceRecord
from streams.clients.topics import COMMANDS, FACTS, MESSAGES, SUMMARIES, WINDOWS
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage, TimerContext

REQUESTS = "memory.summary-requests.v1"

#: A conversation under its id; bodies of its messages are in :mod:`.body_pages`.  MessagePack, because it
#: passes over a body without reading it.
STATE: Codec[ConversationState] = Codec(
    "conversation",
    ConversationState,
    version=2,
    older={1: msgspec.msgpack.Decoder(ConversationState).decode},  # without pages of message ids
)

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
    "conversation_forget_days",
    "token_threshold",
    "tokenizer",
    "summary_retry_seconds",
    "max_content_bytes",
)


def policy_of(settings: Settings) -> ConversationPolicy:
    """Return the policy for windows, idleness and summaries from the settings."""
    return ConversationPolicy(
        sizes=WindowSizes(settings.window_size, settings.window_overlap),
        idle_seconds=settings.idle_seconds,
        forget_seconds=settings.conversation_forget_days * 86_400,
        token_threshold=settings.token_threshold,
        summary_retry_seconds=settings.summary_retry_seconds,
    )


class Conversations:
    """Handlers of messages, summaries, commands and timers, with their dependencies.

    ``ledger``: who was erased, so that their late messages are not taken.
    """

    def __init__(self, settings: Settings, count: TokenCounter, ledger: Refusing | None = None) -> None:
        self._settings = settings
        self._ledger = ledger or NobodyErased()
        self._policy = policy_of(settings)
        self._max_content_bytes = settings.max_content_bytes
        self._count = count
        catalog = catalog_for(settings)
        self._fact_partitions = catalog.partitions(FACTS)
        summaries = catalog.get(SUMMARIES)
        # A record is there until its segment goes.
        self._summaries_kept = ((summaries.retention_ms or 0) + (summaries.segment_ms or 0)) / 1000

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="conversations",
            table="conversations",
            codec=STATE,
            others=(body_pages.PAGE, LEDGER, id_pages.IDS),
            sources={
                MESSAGES: Source(decode=self._decode, fold=self._fold_messages, home=_home),
                SUMMARIES: Source(
                    decode=_decode_summary,
                    fold=self._fold_summary,
                    key=lambda summary: summary.conversation_id.encode() if summary else b"",
                    one_record_per_fold=True,
                ),
                COMMANDS: Source(
                    decode=decode_command,
                    fold=fold_commands,
                    key=lambda command: command.conversation_id.encode() if command else b"",
                ),
            },
            wake_at=self._wake_at,
            on_timer=self._on_timer,
            timer_at=self._timer_at,
            # Cheap, and the more messages of a conversation come at once, the fewer states are written.
            batch_records=4 * self._settings.batch_records,
            decided_by=self._settings.chosen(*DECIDING),
        )

    def _decode(self, record: SourceRecord) -> ChatMessage | Punctuation:
        return decode_item(record, self._max_content_bytes)

    def _wake_at(self, state: ConversationState) -> float:
        # A little later, since the broker's clock may be behind: it is the one that counts.
        return wake_at(state, self._policy) + self._settings.tick_seconds

    def _timer_at(self, key: bytes, payload: bytes) -> float | None:
        if summary_ledger.is_ledger(key):
            return summary_ledger.gone_at(LEDGER.decode(payload, key), self._summaries_kept)
        return None if is_page(key) else self._wake_at(STATE.decode(payload, key))

    def _fold_messages(
        self, before: ConversationState | None, run: Run[ChatMessage | Punctuation], work: Work
    ) -> ConversationState | None:
        state, items = before, taken(run.items, self._ledger)
        if refused := len(run.items) - len(items):
            work.skip("erased", by=refused)
            if not items:
                return before
        if state is None:
            state = ConversationState("", "")  # whoever speaks first says whose it is
        fold = self._fold(run.key, state, run.last.partition, work)
        duplicates = fold_into(fold, items) + fold.duplicates
        if duplicates:
            work.skip("duplicate", by=duplicates)
        if mended := sum(item.replaced for item, _ in items if isinstance(item, MendedMessage)):
            work.count("message_characters_replaced_total", by=mended)
        for user_id, arrived in fold.erasures:
            erasure = erasures.Erasing(fold.tenant_id, run.key.decode(), user_id, _moment(arrived))
            # Anybody's facts may rest on the conversation, and only their partition knows them.
            for partition in range(self._fact_partitions):
                erasures.announce(work, FACTS, erasure, partition, _SOURCE)
            # Of one person, too, all go: nobody can tell whose words are in them.
            summary_ledger.erase(work, run.key, fold.tenant_id, arrived, _SOURCE)
        if fold.strangers:
            strangers = set(fold.strangers)
            for _, record in items:
                if record.offset in strangers:
                    work.dead_letter(record, _STRANGER)
        if not fold.changed:
            return before
        causes = {record.offset: record.headers for _, record in items if record.headers}
        after = self._finish(run.key, fold, run.last.timestamp / 1000, work, causes)
        if after is not None and isinstance(items[-1][0], Punctuation):
            # Most conversations are idle most of the time, so this is what memory holds: packed, a quarter of
            # the size for some microseconds when the conversation goes on.
            work.put(run.key, after, STATE, packed=True)
        return after

    def _fold_summary(
        self, before: ConversationState | None, run: Run[Summary | None], work: Work
    ) -> ConversationState | None:
        ((summary, record),) = run.items
        if summary is None:
            return before
        if before is not None and _is_erased(summary, before):
            # It was on its way when its messages were erased.
            summary_ledger.write_tombstone(work, summary.summary_id, run.key, _SOURCE)
            work.skip("erased")
            return before
        summary_ledger.note(work, summary, self._summaries_kept)
        if before is None:
            work.skip("replayed")
            return None
        fold = self._fold(run.key, before, record.partition, work)
        if not fold.answer(summary):
            work.skip("duplicate")
        return self._finish(run.key, fold, record.timestamp / 1000, work)

    def _on_timer(self, key: bytes, context: TimerContext, work: Work) -> None:
        """Write into the log that a conversation is silent; repeat what was not answered."""
        if summary_ledger.is_ledger(key):
            work.remove(key)
            return
        state = work.get(key, STATE)
        if state is None:
            return
        now, tick = context.now, self._settings.tick_seconds
        if not context.caught_up:
            # Messages that say whether it is silent may still be in the log.
            work.wake(key, now + tick)
            return
        look_at = silent_at(state, self._policy)
        if (overdue := now - look_at) >= 0:
            work.emit(MESSAGES, key, *punctuation(PunctuationKind.TICK, key.decode(), state.tenant_id))
            # Until it is read; and again, ever more seldom, if the broker's clock did not think so.
            look_at = now + min(max(10 * tick, overdue), self._policy.idle_seconds)
        if (repeat := repeat_at(state, self._policy)) is not None and repeat <= now:
            fold = self._fold(key, state, context.partition, work)
            fold.repeat(now)
            after = self._finish(key, fold, now, work)
            assert after is not None  # only what arrives makes it go
            state = after
            work.put(key, state, STATE, packed=True)
            repeat = repeat_at(state, self._policy)
        work.wake(key, max(now + tick, look_at if repeat is None else min(look_at, repeat)))

    def _fold(self, key: bytes, before: ConversationState, partition: int, work: Work) -> Fold:
        return Fold(
            key.decode(),
            before,
            self._policy,
            self._count,
            (MESSAGES, partition),
            body_pages.loading(key, work),
            id_pages.loading(key, work),
        )

    def _finish(
        self,
        key: bytes,
        fold: Fold,
        now: float,
        work: Work,
        causes: Mapping[int, Headers] = MappingProxyType({}),
    ) -> ConversationState | None:
        """Return the new state, and emit what it led to.  ``causes``: headers of messages, by offset."""
        after = fold.finish(now)
        for window in fold.windows:
            # What ends any other window is not always a message, so it inherits nothing.
            is_full = window.reason is WindowReason.FULL
            cause = causes.get(window.source.last_offset) if is_full else None
            emit(work, window, window.window_id, topic=WINDOWS, subject=None, cause=cloudevents.incoming(cause))
            work.count("windows_total", window.reason)
        for request in fold.requests:
            emit(work, request, request.request_id, topic=REQUESTS, subject=None)
            kind = "repeat" if request.attempt > 1 else "roll_up" if request.roll_up else "range"
            work.count("summary_requests_total", kind)
        body_pages.store(key, fold.pages, work)
        id_pages.store(key, fold.id_pages, work)
        return after


def _home(item: ChatMessage | Punctuation) -> tuple[str, bytes]:
    return MESSAGES, item.conversation_id.encode()


def _decode_summary(record: SourceRecord) -> Summary | None:
    """Return a summary, ``None`` for the erasure of one, which came from here."""
    return None if record.value is None else decode(Summary, record.value)


def _is_erased(summary: Summary, state: ConversationState) -> bool:
    arrived = summary.created_at.timestamp()
    return summary.tenant_id == state.tenant_id and any(arrived <= until for _, until in state.erased)


def _moment(arrived: float) -> datetime:
    return datetime.fromtimestamp(arrived, UTC)
