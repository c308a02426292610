"""recall/episodes where episodes end with their topic: turns from one log, their vectors from another."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import calmly, crashing
from test_episodes_stage import Harness as Episodic

from models import ids
from models.episodes import Episode
from models.vectors import TurnVector
from streams.agents.recall.episodes import EPISODES, STATE, Episodes
from streams.agents.recall.punctuations import TURNS
from streams.agents.recall.turn_vectors import TURN_VECTORS
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.stage import Stage
from streams.runtime.testing import START
from streams.runtime.trial import Trial

GARDEN, TRAIN, SCHOOL = np.eye(4, dtype=np.float16)[:3]
ROW_MARK = b"\x01"


def stage() -> Stage:
    return Episodes(Settings(episodes="adaptive", episode_size=6, episode_overlap=1)).stage()


class Harness(Episodic):
    """Whose episodes end with what is spoken about."""

    def __init__(self) -> None:
        super().__init__(stage())

    @property
    def rows(self) -> list[bytes]:
        return [key for key, _ in self.state.items() if ROW_MARK in key]

    def turn(self, text: str = "", conversation: str = "c", **changes: Any) -> Record:
        index = self.indices.get(conversation, 0)
        return super().turn(conversation, text=text or f"word{index}", **changes)

    def vector(self, index: int, about: Any, conversation: str = "c") -> Record:
        turn_id = ids.turn_id("default", conversation, f"m{index}")
        value = TurnVector(
            turn_id=turn_id,
            conversation_id=conversation,
            began_at=START,
            index=index,
            model="axes",
            dimensions=4,
            vector=about.tobytes(),
        )
        return self.record(value, TURN_VECTORS)


def talk(harness: Harness, *about: Any) -> None:
    harness.feed(*[harness.turn() for _ in about])
    harness.feed(*[harness.vector(index, each) for index, each in enumerate(about)])


def test_an_episode_ends_with_its_topic() -> None:
    harness = Harness()
    talk(harness, GARDEN, GARDEN, GARDEN, GARDEN, TRAIN, TRAIN)
    assert harness.spans == [(0, 3, "boundary")]
    assert harness.last.counts["episodes_total", ("boundary",)] == 1
    harness.feed(harness.punctuation("close"))
    assert harness.spans[1:] == [(4, 5, "closed")]
    assert harness.rows == []


def test_a_day_without_vector_logs_an_empty_one() -> None:
    harness = Harness()
    harness.feed(*[harness.turn() for _ in range(3)])
    harness.feed(harness.punctuation("close"))
    assert harness.spans == []
    harness.wait(timedelta(hours=23))
    assert harness.outputs == []
    harness.wait(timedelta(hours=1, seconds=1))
    given_up = [output for output in harness.outputs if output.topic == TURN_VECTORS]
    assert len(given_up) == 3
    for output in given_up:
        assert output.route == b"c"
        harness.feed(harness.record(output.value, TURN_VECTORS, key=output.key))
    assert harness.spans == [(0, 2, "closed")]
    assert harness.rows == []


def test_an_erased_turn_is_forgotten_wherever_it_waits() -> None:
    harness = Harness()
    harness.feed(*[harness.turn(f"secret {index}") for index in range(3)])
    harness.feed(harness.vector(2, GARDEN))
    harness.arrived += timedelta(seconds=1)
    harness.feed(harness.erasure(1))
    assert [(o.topic, o.value, o.route) for o in harness.last.outputs] == [(TURN_VECTORS, None, b"c")]
    assert not any(b"secret 1" in payload for _, payload in harness.state.items())
    harness.feed(harness.vector(1, GARDEN), harness.vector(0, GARDEN))
    harness.feed(harness.punctuation("close"))
    (episode,) = harness.values(EPISODES, Episode)
    assert episode.message_ids == ("m0", "m2")
    assert harness.rows == []


def log_of(chance: Random) -> list[Record]:
    """Turns of two conversations about this and that, with pauses and closings; their vectors in any order."""
    harness = Harness()
    log: list[Record] = []
    owed: list[Record] = []
    about = {"a": GARDEN, "b": GARDEN}
    for _ in range(chance.randint(1, 60)):
        harness.arrived += timedelta(seconds=chance.choice((1, 1, 1, 1, 1, 1000)))
        conversation = chance.choice("aab")
        what = chance.random()
        if what < 0.8:
            if chance.random() < 0.3:
                about[conversation] = [GARDEN, TRAIN, SCHOOL][chance.randrange(3)]
            index = harness.indices.get(conversation, 0)
            text = chance.choice(("", "", "", "By the way, what about it?", " "))
            log.append(harness.turn(text, conversation))
            if text != " ":
                owed.append(harness.vector(index, about[conversation], conversation))
        elif what < 0.9:
            log.append(harness.punctuation(chance.choice(("close", "tick")), conversation))
        elif log:
            again = chance.choice([record for record in log if record.topic == TURNS])
            log.append(harness.record(again.value, key=again.key, headers=list(again.headers)))
    chance.shuffle(owed)
    at = int(harness.arrived.timestamp() * 1000)
    return log + [record._replace(offset=n, timestamp=at) for n, record in enumerate(owed)]


def known(trial: Trial) -> dict[bytes, Any]:
    """The state of the conversations; a row that a crash has left behind is nobody's."""
    return {
        key: STATE.decode(payload) if b"\x00" not in key else payload
        for key, payload in trial.state().items()
        if ROW_MARK not in key
    }


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**64), crashes=st.integers(0, 6))
def test_episodes_do_not_depend_on_crashes_or_vector_order(seed: int, crashes: int) -> None:
    chance = Random(seed)
    log = log_of(chance)
    without_clock = dataclasses.replace(stage(), on_timer=None, timer_at=None)
    calm, trial = calmly(without_clock, log), crashing(without_clock, log, chance, crashes)
    assert {(o.topic, o.key, o.value) for o in trial.outputs} == {
        (o.topic, o.key, o.value) for o in calm.outputs
    }
    assert known(trial) == known(calm)
