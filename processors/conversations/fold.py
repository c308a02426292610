"""Fold of messages, summaries and silences into a conversation: windows, duplicates, token counts.

A conversation was silent if its next message was sent, or its next record arrived, ``idle_seconds`` after the
one before: both stand in the log, so a replay finds the same silences, whatever the clock said when it was read
first.  Whoever finds out that a conversation is silent before its next message comes writes a record of his own
into the log, a punctuation, and it is this record's arrival that says so (:meth:`Fold.tick`).  It ends what the
next message would end, only earlier.  In the same way a conversation is forgotten, and closed by a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from models import ids
from models.messages import ChatMessage
from models.summaries import Summary
from models.windows import WindowMessage, WindowReason
from processors.conversations.bodies import Bodies, LoadPage
from processors.conversations.drafts import SummaryRequestDraft, WindowDraft, joined, source_of
from processors.conversations.message_ids import IdPage, LoadIds
from processors.conversations.sequence import Sequencer
from processors.conversations.state import ConversationPolicy, ConversationState, Kept
from processors.conversations.summarizing import Summarizing
from processors.conversations.windows import WindowCursor
from processors.text.tokens import TokenCounter, overheads

_encode = msgspec.json.Encoder().encode

_EPOCH = datetime.fromtimestamp(0, UTC)


class Fold:
    """Folds a run of one conversation's messages, summaries and punctuations into its state.

    Thaws the state once, takes any number of steps, and freezes it in :meth:`finish`: copying the state
    per message would cost more than everything else.  ``windows`` and ``requests`` collect what is to be
    published; ``pages`` are the pages to store, by the index that they begin at, ``None`` for one that is no
    longer needed; ``erasures`` are those that were asked for, as (person or ``""``, arrival in epoch seconds);
    ``duplicates`` counts messages that were seen before; ``strangers`` are the offsets of those
    that belong to another tenant; ``changed`` says whether there is anything to store.  Nothing here reads a
    clock: times come with the records or are passed in.
    """

    __slots__ = (
        "_bodies",
        "_changed",
        "_conversation_id",
        "_count",
        "_cursor",
        "_end_mark",
        "_policy",
        "_sent_at",
        "_sequence",
        "_source_topic",
        "_summarizing",
        "erasures",
        "windows",
    )

    def __init__(
        self,
        conversation_id: str,
        state: ConversationState,
        policy: ConversationPolicy,
        count: TokenCounter,
        source: tuple[str, int],
        load_page: LoadPage,
        load_ids: LoadIds,
    ) -> None:
        self._conversation_id = conversation_id
        self._policy = policy
        self._count = count
        self._source_topic = source
        self._sequence = Sequencer(state, policy.forget_seconds, load_ids)
        self._cursor = state.cursor
        self._bodies = Bodies(state, load_page)
        self._summarizing = Summarizing(conversation_id, state, policy, self._sequence, self._bodies, source)
        self._sent_at = state.sent_at
        self._end_mark = state.end_mark
        self.windows: list[WindowDraft] = []
        self.erasures: list[tuple[str, float]] = []
        self._changed = False

    @property
    def requests(self) -> list[SummaryRequestDraft]:
        """The requests to publish."""
        return self._summarizing.requests

    @property
    def pages(self) -> dict[int, Sequence[Kept] | None]:
        """The pages to store (:class:`Bodies`)."""
        return self._bodies.pages

    @property
    def id_pages(self) -> Mapping[IdPage, bytes | None]:
        """The pages of message ids to store (:class:`MessageIds`)."""
        return self._sequence.ids.pages

    @property
    def tenant_id(self) -> str:
        """Tenant of the conversation."""
        return self._sequence.tenant_id

    @property
    def is_empty(self) -> bool:
        """True if the conversation has no messages yet."""
        return not self._sequence.next_index

    @property
    def duplicates(self) -> int:
        """How many messages were seen before."""
        return self._sequence.duplicates

    @property
    def strangers(self) -> list[int]:
        """The offsets of what belongs to another tenant."""
        return self._sequence.strangers

    @property
    def changed(self) -> bool:
        """True if there is anything to store."""
        return self._changed or self._sequence.changed

    def is_second_copy(self, origin: str, offset: int, came: float, arrived: float) -> bool:
        """Say whether a record was copied here before (:meth:`Sequencer.is_second_copy`).

        The arrival of a first copy ends a silence like that of any other record.
        """
        if self._sequence.was_copied(origin, offset, came, arrived):
            return True
        self.tick(arrived)
        return self._sequence.is_second_copy(origin, offset, came, arrived)

    def add(self, run: Iterable[tuple[ChatMessage, int, float]]) -> None:
        """Take the next messages, in offset order: (message, offset, time of the record in epoch seconds)."""
        # This loop runs once for every message there is: what it needs often is in local variables.
        policy, count = self._policy, self._count
        overhead, idle_seconds = overheads(count), policy.idle_seconds
        keep, note = self._bodies.kept.append, self._summarizing.counts.append
        sent_at = self._sent_at
        full_at = self._cursor.full_at(policy.sizes)
        stamped, stamp = 0.0, _EPOCH
        for index, message, offset, arrived in self._sequence.place(run, idle_seconds):
            if message is None:
                self._sent_at = sent_at
                self._arrives(arrived)
                sent_at = self._sent_at
                full_at = self._cursor.full_at(policy.sizes)
                continue
            sent = message.sent_at.timestamp()
            if sent_at and sent - sent_at >= idle_seconds:
                self._close(WindowReason.IDLE, index)
                full_at = self._cursor.full_at(policy.sizes)
            if arrived != stamped:
                stamped, stamp = arrived, datetime.fromtimestamp(arrived, UTC)
            message_id = message.message_id
            body = _encode(
                WindowMessage(
                    message_id=message_id,
                    user_id=message.user_id,
                    role=message.role,
                    content=message.content,
                    sent_at=message.sent_at,
                    arrived_at=stamp,
                    index=index,
                    offset=offset,
                    late=sent < sent_at,
                )
            )
            keep(Kept(offset, message_id, body, arrived))
            note(count(message.content) + overhead[message.role])
            if sent > sent_at:
                sent_at = sent
            if index + 1 >= full_at:
                self._close(WindowReason.FULL, index + 1)
                full_at = self._cursor.full_at(policy.sizes)
        self._sent_at = sent_at

    def tick(self, arrived: float) -> None:
        """A punctuation arrived (epoch seconds): end what was silent until then."""
        if arrived - self._sequence.arrived_at >= self._policy.idle_seconds:
            self._arrives(arrived)
            self._sequence.forget(arrived)

    def close(self, tenant_id: str, offset: int) -> None:
        """End the open window: somebody of this tenant says that the conversation is over."""
        if self.is_empty:
            return
        if tenant_id == self.tenant_id:
            self._close(WindowReason.CLOSED, self._sequence.next_index)
        else:
            self._sequence.strangers.append(offset)

    def erase(self, tenant_id: str, user_id: str, offset: int, arrived: float) -> None:
        """Let go of what was said until now (epoch seconds), by everybody (``""``) or by one person.

        Of one person the words go, and with them every summary so far: nobody can tell whose words are in it.
        """
        if not self._sequence.erase(tenant_id, user_id, offset, arrived):
            return
        self.erasures.append((user_id, arrived))
        self._summarizing.counts.clear()
        self._summarizing.requests.clear()
        if not user_id:
            self.windows.clear()
            self._begin_anew()
            return
        self._bodies.erase_words(user_id)
        self._summarizing.begin_anew(self._sequence.next_index)

    def repeat(self, now: float) -> None:
        """The wall clock says ``now``: repeat an unanswered request.  Nothing else depends on it."""
        self._summarizing.repeat(now)

    def answer(self, summary: Summary) -> bool:
        """Take a summary; ``False`` if it does not answer the open request (:meth:`Summarizing.answer`)."""
        taken = self._summarizing.answer(summary)
        self._changed = self._changed or taken
        return taken

    def finish(self, now: float) -> ConversationState | None:
        """Ask for a summary if one is due, forget what nobody needs, and return the new state.

        ``None``: the conversation is forgotten.  ``now`` (epoch seconds) is when the request counts as asked.
        Asking once per run asks for the same ranges as asking after every message: a range ends where the
        threshold is crossed.
        """
        sequence, bodies, summarizing = self._sequence, self._bodies, self._summarizing
        summarizing.count(now)
        bodies.settle(summarizing.tokens.from_index)
        sequence.ids.settle()
        if not sequence.next_index and not sequence.copied and not sequence.erased:
            return None
        return ConversationState(
            sequence.tenant_id,
            sequence.user_id,
            sequence.next_index,
            self._cursor,
            bodies.kept_from,
            tuple(bodies.kept),
            sequence.ids.latest,
            self._sent_at,
            sequence.arrived_at,
            self._end_mark,
            summarizing.tokens,
            summarizing.summaries,
            tuple(bodies.begins),
            sequence.copied,
            sequence.erased,
            sequence.ids.paged,
        )

    def _arrives(self, arrived: float) -> None:
        """End the open window; if the conversation is forgotten now, its next message begins it anew."""
        self._close(WindowReason.IDLE, self._sequence.next_index)
        if not self._sequence.is_forgotten(arrived):
            return
        self._summarizing.count(self._sequence.arrived_at)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Know nothing of what came before."""
        self._bodies.clear()
        self._cursor = WindowCursor()
        self._sent_at, self._end_mark = 0.0, ""
        self._summarizing.begin_anew(0)

    def _close(self, reason: WindowReason, next_index: int) -> None:
        if not self._cursor.pending(next_index):
            return
        self._changed = True
        span, self._cursor = self._cursor.close(next_index, self._policy.sizes)
        self._bodies.turn(self._cursor.from_index)
        messages = self._bodies.of_window(span.from_index, span.to_index)
        message_ids = tuple([message.message_id for message in messages])
        self._end_mark = message_ids[-1]
        self.windows.append(
            WindowDraft(
                ids.window_id(
                    self.tenant_id,
                    self._conversation_id,
                    message_ids[0],
                    message_ids[-1],
                    span.overlap,
                ),
                self._conversation_id,
                self._sequence.user_id,
                reason,
                message_ids,
                joined(messages),
                span.from_index,
                span.to_index,
                span.overlap,
                source_of(self._source_topic, messages[0].offset, messages[-1].offset),
                self.tenant_id,
            )
        )
