"""Cutting conversations into episodes: where they end, what they say, what is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from models import ids
from models.episodes import Episode
from models.turns import Turn, TurnSource
from processors.conversations.episodes.boundaries import CONTEXT, features, probability
from processors.conversations.episodes.fold import EpisodeFold
from processors.conversations.episodes.state import TURN_CHARACTERS, EpisodePolicy, EpisodesState, KeptTurn
from processors.conversations.episodes.traits import traits_of
from processors.conversations.episodes.wording import EMBEDDED_CHARACTERS, embedded_text
from processors.conversations.windows import WindowSizes

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SMALL = EpisodePolicy(WindowSizes(5, 2), idle_seconds=60)


def turn(index: int, **replace: Any) -> Turn:
    source = TurnSource(topic="chat.messages.v1", partition=5, offset=10 + index)
    return msgspec.structs.replace(samples.turn(index, f"turn {index}", at=NOON, source=source), **replace)


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
    assert episode.text == "Ada: I dream of Uji.\nassistant: Tea?\nBob: turn 2\nuser: turn 4"
    assert (episode.people, episode.speakers) == (("ada", "bob"), ("Ada", "Bob"))
    assert (episode.first_sent_at, episode.last_sent_at) == (
        NOON - timedelta(seconds=9),
        NOON + timedelta(seconds=4),
    )
    assert (episode.message_ids, episode.episode_id) == (
        ("m0", "m1", "m2", "m3", "m4"),
        ids.episode_id("default", "c", "m0", "m4"),
    )
    assert (episode.source.partition, episode.source.first_offset, episode.source.last_offset) == (5, 10, 14)


def test_a_silence_ends_an_episode_by_either_clock() -> None:
    folding = fold()
    later = NOON + timedelta(seconds=61)
    add(folding, turn(0), turn(1, sent_at=later), turn(2, sent_at=later, arrived_at=later + timedelta(60)))
    assert spans(formed(folding)) == [(0, 0, 0, "idle"), (0, 1, 1, "idle")]


@pytest.mark.parametrize("more", [0, 1, 500])
def test_of_a_long_turn_an_episode_keeps_the_beginning(more: int) -> None:
    said = "a" * (TURN_CHARACTERS + more)
    folding = fold()
    add(folding, turn(0, text=f" {said}\n"))
    folding.close("default")
    (episode,) = formed(folding)
    kept = episode.text.removeprefix("user: ")
    assert len(kept) == TURN_CHARACTERS
    assert kept == (said if not more else f"{said[: TURN_CHARACTERS - 1]}…")


def test_a_conversation_that_began_anew_repeats_nothing() -> None:
    folding = fold()
    add(folding, turn(0), turn(1))
    anew = NOON + timedelta(days=100)
    add(folding, turn(0, message_id="n0", began_at=anew, arrived_at=anew, sent_at=anew))
    add(folding, turn(2))  # of the life before
    folding.close("default")
    assert [each.message_ids for each in formed(folding)] == [("m0", "m1"), ("n0",)]
    assert folding.repeated == 1


def test_nothing_is_formed_of_turns_that_were_all_erased() -> None:
    folding = fold()
    add(folding, turn(0), turn(1))
    for index in (0, 1):
        folding.erase(turn(index).turn_id, NOON.timestamp() + 9)
    folding.close("default")
    assert formed(folding) == []
    add(folding, turn(2))
    folding.close("default")
    assert spans(formed(folding)) == [(2, 2, 0, "closed")]


def test_a_gap_in_the_log_moves_no_later_episode() -> None:
    """Erased turns are gone from the log in time; who reads it then finds the same windows."""
    whole, rest = fold(), fold()
    add(whole, *map(turn, range(15)))
    add(rest, *[turn(index) for index in range(15) if index not in (3, 4, 5)])
    assert [each.to_index for each in formed(whole)] == [4, 7, 10, 13]
    assert [each.to_index for each in formed(rest)] == [2, 7, 10, 13]


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


@given(
    gaps=st.lists(st.sampled_from([1, 1, 1, 1, 70]), max_size=60),
    size=st.integers(2, 9),
    overlap=st.integers(0, 8),
)
def test_every_turn_is_in_an_episode_and_new_in_one(gaps: list[int], size: int, overlap: int) -> None:
    folding = fold(policy=EpisodePolicy(WindowSizes(size, min(overlap, size - 1)), 60))
    at = NOON
    for index, gap in enumerate(gaps):
        at += timedelta(seconds=gap)
        add(folding, turn(index, sent_at=at, arrived_at=at))
    folding.close("default")
    episodes = formed(folding)
    new = [index for each in episodes for index in range(each.from_index + each.overlap, each.to_index + 1)]
    assert new == list(range(len(gaps)))
    assert all(each.to_index - each.from_index < size for each in episodes)
    assert len({each.episode_id for each in episodes}) == len(episodes)


def vector(*numbers: float) -> bytes:
    row = np.array(numbers, np.float32)
    return (row / np.linalg.norm(row)).astype("<f2").tobytes()


_WORDS = st.text(max_size=300)


@given(st.lists(st.tuples(_WORDS, st.booleans(), st.integers(0, 7)), min_size=1, max_size=9))
def test_any_text_has_a_probability(said: list[tuple[str, bool, int]]) -> None:
    axes = np.eye(8, dtype=np.float32)
    turns = [
        traits_of(str(n), "user" if by_user else "tool", text, vector(*axes[axis]) if text.strip() else b"")
        for n, (text, by_user, axis) in enumerate(said)
    ]
    for at in range(len(turns)):
        after = turns[at + 1] if at + 1 < len(turns) else None
        assert 0 <= probability(turns[:at], turns[at], after) < 1
        assert features(turns[:at], turns[at], after) == features(turns[:at][-CONTEXT:], turns[at], after)
