"""What an index keeps of the items that it has read."""

from __future__ import annotations

from uuid import uuid4

import msgspec

from streams.stores.kept_items import KeptItems


class Note(msgspec.Struct, frozen=True):
    text: str


def kept(count: int, **options: int) -> tuple[KeptItems[Note], list[int]]:
    items, points = KeptItems(Note, **options), [uuid4().int for _ in range(count)]
    for number, point in enumerate(points):
        items.put(point, Note(f"note {number}"))
    return items, points


def test_what_was_used_longest_ago_makes_room() -> None:
    items, points = kept(3)
    whole = items.size
    items, points = kept(3, most_bytes=whole)
    assert items.get(points[0]) is not None
    new = uuid4().int
    items.put(new, Note("note 3"))
    assert [items.get(each) is not None for each in (*points, new)] == [True, False, True, True]
    assert items.size == whole
