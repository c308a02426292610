"""Keyed stages: grouping, marks, the order of what is stored, timers, and what a codec refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from models.errors import ConsistencyError, InvalidRecord
from streams.clients.records import Record, SourceRecord, origin, rerouted
from streams.runtime.codec import Codec
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage
from streams.runtime.testing import START, StageHarness

TEXTS: Codec[tuple[str, ...]] = Codec("texts", tuple[str, ...])
NOTE: Codec[str] = Codec("note", str)

ONE, TWO, OUT = "chat.messages.v1", "memory.summaries.v1", "memory.windows.v1"


def decode(record: SourceRecord) -> str:
    if record.value is None or record.value.startswith(b"!"):
        raise InvalidRecord("bad", "it begins with an exclamation mark")
    return record.value.decode()


class Texts:
    """Remembers what it was given, by key, and how it was called.  ``/text`` goes to the key ``text[0]``."""

    def __init__(self) -> None:
        self.runs: list[tuple[bytes, list[str]]] = []

    def fold(self, before: tuple[str, ...] | None, run: Run[str], work: Work) -> tuple[str, ...] | None:
        said = [text for text, _ in run.items]
        self.runs.append((run.key, said))
        if "forget" in said:
            return None
        if "nothing" in said:
            return before
        if "refuse" in said:
            raise InvalidRecord("refused", "it asks for it")
        work.emit(OUT, run.key, " ".join(said).encode())
        return (*(before or ()), *said)

    def stage(self, *, each: bool = False, **more: Any) -> Stage:
        sources: dict[str, Source[tuple[str, ...], str]] = {
            ONE: Source(
                decode=decode,
                fold=self.fold,
                home=lambda text: (ONE, text[:1].encode()),
                one_record_per_fold=each,
            ),
            TWO: Source(
                decode=decode, fold=self.fold, key=lambda text: text[:1].encode(), one_record_per_fold=each
            ),
        }
        return keyed_stage(name="texts", table="texts", codec=TEXTS, sources=sources, **more)


class Harness(StageHarness):
    def __init__(self, *, each: bool = False, **more: Any) -> None:
        self.texts = Texts()
        super().__init__(self.texts.stage(each=each, **more))

    def records(self, *said: str, source: str = ONE) -> list[Record]:
        """Records keyed by their first letter."""
        return [self.record(text.encode(), source, key=text[:1].encode()) for text in said]

    def stored(self) -> dict[bytes, tuple[str, ...]]:
        return {key: TEXTS.decode(payload) for key, payload in self.state.items()}

    def marks(self, key: bytes) -> list[int]:
        found = []
        for source_index in range(len(self.spec.sources)):
            self.state.source_index = source_index
            found.append(self.state.read(key)[0])
        return found


class TestRuns:
    def test_a_batch_is_grouped_by_key_in_log_order(self) -> None:
        harness = Harness()
        effects = harness.feed(*harness.records("b1", "a1", "b2", "a2", "b3"))
        assert harness.texts.runs == [(b"b", ["b1", "b2", "b3"]), (b"a", ["a1", "a2"])]
        assert harness.stored() == {b"b": ("b1", "b2", "b3"), b"a": ("a1", "a2")}
        assert {key: change.next_offset for key, change in effects.changes.items()} == {b"b": 5, b"a": 4}

    @pytest.mark.parametrize("each", [False, True])
    def test_what_was_folded_in_is_skipped_and_counted(self, each: bool) -> None:
        harness = Harness(each=each)
        records = harness.records("a1", "b1", "a2", "b2", "a3")
        harness.feed(*records[:3])
        effects = harness.feed(*records)
        assert harness.stored() == {b"a": ("a1", "a2", "a3"), b"b": ("b1", "b2")}
        assert effects.counts["skipped_records_total", ("texts", "replayed")] == 3

    @pytest.mark.parametrize("each", [False, True])
    def test_each_source_has_its_own_mark_and_key(self, each: bool) -> None:
        harness = Harness(each=each)
        harness.feed(*harness.records("a1", "a2"))
        harness.feed(harness.record(b"a3", TWO, key=b"of another kind", offset=70))
        assert harness.stored() == {b"a": ("a1", "a2", "a3")}
        assert harness.marks(b"a") == [2, 71]
        harness.feed(*harness.records("a4"))
        assert harness.marks(b"a") == [3, 71]

    @pytest.mark.parametrize("each", [False, True])
    def test_a_bad_record_is_dead_lettered_alone(self, each: bool) -> None:
        harness = Harness(each=each)
        records = harness.records("a1", "!", "a2")
        effects = harness.feed(*records)
        assert [(letter.record, letter.reason) for letter in effects.dead_letters] == [(records[1], "bad")]
        assert harness.stored() == {b"a": ("a1", "a2")}

    def test_what_a_fold_refuses_is_dead_lettered_alone(self) -> None:
        harness = Harness(each=True)
        harness.feed(harness.record(b"a1", key=b"a"), harness.record(b"refuse", key=b"a"))
        assert [letter.reason for letter in harness.last.dead_letters] == ["refused"]
        assert harness.stored() == {b"a": ("a1",)}

    @pytest.mark.parametrize("each", [False, True])
    def test_a_record_without_a_key_goes_where_it_belongs(self, each: bool) -> None:
        harness = Harness(each=each)
        record = harness.record(b"a1", headers=[("trace", b"1")])
        effects = harness.feed(record)
        (moved,) = effects.outputs
        assert (moved.topic, moved.key, moved.value, moved.headers) == (ONE, b"a", b"a1", rerouted(record))
        assert origin(moved.headers) == (f"{ONE}-{record.partition}", record.offset, record.timestamp)
        assert effects.counts["misrouted_records_total", ("texts", ONE)] == 1
        assert harness.stored() == {}

    @pytest.mark.parametrize("each", [False, True])
    def test_a_mark_keeps_a_removal_from_being_folded_again(self, each: bool) -> None:
        harness = Harness(each=each)
        records = [*harness.records("a1", "a2"), harness.record(b"forget", key=b"a")]
        harness.feed(records[0])
        harness.feed(*records[1:])
        assert harness.stored() == {}
        harness.recover()
        effects = harness.feed(*records)
        assert harness.stored() == {}
        assert effects.counts["skipped_records_total", ("texts", "replayed")] == 3


class TestWork:
    def work(self) -> Work:
        return Work("texts", StageHarness(Texts().stage()).state)

    def test_first_writes_of_both_halves_precede_their_dependents(self) -> None:
        halves = self.work(), self.work()
        for number, half in enumerate(halves):
            half.put(b"state %d" % number, ("1",), TEXTS)
            half.put(b"page", f"{number}", NOTE, first=True)
            half.put(b"once first", "x", NOTE, first=not number)
            half.flush()
        halves[0].absorb(halves[1])
        assert [*halves[0].changes] == [b"page", b"state 0", b"state 1", b"once first"]
        assert NOTE.decode(halves[0].changes[b"page"].payload or b"") == "1"

    def test_a_key_stays_behind_the_one_that_it_rests_on(self) -> None:
        halves = self.work(), self.work()
        for half, keys in zip(halves, (b"ba", b"cb"), strict=True):
            for key in keys:
                half.put(bytes([key]), ("1",), TEXTS)
            half.write_behind(bytes([keys[1]]), bytes([keys[0]]))
            half.flush()
        halves[0].absorb(halves[1])
        assert [*halves[0].changes] == [b"c", b"b", b"a"]

    def test_keys_that_rest_on_each_other_are_both_stored(self) -> None:
        work = self.work()
        for key, other in ((b"a", b"b"), (b"b", b"a")):
            work.put(key, ("1",), TEXTS)
            work.write_behind(key, other)
        work.flush()
        assert {*work.changes} == {b"a", b"b"}

    def test_last_writes_stay_last_whatever_changes(self) -> None:
        halves = self.work(), self.work()
        for half in halves:
            half.put(b"done", "x", NOTE, last=True)
            half.put(b"once done", "x", NOTE, last=half is halves[0])
            half.put(b"state", ("1",), TEXTS)
            half.remove(b"gone")
            half.flush()
            half.put(b"page", "x", NOTE, first=True)
            half.put(b"state", ("2",), TEXTS)
            half.flush()
        once_done = [b"done", b"once done"]
        assert [*halves[0].changes] == [b"page", b"gone", b"state", *once_done]
        halves[0].absorb(halves[1])
        assert [*halves[0].changes] == [b"page", b"once done", b"gone", b"state", b"done"]
        halves[0].remove(b"done")
        halves[0].put(b"other", "x", NOTE)
        halves[0].flush()
        assert halves[0].last == set()

    def test_keys_with_a_text_and_changed_keys_are_found(self) -> None:
        harness = Harness()
        harness.feed(*harness.records("a needle", "b hay", "c hay"))
        work = Work("texts", harness.state)
        assert work.holding(b"needle") == [b"a"]
        assert sorted(work.holding(b"hay")) == [b"b", b"c"]
        work.put(b"a", ("hay",), TEXTS)
        work.put(b"early", "x", NOTE, first=True)
        work.store(b"b", TEXTS.encode(("hay",)))
        assert sorted(work.holding(b"needle")) == [b"a", b"b", b"early"]


class TestTimers:
    HOUR = 3600.0

    def due(self, state: Sequence[str]) -> float | None:
        return START.timestamp() + self.HOUR * len(state) if "never" not in state else None

    def harness(self) -> Harness:
        return Harness(wake_at=self.due, on_timer=lambda key, context, work: None)

    def test_what_is_stored_sets_the_timer(self) -> None:
        harness = self.harness()
        harness.feed(*harness.records("a1", "a2", "b1"), harness.record(b"never", key=b"c"))
        at = START.timestamp()
        assert harness.last.timers == {b"a": at + 2 * self.HOUR, b"b": at + self.HOUR, b"c": None}

    def test_timers_survive_a_restart(self) -> None:
        harness = self.harness()
        harness.feed(*harness.records("a1", "a2"))
        timer_at = harness.spec.timer_at
        assert timer_at is not None
        assert {key: timer_at(key, payload) for key, payload in harness.state.items()} == harness.last.timers


def test_an_unencodable_value_is_the_record_s_fault() -> None:
    class Number(msgspec.Struct):
        n: int

    codec = Codec("number", Number)
    sources = {ONE: Source(decode=decode, fold=lambda before, run, work: Number(2**70))}
    harness = StageHarness(keyed_stage(name="numbers", table="texts", codec=codec, sources=sources))
    with pytest.raises(OverflowError):
        harness.feed(harness.record(b"a", key=b"a"))


def older(body: bytes) -> str:
    return body.decode()


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "it is empty"),
        (b"\x03\xa1a", "it has format 3, and this program reads 1 and 2"),
        (b"\x02\x01", "ValidationError: Expected `str`, got `int`"),
    ],
)
def test_unreadable_records_are_named_with_key_and_advice(payload: bytes, why: str) -> None:
    codec = Codec("text", str, version=2, older={1: older})
    with pytest.raises(ConsistencyError, match=rf"b'ada' cannot be read: {why}.*state reset"):
        codec.decode(payload, b"ada")
