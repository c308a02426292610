"""What a conversation remembers, and what each message does to it: windows, duplicates, token counts.

One immutable :class:`ConversationState` per conversation, folded forward a run of messages at a time by
:class:`Fold`.  Bodies of messages are kept once, already encoded, as long as the open window or the token
table still needs them; everything else about a message is forgotten.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec

from models import ids
from models.messages import ChatMessage
from models.summaries import Summary
from models.windows import WindowMessage, WindowReason, WindowSource
from processors import token_table
from processors.token_table import RequestPlan, TokenTable
from processors.tokens import TokenCounter, message_tokens
from processors.windows import WindowCursor, WindowSizes

_encode = msgspec.json.Encoder().encode


class ConversationPolicy(msgspec.Struct, frozen=True):
    """How conversations are cut and when they are summarized.  Times in seconds, tokens in cl100k."""

    sizes: WindowSizes = WindowSizes()
    idle_seconds: float = 900.0
    idle_grace_seconds: float = 10.0
    recent_message_ids: int = 64
    token_threshold: int = 1200
    summary_retry_seconds: float = 60.0


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message that is still needed: its offset, its id and its encoded :class:`WindowMessage`."""

    offset: int
    message_id: str
    body: msgspec.Raw


class ConversationState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything that is known of one conversation.

    ``next_index`` is the absolute index of the next message; ``kept[0]`` has index ``kept_from``;
    ``recent_ids`` are the latest message ids, to tell a producer's retry; ``sent_at`` is the latest
    ``sent_at`` and ``arrived_at`` the latest arrival (epoch seconds); ``end_mark`` is the id of the last
    message that a window had; ``summaries`` are the accepted summaries' contents, in the table's order.
    """

    tenant_id: str
    user_id: str
    next_index: int = 0
    cursor: WindowCursor = WindowCursor()
    kept_from: int = 0
    kept: tuple[Kept, ...] = ()
    recent_ids: tuple[str, ...] = ()
    sent_at: float = 0.0
    arrived_at: float = 0.0
    end_mark: str = ""
    tokens: TokenTable = TokenTable()
    summaries: tuple[msgspec.Raw, ...] = ()


_decode_state = msgspec.json.Decoder(ConversationState).decode


#: First byte of a zlib stream; JSON state begins with "[".
_ZLIB = 0x78


def encode_state(state: ConversationState, *, idle: bool = False) -> bytes:
    """Return the state as stored in the changelog; that of an ``idle`` conversation is compressed.

    Most conversations are idle most of the time, so this is what memory holds: a quarter of the size for
    some microseconds when the conversation goes on.
    """
    payload = _encode(state)
    return zlib.compress(payload, 1) if idle else payload


def decode_state(payload: bytes) -> ConversationState:
    """Return the state that :func:`encode_state` wrote."""
    return _decode_state(zlib.decompress(payload) if payload[0] == _ZLIB else payload)


class WindowDraft(msgspec.Struct, frozen=True):
    """A finished :class:`models.windows.Window` whose messages are already encoded."""

    window_id: str
    conversation_id: str
    user_id: str
    reason: WindowReason
    message_ids: tuple[str, ...]
    messages: tuple[msgspec.Raw, ...]
    from_index: int
    to_index: int
    overlap: int
    source: WindowSource
    tenant_id: str


class SummaryRequestDraft(msgspec.Struct, frozen=True):
    """A :class:`models.summaries.SummaryRequest` whose messages and summaries are already encoded."""

    request_id: str
    conversation_id: str
    user_id: str
    from_index: int
    to_index: int
    messages: tuple[msgspec.Raw, ...]
    tokens: int
    threshold: int
    source: WindowSource
    previous: tuple[msgspec.Raw, ...]
    replaces: tuple[str, ...]
    roll_up: bool
    attempt: int
    tenant_id: str


class Fold:
    """Folds a run of one conversation's messages, summaries and pauses into its state.

    Thaws the state once, takes any number of steps, and freezes it in :meth:`finish`: copying the state
    per message would cost more than everything else.  ``windows`` and ``requests`` collect what is to be
    published; ``duplicates`` counts messages that were seen before.  Nothing here reads a clock: times
    come with the messages or are passed in.
    """

    __slots__ = (
        "_arrived_at",
        "_conversation_id",
        "_count",
        "_counts",
        "_cursor",
        "_end_mark",
        "_kept",
        "_kept_from",
        "_next_index",
        "_policy",
        "_recent",
        "_sent_at",
        "_source_topic",
        "_summaries",
        "_tenant_id",
        "_tokens",
        "_user_id",
        "duplicates",
        "requests",
        "windows",
    )

    def __init__(
        self,
        conversation_id: str,
        state: ConversationState,
        policy: ConversationPolicy,
        count: TokenCounter,
        source: tuple[str, int],
    ) -> None:
        self._conversation_id = conversation_id
        self._policy = policy
        self._count = count
        self._source_topic = source
        self._tenant_id = state.tenant_id
        self._user_id = state.user_id
        self._next_index = state.next_index
        self._cursor = state.cursor
        self._kept_from = state.kept_from
        self._kept = list(state.kept)
        self._recent = dict.fromkeys(state.recent_ids)
        self._sent_at = state.sent_at
        self._arrived_at = state.arrived_at
        self._end_mark = state.end_mark
        self._tokens = state.tokens
        self._counts: list[int] = []
        self._summaries = state.summaries
        self.windows: list[WindowDraft] = []
        self.requests: list[SummaryRequestDraft] = []
        self.duplicates = 0

    def add(self, message: ChatMessage, offset: int, arrived_at: float) -> None:
        """Take the next message, in offset order; ``arrived_at`` is the record's time (epoch seconds)."""
        message_id = message.message_id
        if message_id in self._recent:
            self.duplicates += 1
            return
        sent_at = message.sent_at.timestamp()
        if self._sent_at and sent_at - self._sent_at >= self._policy.idle_seconds:
            self._close(WindowReason.IDLE)
        index = self._next_index
        body = _encode(
            WindowMessage(
                message_id=message_id,
                user_id=message.user_id,
                role=message.role,
                content=message.content,
                sent_at=message.sent_at,
                index=index,
                offset=offset,
                late=sent_at < self._sent_at,
            )
        )
        self._kept.append(Kept(offset, message_id, msgspec.Raw(body)))
        self._recent[message_id] = None
        self._counts.append(message_tokens(message.role, message.content, self._count))
        self._next_index = index + 1
        self._sent_at = max(sent_at, self._sent_at)
        self._arrived_at = max(arrived_at, self._arrived_at)
        if self._cursor.full(self._next_index, self._policy.sizes):
            self._close(WindowReason.FULL)

    def pause(self, now: float) -> None:
        """The wall clock says ``now``: flush an idle rest, repeat an unanswered request."""
        if now - self._sent_at >= self._policy.idle_seconds:
            self._close(WindowReason.IDLE)
        plan = token_table.repeat_due(self._tokens, now, self._policy.summary_retry_seconds)
        if plan is not None:
            self._ask(plan, now)

    def answer(self, summary: Summary) -> bool:
        """Take a summary; ``False`` if it does not answer the open request (a duplicate, a late answer)."""
        request = self._tokens.open
        tokens = token_table.accept(
            self._tokens, summary.summary_id, summary.from_index, summary.to_index, summary.tokens
        )
        if tokens is self._tokens or request is None:
            return False
        self._tokens = tokens
        body = msgspec.Raw(_encode(summary.summary))
        self._summaries = (body,) if request.roll_up else (*self._summaries, body)
        return True

    def finish(self, now: float) -> ConversationState:
        """Ask for a summary if one is due, forget what nobody needs, and return the new state.

        ``now`` (epoch seconds) is when the request counts as asked.  Asking once per run asks for the same
        ranges as asking after every message: a range ends where the threshold is crossed.
        """
        self._tokens = token_table.add(self._tokens, self._counts)
        self._counts = []
        if self._tokens.open is None:
            plan = token_table.due(self._tokens, self._policy.token_threshold)
            if plan is not None:
                self._ask(plan, now)
        self._forget()
        remembered = max(self._policy.recent_message_ids, self._policy.sizes.size)
        return ConversationState(
            self._tenant_id,
            self._user_id,
            self._next_index,
            self._cursor,
            self._kept_from,
            tuple(self._kept),
            tuple(self._recent)[-remembered:],
            self._sent_at,
            self._arrived_at,
            self._end_mark,
            self._tokens,
            self._summaries,
        )

    def _close(self, reason: WindowReason) -> None:
        if not self._cursor.pending(self._next_index):
            return
        span, self._cursor = self._cursor.close(self._next_index, self._policy.sizes)
        messages = self._slice(span.from_index, span.to_index)
        message_ids = tuple([message.message_id for message in messages])
        self._end_mark = message_ids[-1]
        self.windows.append(
            WindowDraft(
                ids.window_id(self._tenant_id, self._conversation_id, span.from_index, span.to_index),
                self._conversation_id,
                self._user_id,
                reason,
                message_ids,
                tuple([message.body for message in messages]),
                span.from_index,
                span.to_index,
                span.overlap,
                self._source(messages),
                self._tenant_id,
            )
        )

    def _ask(self, plan: RequestPlan, now: float) -> None:
        messages = [] if plan.roll_up else self._slice(plan.from_index, plan.to_index)
        self.requests.append(
            SummaryRequestDraft(
                ids.summary_id(self._tenant_id, self._conversation_id, plan.from_index, plan.to_index),
                self._conversation_id,
                self._user_id,
                plan.from_index,
                plan.to_index,
                tuple([message.body for message in messages]),
                plan.tokens,
                self._policy.token_threshold,
                self._source(messages),
                self._summaries if plan.roll_up else (),
                plan.replaces,
                plan.roll_up,
                plan.attempt,
                self._tenant_id,
            )
        )
        self._tokens = token_table.opened(self._tokens, plan, now)

    def _slice(self, from_index: int, to_index: int) -> list[Kept]:
        return self._kept[from_index - self._kept_from : to_index + 1 - self._kept_from]

    def _source(self, messages: Sequence[Kept]) -> WindowSource:
        topic, partition = self._source_topic
        first, last = (messages[0].offset, messages[-1].offset) if messages else (0, 0)
        return WindowSource(topic=topic, partition=partition, first_offset=first, last_offset=last)

    def _forget(self) -> None:
        """Drop the bodies that neither the open window nor the token table needs."""
        needed_from = min(self._cursor.from_index, self._tokens.from_index)
        if needed_from > self._kept_from:
            del self._kept[: needed_from - self._kept_from]
            self._kept_from = needed_from


def wake_at(state: ConversationState, policy: ConversationPolicy) -> float | None:
    """Return when the clock alone may change this conversation (epoch seconds), or ``None``.

    An open window is flushed when the conversation has been idle, but not before nothing has arrived for
    a grace period: a backfill of old messages is idle by their ``sent_at`` and yet still coming in.
    """
    times: list[float] = []
    if state.cursor.pending(state.next_index):
        times.append(max(state.sent_at + policy.idle_seconds, state.arrived_at + policy.idle_grace_seconds))
    repeat = token_table.repeat_at(state.tokens, policy.summary_retry_seconds)
    if repeat is not None:
        times.append(repeat)
    return min(times, default=None)
