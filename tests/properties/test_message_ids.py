"""Messages count once, at any size, whatever is sent again; ids are what ``uuid.uuid5`` makes of them."""

from __future__ import annotations

from random import Random
from uuid import uuid5

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models import ids
from processors.conversations.message_ids import CHUNK_IDS, ID_HASH_BYTES, PAGE_IDS, IdPage, MessageIds

#: Most bytes that a page or the state may hold: what is written with one message must not grow with all.
LONGEST = PAGE_IDS * ID_HASH_BYTES


class Stored:
    """A conversation's ids as its changelog has them."""

    def __init__(self) -> None:
        self.latest, self.paged = b"", 0
        self.pages: dict[IdPage, bytes] = {}

    def take(self, ids: list[str], *, crash: bool = False) -> list[str]:
        """Take a run of ids; return the new ones.  ``crash``: what it stores is lost but for its pages."""
        known = MessageIds(self.latest, self.paged, self.pages.__getitem__)
        new = [each for each in ids if known.add(each)]
        known.settle()
        self.pages |= {name: page for name, page in known.pages.items() if page is not None}
        assert len(known.latest) < CHUNK_IDS * ID_HASH_BYTES
        if crash:
            return []
        self.latest, self.paged = known.latest, known.paged
        for name in [name for name, page in known.pages.items() if page is None]:
            self.pages.pop(name, None)
        return new

    def forget(self) -> None:
        known = MessageIds(self.latest, self.paged, self.pages.__getitem__)
        known.clear()
        for name, page in known.pages.items():
            assert page is None
            del self.pages[name]
        self.latest, self.paged = known.latest, known.paged


@settings(max_examples=20, deadline=None)
@given(size=st.integers(1, 5000), cut=st.integers(1, 700), seed=st.integers(0, 2**32))
@example(size=5000, cut=5000, seed=0)
@example(size=129, cut=1, seed=0)
def test_each_id_counts_once_whatever_is_repeated(size: int, cut: int, seed: int) -> None:
    chance = Random(seed)
    ids = [f"m-{n}" for n in range(size)]
    sent = [*ids, *chance.choices(ids, k=size)]
    chance.shuffle(sent)
    stored, counted = Stored(), list[str]()
    while sent:
        run, sent = sent[:cut], sent[cut:]
        if chance.random() < 0.1:
            assert stored.take(run[: chance.randrange(1, cut + 1)], crash=True) == []
        counted += stored.take(run)
    assert sorted(counted) == sorted(ids)
    assert stored.take(ids) == []
    assert stored.paged + len(stored.latest) // ID_HASH_BYTES == size
    assert max(map(len, stored.pages.values()), default=0) <= LONGEST
    once = Stored()
    once.take(counted)
    assert (once.latest, once.paged) == (stored.latest, stored.paged), "it does not matter where a run ends"
    assert once.pages.items() <= stored.pages.items()
    stored.forget()
    assert stored.take(ids) == ids


def test_a_hash_that_lies_across_two_ids_is_no_repeat() -> None:
    stored = Stored()
    stored.take(["a"])
    hashed = stored.latest
    stored.latest = b"...." + hashed + b"...."
    assert stored.take(["a"]) == ["a"]
    assert stored.take(["a"]) == []
    stored.latest = b"...." + hashed + b"...." + hashed
    assert stored.take(["a"]) == [], "a later one is whole"


@pytest.mark.parametrize("beginning", [b"\0" * 6, b"\xff" * 6])
def test_hashes_that_begin_alike_make_no_longer_page(beginning: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "processors.conversations.message_ids.hash_of", lambda name: int(name).to_bytes(2, "big") + beginning
    )
    stored, ids = Stored(), [str(n) for n in range(20 * PAGE_IDS)]
    Random(3).shuffle(ids)
    for at in range(0, len(ids), 999):
        assert stored.take(ids[at : at + 999]) == ids[at : at + 999]
    assert stored.take(ids[::7]) == []
    assert max(map(len, stored.pages.values())) <= LONGEST


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.one_of(texts, st.integers()), min_size=1))
def test_an_id_is_the_uuid5_of_its_parts(parts: list[str | int]) -> None:
    assert ids.deterministic_id("kind", *parts) == str(
        uuid5(ids.NAMESPACE, "\x1f".join(["kind", *map(str, parts)]))
    )


@given(texts, texts, texts, texts, st.integers(min_value=0))
def test_the_id_of_a_window_is_made_like_any_other(
    tenant_id: str, conversation_id: str, first: str, last: str, overlap: int
) -> None:
    parts = (tenant_id, conversation_id, first, last, overlap)
    assert ids.window_id(*parts) == ids.deterministic_id("window", *parts)
