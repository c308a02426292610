"""respond/responses: response chunks in, the same without repeated sentences out (seed 003).

State per response: :class:`processors.response_sequence.ResponseState`.  With a conversation-wide memory the
chunks first pass :class:`ChunkRouting`, which sends all responses of a conversation to one partition; what
the conversation has said is then kept beside its responses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from models.errors import InvalidRecord
from models.responses import ResponseChunk
from processors.duplicates import Match, find_duplicate
from processors.response_filter import EXACT_MEMORY, Detection, FilterPolicy, ResponseFilter
from processors.response_sequence import (
    ResponseSequencer,
    ResponseState,
    Sequenced,
    decode_state,
    encode_state,
)
from processors.validation import decode
from streams import cloudevents
from streams.runtime.deadletters import DLQ_SUFFIX
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader, TimerContext
from streams.settings import Settings

CHUNKS = "chat.response-chunks.v1"
ROUTED = "respond.routed-chunks.v1"
RESPONSES = "chat.responses.v1"
DUPLICATES = "chat.duplicates.v1"

#: Keys of what a conversation has said; no response id begins with a control character.
_MEMORY_MARK = b"\x01"

_encode = msgspec.json.Encoder().encode
_encode_memory = msgspec.msgpack.Encoder().encode
_decode_memory = msgspec.msgpack.Decoder(tuple[str, ...]).decode
_SOURCE = "/switchboard/respond"


def policy_of(settings: Settings) -> FilterPolicy:
    """Return what the settings say about filtering responses."""
    return FilterPolicy(
        threshold=settings.content_similarity_threshold,
        window_sentences=settings.duplicate_window_sentences,
        hold_seconds=settings.max_hold_ms / 1000,
        idle_seconds=settings.response_idle_seconds,
    )


class ChunkRouting:
    """The stage before the filter when its memory spans a conversation: chunks re-keyed by conversation."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="routing", sources=(CHUNKS,), step=self.step, batch_records=self._settings.batch_records
        )

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Send every chunk, as it is, to its conversation's partition."""
        effects = Effects()
        for record in batch.records:
            try:
                chunk = _decode_chunk(record, record.key)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
            else:
                effects.emit(ROUTED, chunk.conversation_id.encode(), record.value, record.headers)
        return effects


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
        )

    def _timer_at(self, key: bytes, payload: bytes) -> float | None:
        if key.startswith(_MEMORY_MARK):
            return None
        return self._sequencer.wake_at(decode_state(payload))

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Put the chunks of each response in order and filter them."""
        effects = Effects()
        known: dict[bytes, ResponseState | None] = {}
        memory: dict[bytes, tuple[str, ...]] = {}
        next_offsets: dict[bytes, int] = {}
        for record in batch.records:
            try:
                chunk = _decode_chunk(record, None if self._spans_conversation else record.key)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            key = chunk.response_id.encode()
            if record.key is None:
                effects.emit(CHUNKS, key, record.value, record.headers)
                effects.count("misrouted_records_total", "responses", CHUNKS)
                continue
            folded_to, payload = state.read(key)
            if record.offset < folded_to:
                effects.count("skipped_records_total", "responses", "replayed")
                continue
            if key not in known:
                known[key] = decode_state(payload) if payload else None
            now = record.timestamp / 1000
            said = self._said(chunk.conversation_id, state, memory) if known[key] is None else ()
            done = self._sequencer.push(known[key], chunk, now, said)
            known[key] = done.state
            next_offsets[key] = record.offset + 1
            effects.count("response_characters_total", by=len(chunk.text))
            self._publish(key, done, effects, (record, chunk))
            self._remember(chunk.conversation_id, done.said, state, memory, effects)
        for key, next_offset in next_offsets.items():
            self._store(key, known[key], next_offset, effects)
        return effects

    def on_timer(self, keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
        """Release what was held for long enough, go on without lost chunks, close silent responses."""
        effects = Effects()
        memory: dict[bytes, tuple[str, ...]] = {}
        for key in keys:
            _, payload = state.read(key)
            if payload is None:
                continue
            before = decode_state(payload)
            done = self._sequencer.tick(before, context.now)
            self._publish(key, done, effects)
            self._remember(before.conversation_id, done.said, state, memory, effects)
            self._store(key, done.state, None, effects)
        return effects

    def _publish(
        self,
        key: bytes,
        done: Sequenced,
        effects: Effects,
        current: tuple[SourceRecord, ResponseChunk] | None = None,
    ) -> None:
        for chunk in done.chunks:
            event_id = f"{chunk.response_id}/{chunk.sequence}"
            effects.emit(
                RESPONSES, key, _encode(chunk), cloudevents.outgoing("chat.response.v1", _SOURCE, event_id)
            )
        for duplicate in done.duplicates:
            effects.emit(
                DUPLICATES,
                key,
                _encode(duplicate),
                cloudevents.outgoing("chat.duplicate.v1", _SOURCE, duplicate.event_id),
            )
        for late in done.late:
            if current is not None and late is current[1]:
                effects.dead_letter(
                    current[0],
                    InvalidRecord("late_chunk", "the response went on, or ended, without this chunk"),
                )
            else:
                why = [("dlq_reason", b"late_chunk"), ("dlq_stage", b"responses")]
                effects.emit(self._source + DLQ_SUFFIX, key, _encode(late), why)
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

    def _said(
        self, conversation_id: str, state: StateReader, memory: dict[bytes, tuple[str, ...]]
    ) -> tuple[str, ...]:
        if not self._spans_conversation:
            return ()
        name = _MEMORY_MARK + conversation_id.encode()
        if name not in memory:
            _, payload = state.read(name)
            memory[name] = _decode_memory(payload) if payload else ()
        return memory[name]

    def _remember(
        self,
        conversation_id: str,
        said: Iterable[str],
        state: StateReader,
        memory: dict[bytes, tuple[str, ...]],
        effects: Effects,
    ) -> None:
        """Add what a finished response said to its conversation's memory."""
        if not self._spans_conversation or not said:
            return
        before = self._said(conversation_id, state, memory)
        name = _MEMORY_MARK + conversation_id.encode()
        memory[name] = tuple(dict.fromkeys((*before, *said)))[-EXACT_MEMORY:]
        effects.store(name, _encode_memory(memory[name]))


def _decode_chunk(record: SourceRecord, key: bytes | None) -> ResponseChunk:
    chunk = decode(ResponseChunk, record.value)
    if key is not None and key != chunk.response_id.encode():
        raise InvalidRecord(
            "key_mismatch", "the record's key differs from response_id in its value: they must be equal"
        )
    return chunk


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
