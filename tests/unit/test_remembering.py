"""Episodes as a context offers them: with the turns of theirs that bear on what was just said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import samples

from models.context import FoundBy
from models.messages import Role
from processors.retrieval.context.ranking import Candidate
from processors.retrieval.context.remembering import FoundEpisode, remembered

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def candidate(name: str, similarity: float, text: str = "", role: Role | None = Role.USER) -> Candidate:
    return Candidate(
        id=name,
        text=text or f"said in {name}",
        found_by=FoundBy.MEANING,
        similarity=similarity,
        at=NOON,
        role=role,
        message_ids=(f"m-{name}",),
        conversation_id="c",
    )


def episode(name: str, *turns: str, similarity: float = 0.5) -> FoundEpisode:
    told = [samples.turn(n, turn_id=each, message_id=f"m-{each}") for n, each in enumerate(turns)]
    made = samples.episode(*told, episode_id=name, text="all of it")
    return FoundEpisode(
        made,
        msgspec.structs.replace(candidate(name, similarity, "all of it", None), message_ids=made.message_ids),
    )


def test_a_turn_of_two_episodes_is_shown_once() -> None:
    turns = [candidate("a", 0.8), candidate("open", 0.7)]
    found = remembered(
        turns, [episode("later", "a", "c", similarity=0.4), episode("first", "a", similarity=0.6)]
    )
    assert {each.id: each.text for each in found} == {
        "first": "said in a",
        "later": "all of it",
        "open": "said in open",
    }


def test_an_episode_offers_when_who_and_how() -> None:
    turns = [
        msgspec.structs.replace(
            candidate("a", 0.6), at=NOON + timedelta(days=2), words=("tea", "milk"), speaker="Ada"
        ),
        msgspec.structs.replace(
            candidate("b", 0.9),
            at=NOON + timedelta(days=1),
            words=("milk",),
            speaker="Ada",
            found_by=FoundBy.WORDS,
        ),
    ]
    (found,) = remembered(turns, [episode("e", "a", "b")])
    assert (found.at, found.words, found.speaker) == (NOON + timedelta(days=1), ("tea", "milk"), "Ada")
    assert (found.found_by, found.cut) == (FoundBy.WORDS, True)
    turns[1] = msgspec.structs.replace(turns[1], speaker="Eve", similarity=0.4)
    (found,) = remembered(turns, [episode("e", "a", "b", similarity=0.7)])
    assert (found.text, found.speaker, found.role) == ("Ada: said in a … Eve: said in b", "", None)
    assert found.found_by is FoundBy.MEANING, "the episode itself was nearest"
