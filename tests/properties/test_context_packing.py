"""Packing a context: never above the budget, the same in any order, and nothing is dropped without a word."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import msgspec
from context_samples import NOW, candidate, context_of
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import turn

from models.context import FoundBy, LeftOut, Tier
from processors.retrieval.context.adding import lacks, with_notes
from processors.retrieval.context.packing import Budget, Packed, Packer
from processors.retrieval.context.ranking import Candidate, ranked
from processors.retrieval.context.wording import HEADINGS, prompt
from streams.llm.tokenizer import cl100k_counter

COUNT = cl100k_counter()

texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["yes", "word " * 60, "a b c d e", "line\nline\n\n", "1234567890" * 30, "🫐明日" * 40, "\n", ""]
    ),
)


@st.composite
def sets(draw: st.DrawFn, prefix: str) -> list[Candidate]:
    drawn = draw(st.lists(st.tuples(texts, st.floats(0, 1), st.floats(0, 1), st.integers(0, 900)), max_size=12))
    return [
        candidate(f"{prefix}{number}", text, similarity, confidence=sure, at=NOW - timedelta(days=days))
        for number, (text, similarity, sure, days) in enumerate(drawn)
    ]


budgets = st.builds(
    Budget,
    total=st.integers(0, 2000),
    recent=st.integers(0, 600),
    tools=st.integers(0, 400),
    standing=st.floats(0, 1),
    least=st.integers(0, 120),
    fewest=st.integers(0, 5),
    recent_turns=st.integers(0, 6),
)


@settings(max_examples=150)
@given(
    st.lists(texts, max_size=8),
    sets("i"),
    sets("f"),
    sets("e"),
    sets("t"),
    sets("l"),
    budgets,
    st.randoms(use_true_random=False),
)
def test_a_packed_context(
    said: list[str],
    instructions: list[Candidate],
    facts: list[Candidate],
    episodes: list[Candidate],
    tools: list[Candidate],
    lasting: list[Candidate],
    budget: Budget,
    chance: Random,
) -> None:
    turns = [turn(index, text) for index, text in enumerate(said)]

    def packed() -> Packed:
        return Packer(budget, COUNT).pack(
            turns,
            *[ranked(each, NOW) for each in (instructions, facts, episodes, tools, lasting)],
        )

    first = packed()
    assert first.tokens <= budget.total
    assert first.tokens == sum(use.tokens for use in first.tiers)
    assert COUNT(prompt(context_of(first, budget.total))) <= first.tokens
    for use in first.tiers:
        inside = [item for item in first.items if item.tier is use.tier and item.left_out is None]
        assert use.tokens <= use.limit
        assert use.items == len(inside)
        assert use.tokens == (sum(item.tokens for item in inside) + COUNT(HEADINGS[use.tier]) if inside else 0)

    # Everything that was found is there once, in or left out.
    given_ids = [each.turn_id for each in turns] + [
        each.id for some in (instructions, facts, episodes, tools, lasting) for each in some
    ]
    assert sorted(item.id for item in first.items) == sorted(given_ids)
    standing = {item.id for item in first.items}
    for item in first.items:
        if item.left_out is LeftOut.LIKE_ANOTHER:
            assert item.like in standing

    # Standing notes keep to their share; an ordinary fact that is out did not fit.
    _, _, told, known, _ = first.tiers
    assert told.tokens <= budget.total * budget.standing
    for item in first.items:
        if item.tier is Tier.FACTS and item.left_out in (LeftOut.NO_ROOM, LeftOut.TOO_LARGE):
            assert item.tokens > known.limit - (known.tokens or COUNT(HEADINGS[Tier.FACTS]))

    for some in (turns, instructions, facts, episodes, tools, lasting):
        chance.shuffle(some)  # type: ignore[arg-type]
    assert packed() == first


@settings(max_examples=100)
@given(
    st.lists(texts, max_size=8),
    sets("i"),
    sets("f"),
    sets("e"),
    sets("l"),
    st.integers(0, 2000),
    st.integers(0, 3),
)
def test_a_context_with_notes_that_are_known_since(
    said: list[str],
    instructions: list[Candidate],
    facts: list[Candidate],
    episodes: list[Candidate],
    lasting: list[Candidate],
    total: int,
    known: int,
) -> None:
    turns = [turn(index, text) for index, text in enumerate(said)]
    told = [msgspec.structs.replace(each, found_by=FoundBy.KIND) for each in instructions]
    stand = [msgspec.structs.replace(each, found_by=FoundBy.KIND, lasting=True) for each in lasting]
    packed = Packer(Budget(total=total), COUNT).pack(
        turns, *[ranked(each, NOW) for each in (told[:known], facts, episodes, (), stand[:known])]
    )
    before = context_of(packed, total)
    after = with_notes(before, [*told, *stand], NOW, COUNT)
    assert after.tokens == sum(use.tokens for use in after.tiers) <= total
    assert COUNT(prompt(after)) <= after.tokens
    assert not lacks(after, [each.id for each in (*told, *stand)])
    assert [item for item in after.items if item.tier is Tier.RECENT] == [
        item for item in before.items if item.tier is Tier.RECENT
    ]
    ids = [item.id for item in after.items]
    assert len({*ids}) == len(ids)
    missing = {item.id for item in before.items} - {*ids}
    assert {item.tier for item in before.items if item.id in missing} <= {Tier.EPISODES}, "told by a note now"
    for use in after.tiers:
        inside = [item for item in after.items if item.tier is use.tier and item.left_out is None]
        outside = [item for item in after.items if item.tier is use.tier and item.left_out is not None]
        assert (use.items, use.left_out) == (len(inside), len(outside))
        assert use.tokens <= use.limit
