"""A generation with more partitions: which topics grow, where erasures go, and how both are compared."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from streams.admin.topics.digests import PartitionDigests, difference, merged
from streams.clients.catalog import catalog_for
from streams.clients.partitioner import partition_of
from streams.config.settings import Settings, load_settings
from streams.server.replays.growing import growing, grown, places


def test_topics_copartitioned_with_shared_ones_keep_their_partitions() -> None:
    live = load_settings(partitions="chat.messages.v1=12,memory.turns.v1=6")
    replayed = load_settings(partitions=grown(live, 24), generation="b")
    before, after = catalog_for(live), catalog_for(replayed)
    for spec in before:
        number = 24 if spec.contract_name in growing(live) else spec.partitions
        assert after.partitions(spec.contract_name) == number, spec.contract_name
        if spec.shared:
            assert after.partitions(spec.contract_name) == spec.partitions
    for contract, count in (
        ("chat.messages.v1", 12),
        ("memory.summaries.v1", 12),
        ("switchboard-recall-turns-changelog", 12),
        ("memory.windows.v1", 24),
        ("memory.turns.v1", 24),
        ("memory.facts.v1", 24),
        ("switchboard-memory-facts-changelog", 24),
        ("memory.facts.v1.dlq", 24),
    ):
        assert after.partitions(contract) == count, contract


@pytest.mark.parametrize("partitions", [20, 8, 4])
def test_partitions_grow_to_multiples_only(partitions: int) -> None:
    with pytest.raises(ConfigurationError, match=r"have 8, and can grow to a multiple of that, such as 24"):
        grown(Settings(), partitions)


def test_an_erasure_is_put_where_its_person_may_be() -> None:
    for person in (b"ada", b"kwame", b"tomas"):
        assert partition_of(person, 24) in places(partition_of(person, 8), 8, 24)
    assert [len(places(number, 8, 24)) for number in range(8)] == [3] * 8


def side(partitions: int, values: dict[str, bytes]) -> list[PartitionDigests]:
    digests = [PartitionDigests() for _ in range(partitions)]
    for key, value in values.items():
        into = digests[partition_of(key.encode(), partitions)]
        into.add(key.encode().ljust(16), value.ljust(16), into.records)
    return digests


def test_generations_with_other_partitions_are_compared_by_key() -> None:
    values = {f"k{number}": b"a" for number in range(100)}
    changed = {**values, "k7": b"b"}
    del changed["k9"]
    assert difference(merged(side(8, values)), merged(side(24, values))) == ([], [], [])
    assert merged(side(8, values)).buckets() == merged(side(24, values)).buckets()
    differs = difference(merged(side(8, values)), merged(side(24, changed)))
    assert (len(differs.changed), len(differs.only_first), len(differs.only_second)) == (1, 1, 0)
    [(ours, theirs)] = differs.changed
    assert (ours % 8, theirs % 24) == (partition_of(b"k7", 8), partition_of(b"k7", 24))
    assert differs.only_first[0] % 8 == partition_of(b"k9", 8)
