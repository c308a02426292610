"""Comparison of a generation with the live one: which facts and summaries it has, lacks, or has otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from aiokafka import TopicPartition

from streams.admin.topics.digest_reading import read_digests
from streams.admin.topics.digests import (
    PartitionDigests,
    Recipe,
    combined,
    difference,
    differing_fields,
    merged,
)
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.records import SourceRecord
from streams.clients.topics import FACTS, SUMMARIES
from streams.config.settings import Settings

#: Fields of a fact that follow from the order in which its evidence came.
_HISTORY = frozenset({"changes", "change", "confidence"})

#: Fields of evidence and changes that name the windows in which something was read.
_WINDOWS = frozenset({"window_id", "window_end_id"})

#: What a comparison reads.
COMPARED = (FACTS, SUMMARIES)

#: How many examples are shown of each kind of difference.
EXAMPLES = 10

#: A longer text is cut in an example.
_LONGEST = 200

Place = tuple[int, int]

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Example(msgspec.Struct, frozen=True):
    """A difference: the key, what each generation says, and the fields that differ."""

    key: str
    live: str = ""
    replayed: str = ""
    fields: list[str] = []


class Differences(msgspec.Struct, frozen=True):
    """Counts of one kind: only in the generation (created), only live (removed), different in both.

    ``traced``: only what it is traced to differs: the windows that were read, or the order of its evidence with
    the history that follows from it.  ``changed``: anything else.
    """

    created: int
    removed: int
    changed: int
    traced: int
    examples: dict[str, list[Example]]


class Compared(msgspec.Struct, frozen=True):
    """A topic in both generations: keys and digests, and the differences by kind.

    ``equal``: the digests are.  ``same``: nothing differs but what facts are traced to.
    """

    topic: str
    equal: bool
    same: bool
    live_keys: int
    replayed_keys: int
    live_digest: str
    replayed_digest: str
    kinds: dict[str, Differences]


async def compare(
    live: Settings, replayed: Settings, contract: str, tell: Callable[[str], None] = lambda _: None
) -> Compared:
    """Compare a topic of both generations, key by key, without the fields in which they may differ.

    Raises:
        NotFound: one of them does not exist.  DependencyUnavailable: the broker does not answer.
    """
    recipe = Recipe(catalog_for(live).get(contract))
    sides = [
        await read_digests(
            settings,
            catalog_for(settings).name(contract),
            recipe,
            lambda read, total: tell(f"{contract}, {read:,} of {total:,}"),
        )
        for settings in (live, replayed)
    ]
    partitions = len(sides[1])
    wanted = _Wanted(*sides)
    if len(sides[0]) != partitions:  # a digest of all of it, whichever partition it lies in
        sides = [[merged(side)] for side in sides]
    live_digest, replayed_digest = (combined(combined(each.buckets()) for each in side) for side in sides)
    live_keys, replayed_keys = (sum(len(each.rows()) for each in side) for side in sides)
    equal = not any(wanted.live) and not any(wanted.replayed)
    found = DifferenceCounter(wanted.changed)
    live_name, replayed_name = catalog_for(live).name(contract), catalog_for(replayed).name(contract)
    await _read_again(replayed, replayed_name, recipe, wanted.replayed, found.note_replayed)
    await _read_again(live, live_name, recipe, wanted.live, found.note_live)
    await _read_again(replayed, replayed_name, recipe, found.shown(partitions), found.show)
    kinds = found.kinds()
    same = not any(each.created or each.removed or each.changed for each in kinds.values())
    return Compared(contract, equal, same, live_keys, replayed_keys, live_digest, replayed_digest, kinds)


class _Wanted:
    """Offsets of the records that differ by partition, and the live record that each changed one stands for."""

    def __init__(self, live: Sequence[PartitionDigests], replayed: Sequence[PartitionDigests]) -> None:
        self.live: list[set[int]] = [set() for _ in live]
        self.replayed: list[set[int]] = [set() for _ in replayed]
        self.changed: dict[Place, Place] = {}
        # With as many partitions a key is in the same one: less is held in memory than of all together.
        pairs = [(live, replayed, 0)]
        if len(live) == len(replayed):
            pairs = [([live[n]], [replayed[n]], n) for n in range(len(live))]
        for ours, theirs, begin in pairs:
            differs = difference(merged(ours), merged(theirs))

            def place(offset: int, among: Sequence[PartitionDigests], begin: int = begin) -> Place:
                return begin + offset % len(among), offset // len(among)

            self.changed |= {place(second, theirs): place(first, ours) for first, second in differs.changed}
            for first in (*differs.only_first, *(first for first, _ in differs.changed)):
                number, offset = place(first, ours)
                self.live[number].add(offset)
            for second in (*differs.only_second, *(second for _, second in differs.changed)):
                number, offset = place(second, theirs)
                self.replayed[number].add(offset)


class DifferenceCounter:
    """Differences by kind, counted; a few of each are kept as examples.

    ``changed``: of the records that both have otherwise, the place of the live one by that of the other.  First
    all differing records of the generation are noted, then the live ones, then those that are shown.
    """

    def __init__(self, changed: Mapping[Place, Place]) -> None:
        self._changed = changed
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], list[Example]] = {}
        #: By the place of the live record: that of the other, its kind, and what it says.
        self._replayed: dict[Place, tuple[Place, str, RecordDigest]] = {}
        #: Of examples of changes, by the place of the generation's record: kind, key and live value.
        self._shown: dict[Place, tuple[str, str, Any]] = {}
        self._shown_of: Counter[str] = Counter()

    def note_replayed(self, place: Place, key: str, value: Any) -> None:
        """Take a record that only the generation has, or has otherwise."""
        if (live_place := self._changed.get(place)) is None:
            self._add("created", kind_of(value), Example(key, replayed=text_of(value)))
        else:
            self._replayed[live_place] = place, kind_of(value), digest_of(value)

    def note_live(self, place: Place, key: str, value: Any) -> None:
        """Take a record that only the live generation has, or has otherwise."""
        if place not in self._replayed:
            self._add("removed", kind_of(value), Example(key, live=text_of(value)))
            return
        replayed_place, kind, said = self._replayed.pop(place)
        if said.is_as(digest_of(value)):
            self._counts["traced", kind] += 1
            return
        self._counts["changed", kind] += 1
        if self._shown_of[kind] < EXAMPLES:
            self._shown_of[kind] += 1
            self._shown[replayed_place] = kind, key, value

    def shown(self, partitions: int) -> list[set[int]]:
        """Return the offsets of the generation's records that are shown, by partition."""
        return [{offset for number, offset in self._shown if number == each} for each in range(partitions)]

    def show(self, place: Place, _: str, value: Any) -> None:
        """Keep a change as an example."""
        kind, key, live = self._shown[place]
        example = Example(key, text_of(live), text_of(value), differing_fields(live, value))
        self._examples.setdefault(("changed", kind), []).append(example)

    def _add(self, what: str, kind: str, example: Example) -> None:
        self._counts[what, kind] += 1
        examples = self._examples.setdefault((what, kind), [])
        if len(examples) < EXAMPLES:
            examples.append(example)

    def kinds(self) -> dict[str, Differences]:
        """Return the differences by kind."""
        return {
            kind: Differences(
                self._counts["created", kind],
                self._counts["removed", kind],
                self._counts["changed", kind],
                self._counts["traced", kind],
                {what: examples for (what, each), examples in self._examples.items() if each == kind},
            )
            for kind in sorted({kind for _, kind in self._counts})
        }


async def _read_again(
    settings: Settings,
    topic: str,
    recipe: Recipe,
    wanted: Sequence[Collection[int]],
    note: Callable[[Place, str, Any], None],
) -> None:
    """Hand the records at the offsets ``wanted`` (by partition) to ``note``, as compared."""
    places = [TopicPartition(topic, number) for number, offsets in enumerate(wanted) if offsets]
    if not places:
        return

    def take(record: SourceRecord) -> None:
        if record.offset in wanted[record.partition]:
            key, value = recipe.read(record)
            note((record.partition, record.offset), key, value)

    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        for place in places:
            consumer.seek(place, min(wanted[place.partition]))
        ends = {place: max(wanted[place.partition]) + 1 for place in places}
        async for record in broker.until(consumer, ends):
            take(record)


def kind_of(value: Any) -> str:
    """Return the kind of a fact; of anything else, what it is."""
    if not isinstance(value, Mapping):
        return "unreadable"
    return str(value.get("kind") or ("summary" if "summary" in value else "record"))


class RecordDigest(NamedTuple):
    """Hashes of what a record says (``content``), of the order of its evidence, and of the ``history`` of both.

    The conversations of one person lie in several partitions, and nothing orders these: which of two that say
    the same comes first, and with it the history of the fact, is another in each run.
    """

    content: bytes
    order: bytes
    history: bytes

    def is_as(self, other: RecordDigest) -> bool:
        """Return whether two records say the same: also with another history, if the order is another."""
        return self.content == other.content and (self.order != other.order or self.history == other.history)


def digest_of(value: Any) -> RecordDigest:
    """Return the hashes of a record, without the windows in which a fact was read."""
    if not isinstance(value, Mapping):
        return RecordDigest(_hashed(value), b"", b"")
    evidence, changes = (
        [{name: each[name] for name in each if name not in _WINDOWS} for each in value.get(field) or ()]
        for field in ("provenance", "changes")
    )
    content = {name: each for name, each in value.items() if name not in _HISTORY and name != "provenance"}
    return RecordDigest(
        _hashed([content, sorted(map(_encode, evidence))]),
        _hashed([evidence, [(each.get("message_id"), each.get("fact_id")) for each in changes]]),
        _hashed([changes, value.get("change"), value.get("confidence")]),
    )


def _hashed(value: Any) -> bytes:
    return blake2b(_encode(value), digest_size=16).digest()


def text_of(value: Any) -> str:
    """Return the text of a fact or a summary, in one line."""
    if not isinstance(value, Mapping):
        return ""
    summary = value.get("summary")
    if isinstance(summary, Mapping):
        parts = [str(each) for name in ("key_facts", "decisions", "todos") for each in summary.get(name) or ()]
        text = "; ".join(parts)
    else:
        text = f"{value.get('statement', '')} ({value.get('status', '')})"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
