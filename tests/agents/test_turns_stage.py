"""recall/turns, called without a broker: every message at its index, masked, and nothing else."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import crashing

from models.context import ContextRequest
from models.ids import text_hash
from models.messages import PUNCTUATION_HEADER, ChatMessage, Punctuation, Role
from models.turns import Turn
from models.vectors import EmbeddingRequest, VectorKind
from models.windows import Window, WindowMessage
from processors.conversations.state import is_page
from processors.retrieval.embedding.wording import EMBEDDED_CHARACTERS
from streams.agents.contexts.requests import CONTEXT_REQUESTS
from streams.agents.ingest.body_pages import PAGE
from streams.agents.ingest.conversations import STATE as CONVERSATION
from streams.agents.ingest.conversations import WINDOWS, Conversations
from streams.agents.recall.turns import STATE, TURNS, Turns
from streams.agents.vectors.requests import REQUESTS
from streams.clients.records import Record, rerouted
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.stage import Stage
from streams.runtime.testing import START, StageHarness
from streams.runtime.trial import Trial

COUNT = cl100k_counter()
DAY = 86_400.0

#: A conversation is forgotten after two days.
SETTINGS = Settings(window_size=3, window_overlap=1, conversation_forget_days=2)


class Harness(StageHarness):
    """The stage with these settings."""

    def __init__(self, **changed: Any) -> None:
        super().__init__(Turns(Settings(**changed)).stage())

    @property
    def turns(self) -> list[Turn]:
        return self.values(TURNS, Turn)

    def say(self, *messages: ChatMessage, **replace: Any) -> None:
        self.feed(*[self.record(message, **replace) for message in messages])


def message(n: int, content: str = "", **changes: Any) -> ChatMessage:
    role = Role.ASSISTANT if n % 2 else Role.USER
    return samples.message(n, content or f"message number {n}", **({"role": role} | changes))


def punctuation(harness: StageHarness, kind: str, conversation: str = "c") -> Record:
    value = Punctuation(punctuation=kind, conversation_id=conversation)
    return harness.record(value, headers=[(PUNCTUATION_HEADER, kind.encode())])


def test_a_message_becomes_a_turn_that_says_where_it_stands() -> None:
    harness = Harness()
    harness.arrived = START + timedelta(seconds=9)
    harness.say(message(0, metadata={"name": " Ada  Lovelace "}), message(1, "Hello."))
    first, second = harness.turns
    assert first == Turn(
        turn_id=first.turn_id,
        message_id="m0",
        conversation_id="c",
        user_id="ada",
        role=Role.USER,
        text="message number 0",
        sent_at=START,
        arrived_at=harness.arrived,
        began_at=harness.arrived,
        index=0,
        source=first.source,
        speaker="Ada Lovelace",
    )
    assert (first.source.topic, first.source.partition, first.source.offset) == (MESSAGES, 5, 0)
    assert (second.text, second.index, second.source.offset, second.speaker) == ("Hello.", 1, 1, "")
    keys = [(output.key, output.route) for output in harness.outputs if output.topic == TURNS]
    assert keys == [(first.turn_id.encode(), b"c"), (second.turn_id.encode(), b"c")]
    assert first.turn_id != second.turn_id


def test_what_must_not_be_stored_is_masked_and_counted() -> None:
    harness = Harness(mask_patterns='["EMP-[0-9]{6}"]')
    harness.say(message(0, "4111 1111 1111 1111, I mean 5555-5555-5555-4444, and EMP-123456."))
    assert (
        harness.turns[0].text
        == "[masked: card number], I mean [masked: card number], and [masked: own pattern]."
    )
    assert harness.turns[0].masked == 3
    assert harness.last.counts["masked_passages_total", ("card number",)] == 2
    assert harness.last.counts["masked_passages_total", ("own pattern",)] == 1


def test_each_turn_with_words_asks_for_its_vector_once() -> None:
    harness = Harness()
    harness.say(message(0, "  pay with 4111111111111111 "), message(1, " \n"), message(2, "x" * 9_000))
    first, _, third = harness.turns
    asked = harness.values(REQUESTS, EmbeddingRequest)
    assert [(each.kind, each.id, each.text, each.user_id) for each in asked] == [
        (VectorKind.TURN, first.turn_id, "pay with [masked: card number]", "ada"),
        (VectorKind.TURN, third.turn_id, "x" * EMBEDDED_CHARACTERS, "ada"),
    ]
    assert [each.text_hash for each in asked] == [text_hash(each.text) for each in asked]
    keys = [(output.key, output.route) for output in harness.outputs if output.topic == REQUESTS]
    assert keys == [(f"turn/{turn.turn_id}".encode(), b"ada") for turn in (first, third)]


def test_a_context_is_asked_for_once_after_what_arrived_together() -> None:
    harness = Harness()
    harness.say(*[message(n) for n in range(7)], message(7, role=Role.TOOL), message(20, conversation_id="d"))
    first, other = harness.values(CONTEXT_REQUESTS, ContextRequest)
    assert (first.conversation_id, first.attempt) == ("c", 0)
    assert [turn.message_id for turn in first.turns] == ["m2", "m3", "m4", "m5", "m6"]
    assert [turn.message_id for turn in other.turns] == ["m20"]
    harness.say(message(8, "4111 1111 1111 1111 " + "x" * 9_000), message(9, role=Role.SYSTEM))
    *_, last = harness.values(CONTEXT_REQUESTS, ContextRequest)
    (turn,) = last.turns
    assert (turn.message_id, turn.text[:21], len(turn.text)) == ("m8", "[masked: card number]", 6_000)
    harness.say(message(10, role=Role.TOOL))
    assert len(harness.values(CONTEXT_REQUESTS, ContextRequest)) == 3


def test_a_conversation_that_was_forgotten_begins_anew() -> None:
    harness = Harness(conversation_forget_days=2)
    harness.say(message(0), message(1))
    began = harness.arrived
    harness.arrived += timedelta(days=1)
    harness.feed(punctuation(harness, "tick"))
    assert harness.stored(STATE)[b"c"].sequence.next_index == 2
    harness.arrived += timedelta(days=1)
    harness.feed(punctuation(harness, "tick"))
    assert not harness.stored(STATE)
    harness.say(message(2))
    assert [(turn.index, turn.began_at) for turn in harness.turns] == [
        (0, began),
        (1, began),
        (0, harness.arrived),
    ]


# -- the index that ingest says, too ------------------------------------------------------------------------


def log_of(chance: Random) -> list[Record]:
    """Messages of some conversations: retries, copies, strangers, punctuations, bad ones, silences."""
    harness = StageHarness(ingest())
    sent: list[ChatMessage] = []
    log: list[Record] = []
    for n in range(chance.randint(1, 60)):
        harness.arrived += timedelta(seconds=chance.choice((0, 1, 1, 1, 1000, DAY, 3 * DAY)))
        conversation = chance.choice("ab")
        said = message(n, conversation_id=conversation, sent_at=harness.arrived)
        said = msgspec.structs.replace(said, tenant_id=chance.choice(("default",) * 6 + ("other",)))
        what = chance.choice(("new",) * 6 + ("again", "copy", "copy", "tick", "close", "bad", "no key"))
        if what == "again" and sent:
            said = chance.choice(sent[-5:])
        sent.append(said)
        if what in ("tick", "close"):
            log.append(punctuation(harness, what, conversation))
        elif what == "copy":
            came = int((harness.arrived.timestamp() - chance.choice((0.0, 5.0, 3 * DAY))) * 1000)
            original = Record(b"", b"", chance.randint(0, 3), MESSAGES, chance.randint(1, 2), came)
            log.append(harness.record(said, headers=rerouted(original)))
        elif what == "bad":
            log.append(harness.record(b"{not json", key=conversation.encode()))
        elif what == "no key":
            log.append(harness.record(said, key=None))
        else:
            log.append(harness.record(said))
    return log


def ingest() -> Stage:
    """Without its timers: what the clock does to a conversation stands in the log."""
    return dataclasses.replace(Conversations(SETTINGS, COUNT).stage(), on_timer=None, timer_at=None)


def indices_of_ingest(trial: Trial) -> dict[int, int]:
    """Return the index of each message by its offset: in windows, and in what no window had yet."""
    found: dict[int, int] = {}
    for output in trial.outputs:
        if output.topic == WINDOWS and output.value:
            window = msgspec.json.decode(output.value, type=Window)
            found.update({each.offset: each.index for each in window.messages})
    for key, payload in trial.state().items():
        kept = PAGE.decode(payload, key) if is_page(key) else CONVERSATION.decode(payload, key).kept
        for each in kept:
            said = msgspec.json.decode(each.body, type=WindowMessage)
            found[said.offset] = said.index
    return found


def test_a_closing_takes_its_place_among_the_turns() -> None:
    harness = Harness()
    close = punctuation(harness, "close")
    harness.feed(close)  # nothing was said yet
    assert harness.outputs == []
    harness.feed(harness.record(message(0)), punctuation(harness, "close"), harness.record(message(1)))
    turns = [output for output in harness.outputs if output.topic == TURNS]
    kinds = [dict(output.headers).get(PUNCTUATION_HEADER) for output in turns]
    assert kinds == [None, b"close", None]
    assert turns[1].route == b"c"
    assert msgspec.json.decode(turns[1].value or b"", type=Punctuation).conversation_id == "c"
    again = Harness()
    again.feed(again.record(message(0)))
    again.feed(punctuation(again, "close"), punctuation(again, "close"))
    assert [output.key for output in again.outputs if output.topic == TURNS][1] == turns[1].key
    assert len([output for output in again.last.outputs if output.topic == TURNS]) == 1


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**64), crashes=st.integers(0, 4))
def test_ingest_and_turns_say_the_same_index_of_every_message(seed: int, crashes: int) -> None:
    chance = Random(seed)
    log = log_of(chance)
    expected = indices_of_ingest(crashing(ingest(), log, chance, crashes, causal=True))
    trial = crashing(Turns(SETTINGS).stage(), log, chance, crashes, causal=True)
    turns = [
        msgspec.json.decode(output.value or b"", type=Turn)
        for output in trial.outputs
        if output.topic == TURNS and not dict(output.headers).get(PUNCTUATION_HEADER)
    ]
    assert {turn.source.offset: turn.index for turn in turns} == expected
    calm = crashing(Turns(SETTINGS).stage(), log, Random(0), 0, causal=True)
    # A context is asked for after what arrived together, which is for the broker to say.
    made, expected_made = (
        {(output.key, output.value) for output in each.outputs if output.topic != CONTEXT_REQUESTS}
        for each in (trial, calm)
    )
    assert made == expected_made
    assert trial.state() == calm.state()
