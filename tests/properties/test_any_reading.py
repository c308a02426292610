"""Whatever is said, reading it raises nothing, and a statement stands in the messages that it names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from models.messages import Role
from models.statements import attribute_of
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.reading import read_window

_SAID = datetime(2024, 5, 15, tzinfo=UTC)
_NAMES = (
    "I I'm I've my we don't never no longer used to love like hate prefer always only usually live in at from "
    "Berlin Rome sister dog vegan allergic to nuts was born went yesterday last week on 3 May tomorrow sorry "
    'especially except if that because and but , . ! ? " “ ” > - : ; … just kidding name is favourite '
    "find play set avoid restaurant music temperature please from now on answer too long you it the a with 19"
)
_TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_NAMES.split()), max_size=25).map(" ".join))
_TURNS = st.lists(
    st.tuples(st.sampled_from([Role.USER, Role.ASSISTANT, Role.TOOL]), _TEXTS), min_size=1, max_size=6
)


def _window(turns: list[tuple[Role, str]]) -> Window:
    messages = tuple(
        WindowMessage(
            message_id=f"m{n}",
            user_id="ada" if n % 3 else "bob",
            role=role,
            content=content,
            sent_at=_SAID + timedelta(minutes=n),
            arrived_at=_SAID,
            index=n,
            offset=n,
        )
        for n, (role, content) in enumerate(turns)
    )
    return Window(
        window_id="w",
        conversation_id="c",
        user_id="ada",
        reason=WindowReason.FULL,
        message_ids=tuple(message.message_id for message in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(topic="t", partition=0, first_offset=0, last_offset=len(messages) - 1),
    )


@given(_TURNS)
def test_statements_rest_on_what_was_said(turns: list[tuple[Role, str]]) -> None:
    window = _window(turns)
    by_id = {message.message_id: message for message in window.messages}
    for found in read_window(window):
        sources = [by_id[each] for each in found.source_message_ids]
        assert sources == sorted(sources, key=lambda message: message.index)
        assert all(any(line in each.content for each in sources) for line in found.quote.splitlines())
        assert found.user_id in {message.user_id for message in sources if message.role is Role.USER}
        assert found.statement and found.statement == found.statement.strip()
        assert 0 < found.confidence <= 1
        assert not found.attribute or attribute_of(found.attribute) is not None
        assert (found.event_at is None) == (found.event_precision is None)


@given(_TURNS)
def test_same_window_reads_the_same(turns: list[tuple[Role, str]]) -> None:
    assert read_window(_window(turns)) == read_window(_window(turns))
