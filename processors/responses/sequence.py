"""One response, chunk by chunk: put in order by ``sequence``, filtered, and closed.

Every chunk that comes in gives one that goes out, in the same order, its text possibly empty.  One more goes
out when a hold time ends between two chunks, one less when a chunk was lost.  Readers expect numbers without
holes, so what goes out is counted by itself.

What goes out must not change when chunks are read again after a crash, although the clock says something
else then.  So the clock is first noted in the state (:meth:`ResponseSequencer.note`), and what was due at that
time is carried out in a step of its own: by the timer, or by the next chunk if that comes first.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime

import msgspec

from models import ids
from models.messages import DEFAULT_TENANT
from models.responses import ContentDuplicationEvent, ResponseChunk
from processors.responses.filter import ResponseFilter
from processors.responses.filter_state import Filtered, FilterState
from processors.responses.halves import ReceivedChunk, joined
from processors.responses.history import SeenElement, before_response, of_response

#: Chunks that wait for one that is missing, and their characters; with more it is given up at once.  They are
#: part of the state, which must fit into a record, however large the chunks are.
_AHEAD_MOST = 256
_AHEAD_CHARACTERS = 250_000

#: Gaps that are remembered, so that a chunk that comes too late can be told from one that comes again.
_GAPS_MOST = 16


class ResponseState(msgspec.Struct, array_like=True, gc=False):
    """Everything that is known of one response; a step changes a copy of it.  Times in epoch seconds.

    ``next_in`` and ``next_out``: the next number to come in and to go out.  ``ahead``: chunks that came
    before their time, by number, and when they came.  ``gaps``: first and last number of what was given up.
    ``seen_at``: when the last chunk came, or when the response was closed because none came.  A ``closed``
    response has had its final chunk; what is left of it tells repeated and late chunks.  ``clock``: what the
    clock said when it was noted; what was due then is still to be done.  ``half``: the first half of a
    character that waits for its second one.
    """

    response_id: str
    conversation_id: str
    seen_at: float
    next_in: int = 0
    next_out: int = 0
    ahead: tuple[tuple[ReceivedChunk, float], ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    closed: bool = False
    filtered: FilterState = msgspec.field(default_factory=FilterState)
    clock: float | None = None
    tenant_id: str = DEFAULT_TENANT
    half: int = 0


class Sequenced:
    """One step of a response: a copy of its state, which it changes, what goes out, and what there is to count.

    ``state`` is ``None`` if it is to be forgotten.  ``late`` chunks came after the response had gone on
    without them, or ended: they are not in the output.  ``repeated`` chunks had come before, ``missing`` ones
    were given up.  ``held``, ``waited`` and ``errors`` are those of :class:`Filtered`.  ``silent``: no final
    chunk ever came.  ``said``: when the response ends, what it has said, for the conversation's memory.
    """

    def __init__(self, state: ResponseState, response_filter: ResponseFilter) -> None:
        self.state: ResponseState | None = None
        self.chunks: list[ResponseChunk] = []
        self.duplicates: list[ContentDuplicationEvent] = []
        self.late: list[ReceivedChunk] = []
        self.repeated = self.missing = self.held = 0
        self.waited: list[float] = []
        self.errors: list[Exception] = []
        self.silent = False
        self.said: tuple[SeenElement, ...] = ()
        self._state, self._filter, self._now = copy.copy(state), response_filter, state.seen_at
        self._ahead = {chunk.sequence: (chunk, came_at) for chunk, came_at in state.ahead}

    def accept(self, chunk: ReceivedChunk, now: float) -> None:
        """Take a chunk; then give up what has been missing for too long: it might have been this one."""
        state, number = self._state, chunk.sequence
        self._now = state.seen_at = now
        if any(first <= number <= last for first, last in state.gaps):
            self.late.append(chunk)
        elif number < state.next_in or number in self._ahead:
            self.repeated += 1
        else:
            self._ahead[number] = chunk, now
            self._take_turns()
        self._give_up_what_is_missing()

    def do_what_is_due(self, now: float) -> None:
        """Go on without lost chunks, end what has fallen silent, or release what was held for too long."""
        state, self._now = self._state, now
        silent = now >= state.seen_at + self._filter.policy.idle_seconds
        self._give_up_what_is_missing(at_once=silent)
        if not silent:
            overdue = self._filter.tick(state.filtered, now)
            if overdue.text or overdue.duplicates:
                self._send(overdue, final=False)  # in a chunk of its own
        elif not state.closed:
            state.seen_at, self.silent = now, True
            self._filter_text(joined(state.half, 0), final=True)
            state.half = 0

    def finish(self) -> Sequenced:
        """Return the step, its state complete."""
        self.state = self._state
        self.state.ahead = tuple([self._ahead[number] for number in sorted(self._ahead)])
        self.state.clock = None
        return self

    def _give_up_what_is_missing(self, *, at_once: bool = False) -> None:
        """Go on without chunks that one after them has waited for long enough, or too many."""
        state, ahead = self._state, self._ahead
        while ahead and (at_once or self._is_enough()):
            following = min(ahead)
            self.missing += following - state.next_in
            lost = joined(state.half, 0)
            state.half = 0
            state.gaps = (*state.gaps, (state.next_in, following - 1))[-_GAPS_MOST:]
            state.next_in = following
            self._take_turns(lost)

    def _is_enough(self) -> bool:
        """Say whether what came before its time has waited for long enough, or is too much to wait."""
        characters = sum(len(chunk.text) for chunk, _ in self._ahead.values())
        overdue = min(at for _, at in self._ahead.values()) + self._filter.policy.hold_seconds
        return self._now >= overdue or len(self._ahead) > _AHEAD_MOST or characters > _AHEAD_CHARACTERS

    def _take_turns(self, before: str = "") -> None:
        """Filter the chunks whose turn it is; ``before`` stands before the first one."""
        state = self._state
        while not state.closed and state.next_in in self._ahead:
            chunk, came_at = self._ahead.pop(state.next_in)
            state.next_in += 1
            self._filter_text(before + self._text_of(chunk), final=chunk.final)
            before = ""
            if state.filtered.held_since == self._now:
                # What is held of it has waited since it came: the hold time does not begin anew.
                state.filtered.held_since = came_at
        if state.closed:
            self.late += [chunk for chunk, _ in self._ahead.values()]
            self._ahead.clear()

    def _text_of(self, chunk: ReceivedChunk) -> str:
        """Return the text of a chunk, after the half of a character that waited for it."""
        state = self._state
        if not (chunk.text or chunk.second_half or chunk.first_half or chunk.final):
            return ""
        begins = joined(state.half, chunk.second_half)
        state.half = 0 if chunk.final else chunk.first_half
        return begins + chunk.text + (joined(chunk.first_half, 0) if chunk.final else "")

    def _filter_text(self, text: str, *, final: bool) -> None:
        self._send(self._filter.push(self._state.filtered, text, self._now, final=final), final=final)

    def _send(self, filtered: Filtered, *, final: bool) -> None:
        state = self._state
        whose = {"response_id": state.response_id, "tenant_id": state.tenant_id}
        self.chunks.append(
            ResponseChunk(
                conversation_id=state.conversation_id,
                sequence=state.next_out,
                text=filtered.text,
                final=final,
                **whose,
            )
        )
        state.next_out += 1
        self.duplicates += [
            ContentDuplicationEvent(
                event_id=ids.deterministic_id("duplicate", state.response_id, duplicate.position),
                session_id=state.conversation_id,
                timestamp=datetime.fromtimestamp(self._now, UTC),
                duplicate_sentence=duplicate.sentence,
                similar_sentence=duplicate.similar,
                similarity_score=duplicate.score,
                position_in_response=duplicate.position,
                kept=duplicate.kept,
                **whose,
            )
            for duplicate in filtered.duplicates
        ]
        self.held += filtered.held
        self.errors += filtered.errors
        self.waited += [filtered.waited] if filtered.waited is not None else []
        state.filtered = filtered.state
        if final:
            state.closed, self.said, state.filtered = True, of_response(filtered.state.said), FilterState()


class ResponseSequencer:
    """Takes responses from their first chunk to their last; what it knows of each is in its state."""

    def __init__(self, response_filter: ResponseFilter | None = None) -> None:
        self._filter = response_filter or ResponseFilter()

    def push(
        self, state: ResponseState | None, chunk: ReceivedChunk, now: float, said: tuple[SeenElement, ...] = ()
    ) -> Sequenced:
        """Add a chunk.  ``said``: what a new response must not repeat (what its conversation has said)."""
        if state is None:
            filtered = FilterState(said=before_response(said))
            state = ResponseState(
                chunk.response_id, chunk.conversation_id, now, filtered=filtered, tenant_id=chunk.tenant_id
            )
        step = Sequenced(state, self._filter)
        if state.clock is not None:
            step.do_what_is_due(state.clock)
        step.accept(chunk, now)
        return step.finish()

    def note(self, state: ResponseState, now: float) -> ResponseState:
        """Return the state with the time noted, to be stored before :meth:`tick` does what was due then."""
        return msgspec.structs.replace(state, clock=now)

    def tick(self, state: ResponseState, now: float) -> Sequenced:
        """Do what is due by the clock: go on without a lost chunk, release what was held, close, forget."""
        step = Sequenced(state, self._filter)
        if state.closed and now >= state.seen_at + self._filter.policy.idle_seconds:
            return step  # nothing of it is left
        step.do_what_is_due(now)
        return step.finish()

    def wake_at(self, state: ResponseState) -> float:
        """Return when :meth:`tick` will have something to do, in epoch seconds.

        What was noted is to be done at once; only a closed response is forgotten an idle time after that, so
        that its chunks' offsets are committed for long and never read again.
        """
        policy = self._filter.policy
        if state.clock is not None:
            return state.clock + policy.idle_seconds if state.closed else state.clock
        times = [state.seen_at + policy.idle_seconds, self._filter.wake_at(state.filtered)]
        times += [came_at + policy.hold_seconds for _, came_at in state.ahead]
        return min(time for time in times if time is not None)
