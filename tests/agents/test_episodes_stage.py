"""recall/episodes, called without a broker: episodes of the log of turns, and what an erasure takes back."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import samples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memory_samples import calmly, crashing

from models import ids
from models.episodes import Episode
from models.messages import PUNCTUATION_HEADER, Punctuation
from models.policies import NeverKept, Rules
from models.turns import TurnSource
from models.vectors import EmbeddingRequest, VectorKind
from streams.agents.recall.episode_pages import PAGE, PAGE_EPISODES
from streams.agents.recall.episodes import EPISODES, Episodes
from streams.agents.recall.punctuations import TURNS
from streams.agents.recall.turn_log import CONVERSATION_HEADER
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients.erasures import UNTIL_HEADER
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.stage import Stage
from streams.runtime.testing import START, StageHarness

DAY = timedelta(days=1)


def stage(**changed: Any) -> Stage:
    return Episodes(Settings(**{"episode_size": 4, "episode_overlap": 1, **changed})).stage()


class Harness(StageHarness):
    """The stage with these settings; conversations have turns as long as they speak."""

    def __init__(self, made: Stage | None = None, **changed: Any) -> None:
        super().__init__(made or stage(**changed))
        self.indices: dict[str, int] = {}

    @property
    def episodes(self) -> list[Episode]:
        return [
            msgspec.json.decode(output.value, type=Episode)
            for output in self.outputs
            if output.topic == EPISODES and output.value
        ]

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        return [(each.from_index, each.to_index, each.reason.value) for each in self.episodes]

    def turn(self, conversation: str = "c", **replace: Any) -> Record:
        index = self.indices.get(conversation, 0)
        self.indices[conversation] = index + 1
        said = samples.turn(
            index,
            f"turn {index}",
            at=START,
            conversation_id=conversation,
            sent_at=self.arrived,
            arrived_at=self.arrived,
            source=TurnSource(topic="chat.messages.v1", partition=5, offset=index),
        )
        return self.record(msgspec.structs.replace(said, **replace))

    def say(self, count: int, conversation: str = "c") -> None:
        self.feed(*[self.turn(conversation) for _ in range(count)])

    def punctuation(self, kind: str, conversation: str = "c") -> Record:
        value = Punctuation(punctuation=kind, conversation_id=conversation)
        key = ids.deterministic_id("test", kind, conversation, self.arrived.isoformat()).encode()
        return self.record(msgspec.json.encode(value), key=key, headers=[(PUNCTUATION_HEADER, kind.encode())])

    def erasure(self, index: int, conversation: str = "c") -> Record:
        key = ids.turn_id("default", conversation, f"m{index}").encode()
        return self.record(None, key=key, headers=[(CONVERSATION_HEADER, conversation.encode())])

    def read_own(self) -> None:
        """Read what the stage wrote into the log of turns."""
        written = [output for output in self.last.outputs if output.topic == TURNS]
        for output in written:
            self.feed(self.record(output.value, key=output.key, headers=list(output.headers)))


def test_an_episode_is_published_and_asks_for_its_vector() -> None:
    harness = Harness()
    harness.say(3)
    assert harness.outputs == []
    harness.say(1)
    published, request = harness.outputs
    (episode,) = harness.episodes
    assert (published.topic, published.key, published.route) == (EPISODES, episode.episode_id.encode(), b"c")
    assert (request.topic, request.route) == (REQUESTS, b"ada")
    assert request.key == f"episode/{episode.episode_id}".encode()
    asked = msgspec.json.decode(request.value or b"", type=EmbeddingRequest)
    assert (asked.kind, asked.id, asked.user_id) == (VectorKind.EPISODE, episode.episode_id, "ada")
    assert asked.text == "turn 0\nturn 1\nturn 2\nturn 3"
    assert harness.last.counts["episodes_total", ("window",)] == 1


def test_one_turn_is_an_episode_once_nothing_follows() -> None:
    harness = Harness()
    harness.say(1)
    harness.wait(timedelta(minutes=14))
    assert harness.outputs == []
    harness.wait(timedelta(seconds=62))
    (tick,) = harness.outputs
    assert (tick.topic, tick.route) == (TURNS, b"c")
    assert tick.key != ids.turn_id("default", "c", "m0").encode()
    harness.read_own()
    assert harness.spans == [(0, 0, "idle")]
    assert harness.last.counts["episodes_total", ("idle",)] == 1
    harness.wait(timedelta(hours=5))
    assert len(harness.outputs) == 3


def test_the_clock_says_nothing_while_the_log_is_behind() -> None:
    harness = Harness()
    harness.say(1)
    harness.tick(START + timedelta(hours=1), b"c", caught_up=False)
    assert harness.outputs == []
    assert harness.timers[b"c"] > (START + timedelta(hours=1)).timestamp()


def test_a_tick_that_was_overtaken_by_a_turn_ends_nothing() -> None:
    harness = Harness()
    harness.say(1)
    harness.tick(START + timedelta(minutes=16), b"c")
    tick = harness.outputs.pop()
    harness.arrived += timedelta(minutes=14)
    harness.say(1)
    harness.arrived += timedelta(minutes=3)
    harness.feed(harness.record(tick.value, key=tick.key, headers=list(tick.headers)))
    assert harness.spans == []


def test_an_erased_turn_takes_its_episodes_with_it() -> None:
    harness = Harness()
    harness.say(11)
    with_it = [each.episode_id for each in harness.episodes if 3 in range(each.from_index, each.to_index + 1)]
    assert len(with_it) == 2
    harness.arrived += DAY
    harness.feed(harness.erasure(3))
    assert [(output.topic, output.key, output.value) for output in harness.last.outputs] == [
        (topic, prefix + name.encode(), None)
        for name in with_it
        for topic, prefix in ((EPISODES, b""), (EMBEDDINGS, b"episode/"), (REQUESTS, b"episode/"))
    ]
    assert {output.route for output in harness.last.outputs} == {b"c", b"ada"}
    latest = {each.episode_id.encode(): each.arrived_at for each in harness.episodes}
    for output in harness.last.outputs:
        if output.topic == EPISODES:
            until = dict(output.headers)[UNTIL_HEADER]
            assert until == latest[output.key].isoformat().encode(), "what is said again later is no part of it"
    assert harness.last.counts["episodes_total", ("erased",)] == 2
    harness.feed(harness.erasure(3))
    assert harness.last.outputs == []


def test_an_erased_overlap_turn_enters_no_later_episode() -> None:
    harness = Harness()
    harness.say(4)
    harness.feed(harness.erasure(3))
    harness.say(3)
    assert [each.message_ids for each in harness.episodes][1:] == [("m4", "m5", "m6")]


def test_an_erasure_in_the_forming_batch_retracts_the_episode() -> None:
    harness = Harness()
    harness.feed(*[harness.turn() for _ in range(4)], harness.erasure(2), *[harness.turn() for _ in range(2)])
    published = [(output.key, output.value is None) for output in harness.outputs if output.topic == EPISODES]
    assert published == [
        (harness.episodes[0].episode_id.encode(), False),
        (harness.episodes[0].episode_id.encode(), True),
    ]


def test_an_old_erasure_takes_nothing_that_arrived_since() -> None:
    harness = Harness()
    old = harness.erasure(0)
    harness.arrived += DAY
    harness.say(4)
    harness.feed(old._replace(offset=99))
    assert harness.last.outputs == []


def own(harness: Harness, episode: Episode) -> Record:
    """A copy of an episode, as a worker that was taken for dead writes it behind all else."""
    return harness.record(msgspec.json.encode(episode), EPISODES, key=episode.episode_id.encode())


def test_a_late_copy_of_an_erased_episode_is_erased() -> None:
    """Compaction keeps the last record of a key: an index that is filled anew would show it."""
    harness = Harness()
    harness.say(7)
    erased, other = harness.episodes
    assert 1 not in range(other.from_index, other.to_index + 1)
    harness.feed(own(harness, erased), own(harness, other))
    assert harness.last.outputs == [], "what was published is what it reads at once"
    harness.arrived += DAY
    harness.feed(harness.erasure(1))
    (first,) = [each for each in harness.last.outputs if each.topic == EPISODES]
    for _ in range(2):
        harness.recover()
        harness.feed(own(harness, erased), own(harness, other))
        again = [(each.topic, each.key, each.value) for each in harness.last.outputs]
        name = erased.episode_id.encode()
        assert again == [
            (EPISODES, name, None),
            (EMBEDDINGS, b"episode/" + name, None),
            (REQUESTS, b"episode/" + name, None),
        ]
        assert dict(harness.last.outputs[0].headers)[UNTIL_HEADER] == dict(first.headers)[UNTIL_HEADER]
        assert harness.last.outputs[0].route == b"c"
    later = msgspec.structs.replace(erased, arrived_at=erased.arrived_at + DAY)
    harness.feed(own(harness, later))
    assert harness.last.outputs == [], "the same turns, said again after that"


def test_the_erased_episodes_of_a_conversation_go_with_it() -> None:
    harness = Harness(turn_retention_days=30)
    harness.say(4)
    harness.feed(harness.erasure(1))
    assert b"c\x02" in dict(harness.state.items())
    harness.wait(31 * DAY)
    assert dict(harness.state.items()) == {}


def test_erased_episodes_left_by_a_reset_go_too() -> None:
    harness = Harness(turn_retention_days=30)
    harness.say(4)
    harness.feed(harness.erasure(1))
    harness.changelog = [(key, value) for key, value in harness.changelog if key == b"c\x02"]
    harness.recover()
    assert {*dict(harness.state.items())} == {b"c\x02"}
    harness.wait(29 * DAY)
    assert {*dict(harness.state.items())} == {b"c\x02"}
    harness.wait(2 * DAY)
    assert dict(harness.state.items()) == {}


def test_each_episode_of_a_long_conversation_can_be_erased() -> None:
    harness = Harness()
    for _ in range(100):
        harness.say(100)
    count = len(harness.episodes)
    assert count == 1 + (10_000 - 4) // 3
    pages = harness.stored(PAGE, lambda key: b"\x00" in key)
    assert len(pages) == -(-count // PAGE_EPISODES)
    assert {len(page) for page in pages.values()} <= {PAGE_EPISODES, count % PAGE_EPISODES}
    for index in (0, 5_001, 9_996):
        harness.feed(harness.erasure(index))
        assert harness.last.outputs


def test_what_the_topic_has_let_go_of_is_forgotten() -> None:
    harness = Harness(turn_retention_days=30)
    harness.say(4)
    harness.wait(29 * DAY)
    assert {*dict(harness.state.items())} == {b"c", b"c\x000"}
    harness.wait(2 * DAY)
    assert dict(harness.state.items()) == {}


def log_of(chance: Random) -> list[Record]:
    """Turns of some conversations with pauses and repeats, closings, silences, erasures, bad records."""
    harness = Harness()
    log: list[Record] = []
    for _ in range(chance.randint(1, 70)):
        harness.arrived += timedelta(seconds=chance.choice((1, 1, 1, 1, 1000)))
        conversation = chance.choice("aab")
        what = chance.random()
        if what < 0.75:
            log.append(harness.turn(conversation))
        elif what < 0.8 and log:
            again = chance.choice(log)
            log.append(harness.record(again.value, key=again.key, headers=list(again.headers)))
        elif what < 0.88:
            log.append(harness.punctuation(chance.choice(("close", "tick")), conversation))
        elif what < 0.96:
            log.append(harness.erasure(chance.randint(0, harness.indices.get(conversation, 0)), conversation))
        else:
            log.append(harness.record(b"{not json", key=b"k"))
    return log


def settled(outputs: list[Output]) -> dict[tuple[str, bytes | None], bytes | None]:
    """What a reader of the compacted topics has at the end."""
    return {(output.topic, output.key): output.value for output in outputs}


@settings(max_examples=300, deadline=None)
@example(seed=6783330, crashes=5)  # an erasure is read again, and a page knows of a turn that came after it
@given(seed=st.integers(0, 2**64), crashes=st.integers(0, 6))
def test_no_crash_and_no_cut_changes_an_episode(seed: int, crashes: int) -> None:
    chance = Random(seed)
    log = log_of(chance)
    without_clock = dataclasses.replace(stage(), on_timer=None, timer_at=None)
    calm, trial = calmly(without_clock, log), crashing(without_clock, log, chance, crashes)
    assert settled(trial.outputs) == settled(calm.outputs)
    assert {(each.topic, each.key, each.value) for each in trial.outputs} == {
        (each.topic, each.key, each.value) for each in calm.outputs
    }
    assert trial.state() == calm.state()


def test_nothing_that_a_policy_never_keeps_gets_into_the_graph() -> None:
    never = samples.Policies(default=Rules(never_kept=NeverKept(topics=("Anna",))))
    found = []
    for policies in (None, never):
        harness = Harness()
        harness.spec = Episodes(Settings(episode_size=4, episode_overlap=1), policies).stage()
        harness.feed(harness.turn(text="My sister Anna lives in Berlin."), *[harness.turn() for _ in range(3)])
        found.append([output for output in harness.outputs if output.topic == "memory.graph-statements.v1"])
    assert found[0] and not found[1]
