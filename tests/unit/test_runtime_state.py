"""State: what a stored value says of itself, what recovery makes of a changelog, what a step may read."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConsistencyError
from streams.clients.catalog import load_catalog
from streams.clients.records import Record
from streams.runtime import table as table_module
from streams.runtime.effects import StateChange
from streams.runtime.faust_internals import TP, Table
from streams.runtime.faust_table import StateTable
from streams.runtime.marks import Layout
from streams.runtime.state_memory import StateMemory
from streams.runtime.stored import GONE, StoredPartition
from streams.runtime.table import LATE_WRITES_SECONDS, NoState, PartitionState

ONE, TWO = ("messages",), ("messages", "summaries")


def sealed(payload: bytes | None, *offsets: int, term: int = 1) -> bytes:
    """A value of ``ONE`` or ``TWO`` sources, as there are offsets, with these marks."""
    layout, value = Layout(TWO[: len(offsets)]), None
    for index, offset in enumerate(offsets):
        value = layout.seal(value, payload, index, offset, term)
    assert value is not None
    return value


class TestLayout:
    def test_a_value_carries_its_marks_and_its_term(self) -> None:
        layout = Layout(TWO)
        first = layout.seal(None, b"a", 0, 7, 3)
        second = layout.seal(first, b"b", 1, 3, 4)
        assert [layout.next_offset(second, source) for source in (0, 1)] == [7, 3]
        assert (layout.term(first), layout.term(second)) == (3, 4)
        assert (layout.payload(first), layout.payload(second)) == (b"a", b"b")

    def test_a_timer_leaves_the_marks_alone(self) -> None:
        layout = Layout(ONE)
        value = layout.seal(sealed(b"a", 7), b"b", 0, None, 1)
        assert (layout.next_offset(value, 0), layout.payload(value)) == (7, b"b")
        assert layout.next_offset(layout.seal(None, b"b", 0, None), 0) == 0

    def test_a_removal_keeps_the_marks(self) -> None:
        layout = Layout(TWO)
        value = layout.seal(sealed(b"a", 7, 8), None, 1, 9, 5)
        assert layout.is_removal(value)
        assert layout.payload(value) is None
        assert ([layout.next_offset(value, n) for n in (0, 1)], layout.term(value)) == ([7, 9], 5)
        again = layout.seal(value, b"", 0, None, 5)
        assert not layout.is_removal(again)
        assert layout.payload(again) == b"", "stored and empty is not removed"
        assert [layout.next_offset(again, n) for n in (0, 1)] == [7, 9]

    @pytest.mark.parametrize("offsets", [(7,), (7, 0)])
    def test_a_mark_never_moves_back(self, offsets: tuple[int, ...]) -> None:
        value = sealed(b"a", *offsets)
        with pytest.raises(ValueError, match="cannot move back to 6"):
            Layout(TWO[: len(offsets)]).seal(value, b"b", 0, 6)

    def test_sources_that_cannot_be_told_apart_are_refused(self) -> None:
        with pytest.raises(ValueError, match="distinguished"):
            Layout(("messages", "messages"))
        with pytest.raises(ValueError, match="distinguished"):
            Layout(())
        Layout([str(number) for number in range(255)])
        with pytest.raises(ValueError, match="distinguished"):
            Layout([str(number) for number in range(256)])

    @pytest.mark.parametrize("sources", [1, 2])
    @pytest.mark.parametrize("highest", [2, 2**16, 2**63])
    def test_stale_is_a_lower_term_or_behind_and_nowhere_ahead(self, sources: int, highest: int) -> None:
        layout = Layout(TWO[:sources])
        marks = [*product((highest - 2, highest - 1, highest), repeat=sources)]
        values = [(term, value, sealed(b"x", *value, term=term)) for term in (255, 256) for value in marks]
        for (term, mine, present), (other_term, theirs, candidate) in product(values, repeat=2):
            pairs = [*zip(theirs, mine, strict=True)]
            behind = all(o <= c for o, c in pairs) and any(o < c for o, c in pairs)
            expected = other_term < term or (other_term == term and behind)
            assert layout.is_stale(candidate, present) is expected, (other_term, theirs, term, mine)


class TestFormats:
    def test_format_1(self) -> None:
        value = bytes.fromhex("0100015463622000000002000000000000012c7061796c6f6164")
        layout = Layout(("chat.messages.v1",))
        assert layout.adopt(value) == value
        assert (layout.term(value), layout.next_offset(value, 0), layout.payload(value)) == (2, 300, b"payload")
        assert layout.seal(None, b"payload", 0, 300, 2) == value

    def test_format_0_is_marks_alone(self) -> None:
        layout = Layout(TWO)
        value = layout.adopt(bytes.fromhex("000000000000012c00000000000000057061796c6f6164"))
        assert (layout.term(value), layout.payload(value)) == (0, b"payload")
        assert [layout.next_offset(value, n) for n in (0, 1)] == [300, 5]

    def test_format_0_may_say_that_there_is_nothing(self) -> None:
        layout = Layout(TWO)
        value = layout.adopt(bytes.fromhex("000000000000012c0000000000000005"))
        assert (layout.payload(value), layout.next_offset(value, 0)) == (b"", 300)

    def test_sources_in_another_order_keep_their_marks(self) -> None:
        value = sealed(b"p", 300, 5, term=9)
        turned = Layout(("summaries", "messages"))
        adopted = turned.adopt(value)
        assert [turned.next_offset(adopted, n) for n in (0, 1)] == [5, 300]
        assert (turned.term(adopted), turned.payload(adopted)) == (9, b"p")

    def test_a_new_source_folds_nothing_and_removals_stay(self) -> None:
        more = Layout(("commands", "messages"))
        adopted = more.adopt(sealed(b"p", 300))
        assert [more.next_offset(adopted, n) for n in (0, 1)] == [0, 300]
        assert more.is_removal(more.adopt(sealed(None, 300)))

    def test_a_source_s_read_position_is_not_silently_lost(self) -> None:
        with pytest.raises(ConsistencyError, match="also read another topic than messages"):
            Layout(ONE).adopt(sealed(b"p", 300, 5))
        assert Layout(ONE).payload(Layout(ONE).adopt(sealed(b"p", 300, 0))) == b"p", "nothing of it was read"

    @pytest.mark.parametrize(
        "value", ["", "01", "0100", "ff000154636220", "010201", "000000000000", "010001ffffffff00"]
    )
    def test_what_no_version_wrote_is_refused(self, value: str) -> None:
        with pytest.raises(ConsistencyError):
            Layout(("chat.messages.v1",)).adopt(bytes.fromhex(value))

    @pytest.mark.parametrize("begins", [b"\x02\x00", b"\x02\x01", b"\x01\x02", b"\xff\xff"])
    def test_a_later_version_is_not_guessed_at(self, begins: bytes) -> None:
        with pytest.raises(ConsistencyError, match="no version wrote"):
            Layout(ONE).adopt(begins + sealed(b"p", 300)[2:])

    @pytest.mark.parametrize("payload", [b"p", None])
    def test_what_is_cut_off_in_its_marks_is_refused(self, payload: bytes | None) -> None:
        """Read as it is, a good record that meets it would be taken for the bad one."""
        whole = sealed(None if payload is None else b"", 300)
        with pytest.raises(ConsistencyError, match="shorter than its marks"):
            Layout(ONE).adopt(whole[:-1])


def changelog(*values: tuple[bytes, bytes | None]) -> list[Record]:
    return [Record(value, key, offset) for offset, (key, value) in enumerate(values)]


def stored(*values: tuple[bytes, bytes | None], sources: tuple[str, ...] = ONE) -> StoredPartition:
    partition = StoredPartition(sources)
    partition.fold(changelog(*values))
    return partition


class TestStoredPartition:
    def test_the_last_value_wins(self) -> None:
        old, new = sealed(b"1", 5), sealed(b"2", 9)
        partition = stored((b"k", old), (b"k", new))
        assert partition.values == {b"k": new}
        assert (partition.stale, partition.repairs) == (0, set())

    @pytest.mark.parametrize(
        ("new", "late"),
        [
            (sealed(b"new", 9), sealed(b"late", 5)),
            (sealed(b"new", 5, term=2), sealed(b"late", 9)),
            (sealed(None, 9), sealed(b"late", 5)),
            (sealed(b"new", 9), sealed(None, 5)),
            (sealed(b"new", 9), None),
        ],
    )
    def test_a_zombies_late_write_is_ignored_and_to_be_repaired(self, new: bytes, late: bytes | None) -> None:
        partition = stored((b"k", new), (b"k", late))
        assert partition.values == {b"k": new}
        assert (partition.stale, partition.repairs) == (1, {b"k"})

    @pytest.mark.parametrize("first", ["ours", "theirs"])
    def test_of_two_that_read_different_sources_the_later_owners_counts(self, first: str) -> None:
        """It reads again from its commit what the other one read; nobody reads again what it read itself."""
        theirs, ours = sealed(b"theirs", 7, 0, term=1), sealed(b"ours", 0, 5, term=2)
        order = [(b"k", ours), (b"k", theirs)]
        partition = stored(*(order if first == "ours" else order[::-1]), sources=TWO)
        assert partition.values == {b"k": ours}

    def test_what_was_written_again_behind_it_needs_no_repair(self) -> None:
        new, late = sealed(b"new", 9), sealed(b"late", 5)
        assert stored((b"k", new), (b"k", late), (b"k", new)).repairs == set()
        assert stored((b"k", new), (b"k", late), (b"other", new)).repairs == {b"k"}

    def test_an_equal_mark_is_a_timers_write_and_wins(self) -> None:
        one, two = sealed(b"open", 9), sealed(b"flushed", 9)
        assert stored((b"k", one), (b"k", two)).values == {b"k": two}

    def test_every_late_write_is_counted(self) -> None:
        partition = stored((b"k", sealed(b"new", 7, term=2)))
        partition.fold(changelog((b"k", sealed(b"late", 3)), (b"k", sealed(b"later", 4))))
        assert partition.stale == 2

    def test_a_tombstone_of_format_0_removes(self) -> None:
        assert stored((b"k", bytes(8) + b"1"), (b"k", None)).values == {}

    def test_every_late_tombstone_is_counted(self) -> None:
        partition = StoredPartition(ONE)
        partition.fold(changelog((b"a", sealed(b"v", 1)), (b"b", sealed(b"v", 1)), (b"a", None), (b"b", None)))
        assert (partition.stale, partition.repairs) == (2, {b"a", b"b"})

    def test_what_is_removed_needs_no_repair(self) -> None:
        partition = StoredPartition(ONE)
        partition.fold(changelog((b"k", sealed(None, 7, term=2)), (b"k", sealed(b"late", 3, term=1))))
        assert partition.repairs == {b"k"}
        partition.fold(changelog((b"k", None)))
        assert (partition.values, partition.repairs) == ({}, set())

    def test_a_tombstone_ends_a_removal(self) -> None:
        partition = stored((b"k", sealed(b"1", 5)), (b"k", sealed(None, 6)), (b"k", None), (b"never", None))
        assert (partition.values, partition.removed, partition.repairs) == ({}, set(), set())

    def test_what_is_removed_is_known_until_it_is_stored_again(self) -> None:
        partition = stored((b"k", sealed(b"1", 5)), (b"k", sealed(None, 6)))
        assert partition.removed == {b"k"}
        partition.fold([Record(sealed(b"2", 7), b"k")])
        assert partition.removed == set()

    def test_an_owner_goes_before_all_that_were_there(self) -> None:
        partition = stored((b"a", sealed(b"", 1, term=4)), (b"b", sealed(b"", 1, term=2)))
        partition.begin_term()
        assert partition.term == 5
        partition.begin_term()
        assert partition.term == 6

    def test_own_writes_need_no_reading_unless_another_wrote(self) -> None:
        partition = stored()
        partition.wrote(0, 5)
        assert partition.read_to == 5
        partition.wrote(7, 2)
        assert partition.read_to == 5

    def test_the_highest_mark(self) -> None:
        assert stored().highest_mark(0) == 0
        partition = stored((b"a", sealed(b"", 300, 4)), (b"b", sealed(None, 255, 9)), sources=TWO)
        assert (partition.highest_mark(0), partition.highest_mark(1)) == (300, 9)

    @given(st.data())
    def test_owners_values_return_and_survive_compaction(self, data: Any) -> None:
        """Owners follow one another; of each, some writes come only when the next one writes already."""
        keys, log, late = [b"a", b"b"], [], []
        mine: dict[bytes, bytes] = {}
        offset = 0
        for term in range(1, data.draw(st.integers(2, 4)) + 1):
            state = StoredPartition(ONE)
            state.fold(changelog(*log))
            repairs = [(key, state.values[key]) for key in state.repairs]
            log += repairs
            state.begin_term()
            mine = {}
            writes = data.draw(st.lists(st.tuples(st.sampled_from(keys), st.booleans()), max_size=6))
            own = []
            for key, removes in writes:
                offset += 1
                before = mine.get(key, state.values.get(key))
                payload = None if removes else b"%d" % offset
                mine[key] = Layout(ONE).seal(before, payload, 0, offset, state.term)
                own.append((key, mine[key]))
            # What the one before left in its sockets comes in its own order, anywhere among these.
            places = sorted(
                data.draw(st.lists(st.integers(0, len(own)), min_size=len(late), max_size=len(late)))
            )
            merged = list(own)
            for shift, (place, write) in enumerate(zip(places, late, strict=True)):
                merged.insert(place + shift, write)
            split = data.draw(st.integers(0, len(own)))
            # The last ones of this owner may themselves be late.
            if term < 4 and own[split:] and not late:
                log += own[:split]
                late = own[split:]
                mine = {}
            else:
                log += merged
                late = []
        recovered = StoredPartition(ONE)
        recovered.fold(changelog(*log))
        for key, value in mine.items():
            assert recovered.values[key] == value
        repaired = log + [(key, recovered.values[key]) for key in recovered.repairs]
        compacted = list({key: (key, value) for key, value in repaired}.values())
        again = StoredPartition(ONE)
        again.fold(changelog(*compacted))
        assert again.values == recovered.values
        assert again.repairs == set()


class TestPartitionState:
    def test_an_unconfirmed_value_does_not_survive_the_epoch(self) -> None:
        partition = stored()
        PartitionState(partition).store({b"k": StateChange(b"1", 1)})
        assert PartitionState(partition).read(b"k") == (0, None)

    def test_what_is_stored_carries_the_owners_term(self) -> None:
        partition = stored((b"k", sealed(b"old", 1, term=7)))
        partition.begin_term()
        (value,) = PartitionState(partition).store({b"k": StateChange(b"new", 2)}).values()
        assert partition.layout.term(value) == 8

    def test_the_mark_is_that_of_the_batchs_source(self) -> None:
        state = PartitionState(stored(sources=TWO))
        state.source_index = 1
        state.store({b"k": StateChange(b"new", 2)})
        assert state.read(b"k")[0] == 2
        state.source_index = 0
        assert state.read(b"k")[0] == 0

    @given(st.data())
    def test_a_step_reads_what_it_last_stored_however_confirmations_lag(self, data: Any) -> None:
        partition, plain, in_flight = stored(), {}, []
        state = PartitionState(partition)
        for number in range(data.draw(st.integers(1, 12))):
            if in_flight and data.draw(st.booleans()):
                state.confirm(in_flight.pop(0))
            else:
                key = data.draw(st.sampled_from([b"a", b"b"]))
                plain[key] = data.draw(st.sampled_from([None, b"%d" % number]))
                in_flight.append(state.store({key: StateChange(plain[key], None)}))
            assert {key: state.read(key)[1] for key in plain} == plain
            assert dict(state.items()) == {key: value for key, value in plain.items() if value is not None}
        for values in in_flight:
            state.confirm(values)
        assert {key: partition.layout.payload(value) for key, value in partition.values.items()} == plain
        assert partition.removed == {key for key, value in plain.items() if value is None}


class TestLettingGo:
    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [1000.0]
        monkeypatch.setattr(table_module.time, "monotonic", lambda: now[0])
        return now

    def removals(self, count: int) -> StoredPartition:
        partition = stored(*((b"%d" % number, sealed(None, 1)) for number in range(count)))
        partition.ours_since = 1000.0
        return partition

    def test_removed_keys_stay_while_an_earlier_owner_may_still_write(self, clock: list[float]) -> None:
        partition = self.removals(3)
        state = PartitionState(partition)
        clock[0] += LATE_WRITES_SECONDS - 1
        assert state.purge(10) == {}
        clock[0] += 1
        values = state.purge(2)
        assert list(values.values()) == [GONE, GONE]
        rest = state.purge(2)
        assert values.keys() | rest.keys() == {b"0", b"1", b"2"}
        assert state.purge(2) == {}
        state.confirm(values)
        state.confirm(rest)
        assert (partition.values, partition.removed) == ({}, set())

    def test_compaction_keeps_for_as_long_what_recovery_must_see(self) -> None:
        for spec in load_catalog().all():
            if spec.is_changelog:
                assert (spec.min_compaction_lag_ms or 0) >= LATE_WRITES_SECONDS * 1000, spec.name

    def test_a_key_that_is_being_stored_again_is_not_purged(self, clock: list[float]) -> None:
        partition = self.removals(1)
        state = PartitionState(partition)
        again = state.store({b"0": StateChange(b"new", 2)})
        clock[0] += LATE_WRITES_SECONDS
        assert state.purge(10) == {}
        state.confirm(again)
        assert state.purge(10) == {}

    def test_a_key_that_is_stored_while_it_goes_stays_stored(self, clock: list[float]) -> None:
        partition = self.removals(1)
        state = PartitionState(partition)
        clock[0] += LATE_WRITES_SECONDS
        going = state.purge(10)
        again = state.store({b"0": StateChange(b"new", 2)})
        state.confirm(going)
        assert state.read(b"0") == (2, b"new")
        state.confirm(again)
        assert partition.values == again

    def test_a_key_removed_in_this_epoch_goes_each_time(self, clock: list[float]) -> None:
        partition = self.removals(0)
        state = PartitionState(partition)
        clock[0] += LATE_WRITES_SECONDS
        for _ in range(2):
            state.confirm(state.store({b"k": StateChange(None, None)}))
            going = state.purge(10)
            assert going == {b"k": GONE}
            state.confirm(going)
            assert partition.values == {}
            assert not state._going, "a key that is gone takes no room"
        state.confirm(going)
        assert partition.values == {}, "a key that is not there may be let go of"

    def test_what_was_not_confirmed_is_purged_in_the_next_epoch(self, clock: list[float]) -> None:
        partition = self.removals(1)
        clock[0] += LATE_WRITES_SECONDS
        assert PartitionState(partition).purge(10) == PartitionState(partition).purge(10) == {b"0": GONE}


class TestNoState:
    def test_a_stage_without_a_table_cannot_store(self) -> None:
        with pytest.raises(TypeError, match=r"Stage\.table"):
            NoState().store({b"k": StateChange(b"v", 1)})
        with pytest.raises(TypeError, match="nothing to confirm"):
            NoState().confirm({b"k": b"v"})
        with pytest.raises(TypeError, match="no changelog"):
            NoState().wrote(0, 1)

    def test_it_reads_nothing(self) -> None:
        state = NoState()
        assert state.store({}) == {}
        state.confirm({})
        assert (state.read(b"k"), list(state.items()), state.purge(5)) == ((0, None), [], {})


class BareTable(StateTable):
    """A table without a Faust app under it, whose changelog is ``c``."""

    changelog_topic_name = "c"

    def __init__(self) -> None:
        self.sources = ("s",)
        self._memory = StateMemory()
        self._partitions = {}


class TestTable:
    async def test_only_what_is_no_longer_ours_is_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[Any] = []

        async def by_faust(self: Any, *what: Any) -> None:
            told.extend(what)

        monkeypatch.setattr(Table, "on_rebalance", by_faust)
        table = BareTable()
        lost, kept = table.partition(2), table.partition(3)
        assert table.partition(3) is kept
        assigned, revoked, new = {TP("c", 3), TP("c", 4), TP("other", 2)}, {TP("c", 2)}, {TP("c", 4)}
        await table.on_rebalance(assigned, revoked, new, 8)
        assert told == [assigned, revoked, new, 8], "Faust has books of its own"
        assert table.partition(3) is kept
        assert [*table._memory._values.values()] == [kept.values], "of what is lost nothing is kept in memory"
        assert table.partition(2) is not lost, "somebody else may have written to it meanwhile"
