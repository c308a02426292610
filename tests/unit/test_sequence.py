"""The sequencer: which messages count, and at which index."""

from __future__ import annotations

import pytest
import samples

from models.messages import ChatMessage
from processors.conversations.sequence import Sequencer, SequenceState

DAY = 86_400.0


def message(name: str, tenant: str = "default") -> ChatMessage:
    whose = {"user_id": f"user of {name}", "tenant_id": tenant}
    return samples.message(0, name, message_id=name, metadata={"name": name.upper()}, **whose)


def sequencer(state: SequenceState | None = None) -> Sequencer:
    return Sequencer(state or SequenceState(), 2 * DAY, lambda page: pytest.fail(f"{page} was asked for"))


def placed(
    found: Sequencer, *run: tuple[str, int, float], idle: float | None = None
) -> list[tuple[int, str | None]]:
    said = [(message(name), offset, arrived) for name, offset, arrived in run]
    return [(index, each and each.message_id) for index, each, _, _ in found.place(said, idle)]


def test_messages_count_from_0_and_a_repeat_does_not_count() -> None:
    found = sequencer()
    assert placed(found, ("a", 5, 1.0), ("b", 6, 2.0), ("a", 7, 3.0), ("c", 9, 4.0)) == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
    ]
    assert (found.duplicates, found.next_index, found.arrived_at) == (1, 3, 4.0)
    assert (found.tenant_id, found.user_id) == ("default", "user of a")


def test_another_tenant_is_a_stranger() -> None:
    found = sequencer()
    run = [(message("a"), 0, 1.0), (message("x", "other"), 1, 2.0), (message("b"), 2, 3.0)]
    assert [index for index, *_ in found.place(run)] == [0, 1]
    assert found.strangers == [1]
    assert found.next_index == 2


def test_nothing_is_kept_of_what_was_forgotten() -> None:
    found = sequencer()
    placed(found, ("a", 0, 1000.0))
    found.forget(1000.0 + 2 * DAY)
    assert found.changed
    assert found.state() is None


def test_a_silence_is_reported_before_what_ends_it() -> None:
    found = sequencer()
    run = [("a", 0, 3 * DAY), ("b", 1, 3 * DAY + 600), ("b", 2, 3 * DAY + 1300), ("c", 3, 3 * DAY + 1301)]
    assert placed(found, *run, idle=600) == [
        (0, None),
        (0, "a"),
        (1, None),
        (1, "b"),
        (2, None),
        (2, None),
        (2, "c"),
    ]


def test_copies_of_a_partition_come_in_its_order() -> None:
    found = sequencer()
    assert not found.is_second_copy("t-1", 4, 10.0, 11.0)
    assert found.is_second_copy("t-1", 4, 10.0, 12.0)
    assert found.is_second_copy("t-1", 3, 9.0, 12.0)
    assert not found.is_second_copy("t-2", 0, 9.0, 12.0)
    assert found.copied == (("t-1", 5), ("t-2", 1))
    assert found.is_second_copy("t-3", 0, 9.0, 9.0 + 2 * DAY), (
        "it may have been copied before all was forgotten"
    )
    assert found.changed
    state = found.state()
    assert state is not None
    assert state.arrived_at == 12.0, "or what the first copy says would be forgotten with it"
    assert sequencer(state).is_second_copy("t-1", 4, 10.0, 13.0)


def test_what_arrives_late_does_not_set_the_clock_back() -> None:
    found = sequencer()
    placed(found, ("a", 1, 9.0), ("b", 2, 4.0))
    assert found.arrived_at == 9.0


def test_erased_items_neither_count_nor_are_reread() -> None:
    found = sequencer()
    placed(found, ("a", 1, 1.0), ("b", 2, 2.0))
    assert found.erase("default", "", 3, 5.0)
    assert (found.next_index, found.arrived_at, found.strangers) == (0, 5.0, [])
    assert found.changed and found.erased == (("", 5.0),)
    assert placed(found, ("a", 1, 1.0), ("c", 4, 5.0), ("d", 5, 6.0)) == [(0, "d")]
    assert found.duplicates == 2


def test_a_table_that_knows_only_an_erasure_is_kept() -> None:
    found = sequencer()
    assert found.erase("default", "", 1, 5.0)
    kept = found.state()
    assert kept == SequenceState("default", arrived_at=5.0, erased=(("", 5.0),))
    assert sequencer(kept).erase("other", "", 2, 6.0), "nobody's yet: nothing was said"
    found = sequencer()
    placed(found, ("a", 1, 1.0))
    found.changed = False
    assert not found.erase("other", "", 2, 6.0)
    assert found.strangers == [2] and not found.changed and not found.erased
