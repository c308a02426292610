"""respond/responses: response chunks in, the same without repeated sentences out (requirement 4).

State per response: :class:`processors.responses.sequence.ResponseState`.  With a conversation-wide memory the
chunks first pass :mod:`streams.agents.respond.routing`, which sends all responses of a conversation to one
partition; what the conversation has said is then kept beside its responses.

Chunks that are read again after a crash must give what they gave before, number by number.  What depends on
the log alone does; for what the clock does see :meth:`Responses._on_timer`, for what one response takes over
from another see :class:`Remembered`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT
from models.responses import ResponseChunk
from processors.responses.duplicates import find_duplicate
from processors.responses.filter import ResponseFilter
from processors.responses.filter_state import FilterPolicy
from processors.responses.halves import ReceivedChunk
from processors.responses.history import MEMORY as ELEMENTS_MOST
from processors.responses.history import START, SeenElement
from processors.responses.sequence import ResponseSequencer, ResponseState, Sequenced
from streams.agents.emitting import emit
from streams.agents.respond.counting import counts_of
from streams.agents.respond.detection_log import DetectionLog
from streams.agents.respond.routing import CHUNKS, ROUTED, decode_chunk
from streams.clients import cloudevents
from streams.clients.records import SourceRecord
from streams.clients.topics import RESPONSES
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.deadletters import DLQ_SUFFIX
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage, TimerContext

#: Keys of what a conversation has said; no response id holds a control character.
_MEMORY_MARK = b"\x01"

#: Where the log lags behind the clock, timers are looked at again after the lag, but at least this often.
_LOOK_AGAIN_SECONDS = 1.0


class Remembered(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An element of a response (``at``, epoch seconds), known from offset ``since`` of the log on.

    A response takes over what was known at its first chunk.  When that is read again, its conversation may
    already remember what came later, its own sentences among them: those it must not take for repeated.
    """

    said: SeenElement
    since: int
    at: float = 0.0


Memory = tuple[Remembered, ...]

#: A response under its id, and what a conversation has said under a key of its own.
STATE: Codec[ResponseState] = Codec("response", ResponseState)
MEMORY: Codec[Memory] = Codec("memory of a conversation", Memory)

_encode = msgspec.json.Encoder().encode

#: The settings that decide what is taken out of a response: those of the policy, and what it is compared with.
DECIDING = (
    "content_similarity_threshold",
    "duplicate_window_sentences",
    "max_hold_ms",
    "max_repeat_hold_ms",
    "response_fuzzy",
    "response_idle_seconds",
    "response_memory",
    "response_memory_seconds",
)


def policy_of(settings: Settings) -> FilterPolicy:
    """Return the filter policy from the settings."""
    return FilterPolicy(
        threshold=settings.content_similarity_threshold,
        window_sentences=settings.duplicate_window_sentences,
        hold_seconds=settings.max_hold_ms / 1000,
        repeat_hold_seconds=settings.max_repeat_hold_ms / 1000,
        fuzzy=settings.response_fuzzy == "on",
        idle_seconds=settings.response_idle_seconds,
    )


class Responses:
    """Handlers of chunks and timers.

    ``observe_latency`` takes the seconds that one comparison of a sentence took.
    """

    def __init__(self, settings: Settings, observe_latency: Callable[[float], None]) -> None:
        self._settings = settings
        self._spans_conversation = settings.response_memory == "conversation"
        self._source = ROUTED if self._spans_conversation else CHUNKS
        self._log = DetectionLog(observe_latency)
        find = self._log.around(find_duplicate)
        self._sequencer = ResponseSequencer(ResponseFilter(policy_of(settings), find))

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="responses",
            table="responses",
            codec=STATE,
            others=(MEMORY,),
            sources={
                self._source: Source(
                    decode=lambda record: decode_chunk(record, keyed=not self._spans_conversation),
                    fold=self._fold,
                    key=lambda chunk: chunk.response_id.encode(),
                    home=lambda chunk: (CHUNKS, chunk.response_id.encode()),
                    one_record_per_fold=True,
                )
            },
            wake_at=self._sequencer.wake_at,
            on_timer=self._on_timer,
            timer_at=lambda key, payload: self._due_at(_codec_of(key).decode(payload, key)),
            batch_records=self._settings.batch_records,
            decided_by=self._settings.chosen(*DECIDING),
        )

    def _fold(self, before: ResponseState | None, run: Run[ReceivedChunk], work: Work) -> ResponseState | None:
        ((chunk, record),) = run.items
        now = record.timestamp / 1000
        said: tuple[SeenElement, ...] = ()
        if before is None:
            said = self._known(_memory_key(chunk), record.offset, now, work)
        self._log.begin(chunk.conversation_id)
        done = self._sequencer.push(before, chunk, now, said)
        work.count("response_characters_total", by=len(chunk.text))
        self._publish(run.key, done, work, (record, chunk))
        self._remember(_memory_key(chunk), done.said, run.next_offset, now, work)
        return done.state

    def _on_timer(self, key: bytes, context: TimerContext, work: Work) -> None:
        """Release what was held for long enough, go on without lost chunks, close silent responses.

        Two calls for each: the first stores the time, the second does what was due then.  What goes out thus
        follows from what is stored: the runtime lets nothing leave that comes after a timer's call before the
        call's changes are confirmed.
        """
        # What the clock has seen pass may still be unread.
        now = context.now if context.caught_up else min(context.now, context.log_time)
        value: Memory | ResponseState | None = work.get(key, _codec_of(key))
        if value is None:
            return
        if (due := self._due_at(value)) > now:
            work.wake(key, max(due, context.now + min(context.now - now, _LOOK_AGAIN_SECONDS)))
        elif not isinstance(value, ResponseState):
            work.remove(key)
        elif value.clock is None:
            work.put(key, self._sequencer.note(value, now), STATE)
        else:
            self._log.begin(value.conversation_id)
            done = self._sequencer.tick(value, value.clock)
            self._publish(key, done, work)
            self._remember(_memory_key(value), done.said, 0, value.clock, work)
            if done.state is None:
                work.remove(key)
            else:
                work.put(key, done.state, STATE)

    def _due_at(self, value: Memory | ResponseState) -> float:
        """Return when the timer has something to do: for a response, or when all of a memory is too old."""
        if isinstance(value, ResponseState):
            return self._sequencer.wake_at(value)
        return max(said.at for said in value) + self._settings.response_memory_seconds

    def _publish(
        self, key: bytes, done: Sequenced, work: Work, current: tuple[SourceRecord, ReceivedChunk] | None = None
    ) -> None:
        """Send what a step gave, count it, and tell of it; ``current``: the chunk that made it."""
        cause = cloudevents.incoming(current[0].headers) if current is not None else None
        about = key.decode()
        for chunk in done.chunks:
            emit(work, chunk, f"{about}/{chunk.sequence}", topic=RESPONSES, cause=cause)
        for event in done.duplicates:
            emit(work, event, event.event_id, time=event.timestamp, cause=cause)
        for late in done.late:
            if current is not None and late is current[1]:
                error = InvalidRecord("late_chunk", "the response went on, or ended, without this chunk")
                work.dead_letter(current[0], error)
            else:
                why = [("dlq_reason", b"late_chunk"), ("dlq_stage", b"responses")]
                work.forward(self._source + DLQ_SUFFIX, key, _encode(late), why)
        for metric, labels, n in counts_of(done):
            work.count(metric, *labels, by=n)
        for seconds in done.waited:
            work.observe("response_hold_seconds", seconds)
        self._log.tell(about, done)

    def _known(self, key: bytes, offset: int, now: float, work: Work) -> tuple[SeenElement, ...]:
        """Return the history for a response that begins at ``offset``."""
        since = now - self._settings.response_memory_seconds
        memory = work.get(key, MEMORY) if self._spans_conversation else None
        return tuple(each.said for each in memory or () if each.at > since and each.since <= offset)

    def _remember(self, key: bytes, said: tuple[SeenElement, ...], since: int, now: float, work: Work) -> None:
        """Add what a finished response said to its conversation's memory.

        What is too old to be known stays until the timer takes it all: a chunk that is read again after a crash
        may have known it.
        """
        if not self._spans_conversation or not said:
            return
        before = work.get(key, MEMORY) or ()
        new = tuple(Remembered(each, since, now) for each in (START, *said))
        if set(before).issuperset(new):  # its end is read again after a crash
            return
        after = (*before, *new)[-ELEMENTS_MOST:]
        # Before any response: one whose end is stored is not read again, and what it said would be forgotten.
        work.put(key, after, MEMORY, first=True)
        work.wake(key, self._due_at(after))


def _memory_key(of: ResponseChunk | ResponseState) -> bytes:
    """Return the key of the memory of a conversation; no id holds what parts a tenant's from its name."""
    tenant = "" if of.tenant_id == DEFAULT_TENANT else f"{of.tenant_id}\x1f"
    return _MEMORY_MARK + (tenant + of.conversation_id).encode()


def _codec_of(key: bytes) -> Codec[Any]:
    return MEMORY if key.startswith(_MEMORY_MARK) else STATE
