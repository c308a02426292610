"""respond/responses: response chunks in, the same without repeated sentences out (seed 003).

State per response: :class:`processors.responses.sequence.ResponseState`.  With a conversation-wide memory the
chunks first pass :mod:`streams.agents.respond.routing`, which sends all responses of a conversation to one
partition; what the conversation has said is then kept beside its responses.

Chunks that are read again after a crash must give what they gave before, number by number.  What depends on
the log alone does; for what the clock does see :meth:`Responses.on_timer`, for what one response takes over
from another see :class:`_Said`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from models.errors import InvalidRecord
from models.responses import ResponseChunk
from processors.responses.duplicates import Match, find_duplicate
from processors.responses.filter import ResponseFilter
from processors.responses.filter_state import EXACT_MEMORY, Detection, FilterPolicy
from processors.responses.sequence import (
    ResponseSequencer,
    ResponseState,
    Sequenced,
    decode_state,
    encode_state,
)
from streams import cloudevents
from streams.agents.respond.routing import CHUNKS, ROUTED, decode_chunk
from streams.runtime.deadletters import DLQ_SUFFIX
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader, TimerContext
from streams.settings import Settings

RESPONSES = "chat.responses.v1"
DUPLICATES = "chat.duplicates.v1"

#: Keys of what a conversation has said; no response id holds a control character.
_MEMORY_MARK = b"\x01"

#: Where the log lags behind the clock, timers are looked at again after the lag, but at least this often.
_LOOK_AGAIN_SECONDS = 1.0


class _Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A sentence that a response said (``at``, epoch seconds), known from offset ``since`` of the log on.

    A response takes over what was known at its first chunk.  When that is read again, its conversation may
    already remember what came later, its own sentences among them: those it must not take for repeated.
    """

    sentence: str
    since: int
    at: float = 0.0


Memory = tuple[_Said, ...]

_encode = msgspec.json.Encoder().encode
_encode_memory = msgspec.msgpack.Encoder().encode
_decode_memory = msgspec.msgpack.Decoder(Memory).decode
_SOURCE = "/switchboard/respond"


#: The settings that decide what is taken out of a response: those of the policy, and what it is compared with.
DECIDING = (
    "content_similarity_threshold",
    "duplicate_window_sentences",
    "max_hold_ms",
    "response_idle_seconds",
    "response_memory",
    "response_memory_seconds",
)


def policy_of(settings: Settings) -> FilterPolicy:
    """Return what the settings say about filtering responses."""
    return FilterPolicy(
        threshold=settings.content_similarity_threshold,
        window_sentences=settings.duplicate_window_sentences,
        hold_seconds=settings.max_hold_ms / 1000,
        idle_seconds=settings.response_idle_seconds,
    )


class Responses:
    """The filter's step and its timers.

    ``observe_latency`` takes the seconds that one comparison of a sentence took.
    """

    def __init__(self, settings: Settings, observe_latency: Callable[[float], None]) -> None:
        self._settings = settings
        self._spans_conversation = settings.response_memory == "conversation"
        self._source = ROUTED if self._spans_conversation else CHUNKS
        detection = Detection(find_duplicate=_timed(find_duplicate, observe_latency))
        self._sequencer = ResponseSequencer(ResponseFilter(policy_of(settings), detection))

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="responses",
            sources=(self._source,),
            table="responses",
            step=self.step,
            on_timer=self.on_timer,
            timer_at=self._timer_at,
            batch_records=self._settings.batch_records,
            decided_by=self._settings.chosen(*DECIDING),
        )

    def _timer_at(self, key: bytes, payload: bytes) -> float:
        if key.startswith(_MEMORY_MARK):
            return self._forgotten_at(_decode_memory(payload))
        return self._sequencer.wake_at(decode_state(payload))

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Put the chunks of each response in order and filter them."""
        effects = Effects()
        known: dict[bytes, ResponseState | None] = {}
        memory: dict[bytes, Memory] = {}
        next_offsets: dict[bytes, int] = {}
        for record in batch.records:
            try:
                chunk = decode_chunk(record, None if self._spans_conversation else record.key)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            key = chunk.response_id.encode()
            if record.key is None:
                effects.forward(CHUNKS, key, record.value, record.headers)
                effects.count("misrouted_records_total", "responses", CHUNKS)
                continue
            folded_to, payload = state.read(key)
            if record.offset < folded_to:
                effects.count("skipped_records_total", "responses", "replayed")
                continue
            if key not in known:
                known[key] = decode_state(payload) if payload else None
            now = record.timestamp / 1000
            said: tuple[str, ...] = ()
            if known[key] is None:
                memories = self._memory(chunk.conversation_id, state, memory)
                said = tuple(
                    each.sentence for each in self._still_known(memories, now) if each.since <= record.offset
                )
            done = self._sequencer.push(known[key], chunk, now, said)
            known[key] = done.state
            next_offsets[key] = record.offset + 1
            effects.count("response_characters_total", by=len(chunk.text))
            self._publish(key, done, effects, (record, chunk))
            self._remember(chunk.conversation_id, done.said, (record.offset + 1, now), state, memory, effects)
        for key, next_offset in next_offsets.items():
            self._store(key, known[key], next_offset, effects)
        return effects

    def on_timer(self, keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
        """Release what was held for long enough, go on without lost chunks, close silent responses.

        Two calls for each: the first stores the time, the second does what was due then.  What goes out thus
        follows from what is stored: the runtime lets nothing leave that comes after a timer's call before the
        call's changes are confirmed.
        """
        effects = Effects()
        memory: dict[bytes, Memory] = {}
        # What the clock has seen pass may still be unread.
        now = context.now if context.caught_up else min(context.now, context.log_time)
        for key in keys:
            _, payload = state.read(key)
            if payload is None:
                continue
            due = self._timer_at(key, payload)
            if due > now:
                again = context.now + min(context.now - now, _LOOK_AGAIN_SECONDS)
                effects.wake(key, max(due, again))
            elif key.startswith(_MEMORY_MARK):
                if key not in memory:  # else a response has just added to it
                    self._store(key, None, None, effects)
            elif (before := decode_state(payload)).clock is None:
                self._store(key, self._sequencer.note(before, now), None, effects)
            else:
                done = self._sequencer.tick(before, before.clock)
                self._publish(key, done, effects)
                self._remember(before.conversation_id, done.said, (0, before.clock), state, memory, effects)
                self._store(key, done.state, None, effects)
        return effects

    def _publish(
        self,
        key: bytes,
        done: Sequenced,
        effects: Effects,
        current: tuple[SourceRecord, ResponseChunk] | None = None,
    ) -> None:
        cause = cloudevents.incoming(current[0].headers) if current is not None else None
        about = key.decode()
        for chunk in done.chunks:
            event_id = f"{about}/{chunk.sequence}"
            headers = cloudevents.outgoing("chat.response.v1", _SOURCE, event_id, subject=about, cause=cause)
            effects.emit(RESPONSES, key, _encode(chunk), headers)
        for duplicate in done.duplicates:
            headers = cloudevents.outgoing(
                "chat.duplicate.v1",
                _SOURCE,
                duplicate.event_id,
                subject=about,
                time=duplicate.timestamp,
                cause=cause,
            )
            effects.emit(DUPLICATES, key, _encode(duplicate), headers)
        for late in done.late:
            if current is not None and late is current[1]:
                effects.dead_letter(
                    current[0],
                    InvalidRecord("late_chunk", "the response went on, or ended, without this chunk"),
                )
            else:
                why = [("dlq_reason", b"late_chunk"), ("dlq_stage", b"responses")]
                effects.forward(self._source + DLQ_SUFFIX, key, _encode(late), why)
        self._count(done, effects)

    @staticmethod
    def _count(done: Sequenced, effects: Effects) -> None:
        for metric, n in (
            ("content_duplicates_detected_total", len(done.duplicates)),
            ("content_detection_errors_total", done.errors),
            ("response_held_characters_total", done.held),
        ):
            if n:
                effects.count(metric, by=n)
        for kind, n in (
            ("repeated", done.repeated),
            ("missing", done.missing),
            ("late", len(done.late)),
            ("silent", int(done.silent)),
        ):
            if n:
                effects.count("response_irregularities_total", kind, by=n)
        for seconds in done.waited:
            effects.observe("response_hold_seconds", seconds)

    def _store(
        self, key: bytes, after: ResponseState | None, next_offset: int | None, effects: Effects
    ) -> None:
        if after is None:
            effects.remove(key)
            effects.wake(key, None)
        else:
            effects.store(key, encode_state(after), next_offset)
            effects.wake(key, self._sequencer.wake_at(after))

    def _memory(self, conversation_id: str, state: StateReader, memory: dict[bytes, Memory]) -> Memory:
        if not self._spans_conversation:
            return ()
        name = _MEMORY_MARK + conversation_id.encode()
        if name not in memory:
            _, payload = state.read(name)
            memory[name] = _decode_memory(payload) if payload else ()
        return memory[name]

    def _still_known(self, memory: Memory, now: float) -> list[_Said]:
        return [said for said in memory if now < said.at + self._settings.response_memory_seconds]

    def _forgotten_at(self, memory: Memory) -> float:
        return max(said.at for said in memory) + self._settings.response_memory_seconds

    def _remember(
        self,
        conversation_id: str,
        said: Iterable[str],
        since_and_now: tuple[int, float],
        state: StateReader,
        memory: dict[bytes, Memory],
        effects: Effects,
    ) -> None:
        """Add what a finished response said to its conversation's memory.

        What is too old to be known stays until the timer takes it all: a chunk that is read again after a crash
        may have known it.
        """
        if not self._spans_conversation or not said:
            return
        since, now = since_and_now
        before = self._memory(conversation_id, state, memory)
        known = {said.sentence for said in self._still_known(before, now)}
        new = tuple(_Said(sentence, since, now) for sentence in dict.fromkeys(said) if sentence not in known)
        if not new:
            return
        name = _MEMORY_MARK + conversation_id.encode()
        memory[name] = (*before, *new)[-EXACT_MEMORY:]
        effects.store(name, _encode_memory(memory[name]))
        effects.wake(name, self._forgotten_at(memory[name]))


def _timed(
    find: Callable[[str, Iterable[str], float], Match | None], observe: Callable[[float], None]
) -> Callable[[str, Iterable[str], float], Match | None]:
    def timed(sentence: str, remembered: Iterable[str], threshold: float) -> Match | None:
        began = time.perf_counter()
        try:
            return find(sentence, remembered, threshold)
        finally:
            observe(time.perf_counter() - began)

    return timed
