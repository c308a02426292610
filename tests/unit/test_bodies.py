"""Bodies of messages: at hand, in pages, and gone."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
import samples

from models.windows import WindowMessage
from processors.conversations.bodies import Bodies
from processors.conversations.state import ConversationState, Kept

AT = datetime(2026, 3, 1, tzinfo=UTC)


def kept(index: int, user: str = "amara") -> Kept:
    said = samples.window_message(index, f"words {index}", at=AT, user_id=user)
    return Kept(100 + index, f"m{index}", msgspec.json.encode(said), 1.0 + index)


def bodies(first: int, last: int) -> Bodies:
    state = ConversationState(
        "default",
        "amara",
        last + 1,
        kept_from=first,
        kept=tuple(kept(index) for index in range(first, last + 1)),
    )
    return Bodies(state, lambda begins: pytest.fail(f"page {begins} was asked for"))


def test_of_one_person_the_words_go_and_everything_else_stays() -> None:
    found = bodies(0, 0)
    found.kept.append(kept(1, "bela"))
    before = list(found.kept)
    found.erase_words("amara")
    assert found.kept[1] == before[1]
    assert (found.kept[0].offset, found.kept[0].arrived_at) == (100, 1.0)
    empty, full = (msgspec.json.decode(each.body, type=WindowMessage) for each in (found.kept[0], before[0]))
    assert empty == msgspec.structs.replace(full, content="")
