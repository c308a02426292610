"""Ids are what ``uuid.uuid5`` makes of their parts: made faster here, and never different."""

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from models import ids

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
