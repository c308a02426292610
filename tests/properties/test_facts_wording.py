"""However an extractor words what it found: the slots hold the same, and read again it adds nothing."""

from __future__ import annotations

from random import Random

import msgspec
from fact_stories import Memory, Says, candidates, says
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import FactCandidate

STORIES = st.lists(says(("home", "like", "pet")), max_size=24)


def reworded(found: FactCandidate, chance: Random) -> FactCandidate:
    """The same claim in other words: what a model says that is asked the same a second time."""
    value, attribute, subject = found.value, found.attribute, found.subject
    value = chance.choice((value, value.upper(), f" {value}.", f"“{value}”", value.title()))
    if value and not value.lower().startswith(("a ", "the ", "“", " ")):
        value = chance.choice((value, f"the {value}"))
    return msgspec.structs.replace(
        found,
        value=value if found.value else "",
        attribute=chance.choice((attribute, attribute.upper())),
        subject=chance.choice((subject, subject.title())),
        statement=chance.choice((found.statement, f"Says: {found.statement}", "Something like that")),
    )


@given(STORIES, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=200)
def test_a_replay_in_other_words_changes_nothing(story: list[Says], chance: Random) -> None:
    stream = candidates(story)
    memory = Memory()
    for said in stream:
        memory.learn(said)
    for said in stream:
        assert memory.learn(reworded(said, chance)) == []
