"""Cutting conversations into episodes: where they end, what they say, what is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from models import ids
from models.episodes import Episode, EpisodeReason
from models.errors import ConfigurationError
from models.turns import Turn, TurnSource
from processors.conversations.windows import WindowSizes
from processors.episodes.fold import EpisodeFold
from processors.episodes.state import TURN_CHARACTERS, EpisodePolicy, EpisodesState, KeptTurn
from processors.episodes.wording import EMBEDDED_CHARACTERS, embedded_text

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SMALL = EpisodePolicy(WindowSizes(5, 2), idle_seconds=60)


def turn(index: int, **changes: Any) -> Turn:
    source = TurnSource(topic="chat.messages.v1", partition=5, offset=10 + index)
    return samples.turn(index, at=NOON, **({"text": f"turn {index}", "source": source} | changes))


def fold(state: EpisodesState | None = None, policy: EpisodePolicy = SMALL) -> EpisodeFold:
    return EpisodeFold("c", state or EpisodesState(), policy)


def add(into: EpisodeFold, *turns: Turn) -> None:
    for each in turns:
        into.add(each, each.arrived_at.timestamp())


def formed(of: EpisodeFold) -> list[Episode]:
    return [each.episode for each in of.take_formed()]


def spans(episodes: list[Episode]) -> list[tuple[int, int, int, str]]:
    return [(each.from_index, each.to_index, each.overlap, each.reason.value) for each in episodes]


def test_an_episode_says_who_spoke_when_and_what() -> None:
    folding = fold()
    add(
        folding,
        turn(0, speaker="Ada", text="I dream of Uji."),
        turn(1, text="  Tea?  "),
        turn(2, user_id="bob", speaker="Bob", sent_at=NOON - timedelta(seconds=9)),
        turn(3, text=" "),
        turn(4),
    )
    (episode,) = formed(folding)
    assert episode == Episode(
        episode_id=ids.episode_id("default", "c", "m0", "m4"),
        conversation_id="c",
        user_id="ada",
        reason=EpisodeReason.WINDOW,
        message_ids=("m0", "m1", "m2", "m3", "m4"),
        turn_ids=tuple(turn(index).turn_id for index in range(5)),
        text="Ada: I dream of Uji.\nassistant: Tea?\nBob: turn 2\nuser: turn 4",
        from_index=0,
        to_index=4,
        overlap=0,
        people=("ada", "bob"),
        speakers=("Ada", "Bob"),
        first_sent_at=NOON - timedelta(seconds=9),
        last_sent_at=NOON + timedelta(seconds=4),
        arrived_at=NOON + timedelta(seconds=4),
        began_at=NOON,
        source=episode.source,
    )
    assert (episode.source.partition, episode.source.first_offset, episode.source.last_offset) == (5, 10, 14)


def test_a_silence_ends_an_episode_by_either_clock() -> None:
    folding = fold()
    later = NOON + timedelta(seconds=61)
    add(folding, turn(0), turn(1, sent_at=later), turn(2, sent_at=later, arrived_at=later + timedelta(60)))
    assert spans(formed(folding)) == [(0, 0, 0, "idle"), (0, 1, 1, "idle")]


def test_a_punctuation_ends_what_was_silent_until_then() -> None:
    folding = fold()
    add(folding, turn(0), turn(1))
    folding.tick(NOON.timestamp() + 60.9)
    assert formed(folding) == []
    folding.tick(NOON.timestamp() + 61)
    folding.tick(NOON.timestamp() + 200)
    assert spans(formed(folding)) == [(0, 1, 0, "idle")]


def test_what_is_closed_ends_and_may_go_on() -> None:
    folding = fold()
    add(folding, turn(0))
    folding.close("acme")
    assert formed(folding) == []
    folding.close("default")
    folding.close("default")
    add(folding, turn(1))
    folding.close("default")
    assert spans(formed(folding)) == [(0, 0, 0, "closed"), (0, 1, 1, "closed")]


def test_an_erased_turn_is_left_out() -> None:
    folding = fold()
    add(folding, *map(turn, range(3)))
    folding.erase(turn(1).turn_id, NOON.timestamp())  # it arrived later than that
    folding.erase(turn(2).turn_id, NOON.timestamp() + 2)
    add(folding, turn(3), turn(4))
    (episode,) = formed(folding)
    assert episode.message_ids == ("m0", "m1", "m3", "m4")
    assert "turn 2" not in episode.text


@given(st.lists(st.integers(0, 3 * TURN_CHARACTERS), min_size=1, max_size=40))
def test_every_turn_has_its_share_of_what_is_embedded(lengths: list[int]) -> None:
    turns = [
        KeptTurn("", 0, n, "", "", "", "", "user", ("ab " * length)[:length].strip(), 0, 0, "", 0, n)
        for n, length in enumerate(lengths)
    ]
    embedded = embedded_text(turns)
    texts = [each.text for each in turns if each.text]
    assert len(embedded) <= EMBEDDED_CHARACTERS + len(texts)
    share = EMBEDDED_CHARACTERS // max(1, len(texts))
    lines = embedded.split("\n") if texts else []
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines, strict=True):
        assert text.startswith(line)
        assert len(line) >= min(len(text), share - 3)
    if sum(map(len, texts)) <= EMBEDDED_CHARACTERS:
        assert lines == texts


@pytest.mark.parametrize(("size", "overlap"), [(3, 3), (3, 4), (3, -1), (1, 0)])
def test_sizes_that_cannot_be_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ConfigurationError, match=r"overlap|2 turns"):
        EpisodePolicy(WindowSizes(size, overlap))
