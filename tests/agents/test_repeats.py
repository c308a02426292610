"""Messages count once in every stage that counts them, erased ones included, while a conversation lasts."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from samples import message

from models.messages import PUNCTUATION_HEADER, Punctuation
from streams.agents.ingest.conversations import WINDOWS, Conversations
from streams.agents.recall.turns import TURNS, Turns
from streams.clients.records import Record
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.stage import Stage
from streams.runtime.testing import StageHarness

SETTINGS = Settings(window_size=2, window_overlap=0, conversation_forget_days=2, token_threshold=1_000_000)
STAGES = {WINDOWS: Conversations(SETTINGS, cl100k_counter()).stage(), TURNS: Turns(SETTINGS).stage()}

both = pytest.mark.parametrize("topic", STAGES)


class Log(StageHarness):
    """Messages 0..n of one conversation, sent in batches."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        stage: Stage = STAGES[topic]
        super().__init__(stage)

    def send(self, numbers: list[int], batch: int) -> int:
        """Return how many outputs come of messages; a window has two messages."""
        before = len(self.outputs)
        records = [self.record(message(number), MESSAGES) for number in numbers]
        for at in range(0, len(records), batch):
            self.feed(*records[at : at + batch])
        made = [output for output in self.outputs[before:] if output.topic == self.topic]
        return len(made) * (2 if self.topic == WINDOWS else 1)

    def punctuate(self, kind: str, user_id: str = "") -> None:
        said = Punctuation(punctuation=kind, conversation_id="c", user_id=user_id)
        record: Record = self.record(said, MESSAGES, headers=[(PUNCTUATION_HEADER, kind.encode())])
        self.feed(record)


@both
@pytest.mark.parametrize(("size", "batch"), [(64, 64), (66, 66), (130, 1), (1000, 90), (3000, 1000)])
def test_a_repeat_of_any_size_counts_once_after_a_restart(topic: str, size: int, batch: int) -> None:
    log, numbers = Log(topic), list(range(size))
    assert log.send(numbers, batch) == size
    log.recover()
    Random(size).shuffle(numbers)
    assert log.send(numbers, batch) == 0
    assert log.send([size, size + 1], batch) == 2


@both
@pytest.mark.parametrize("user_id", ["", "ada"], ids=["the conversation", "the person"])
@pytest.mark.parametrize("size", [40, 100, 1000])
def test_erased_messages_sent_again_stay_erased(topic: str, user_id: str, size: int) -> None:
    log, numbers = Log(topic), list(range(size))
    log.send(numbers, 90)
    log.punctuate("erase", user_id)
    log.arrived += timedelta(seconds=1)
    log.recover()
    assert log.send(numbers, 90) == 0
    assert log.send([size, size + 1], 90) == 2


@both
def test_no_page_of_ids_outlives_its_conversation(topic: str) -> None:
    log, numbers = Log(topic), list(range(1000))
    log.send(numbers, 90)
    assert sum(b"\0i" in key for key, _ in log.state.items()) == 3, "7 * 128 ids are 4 + 2 + 1 chunks"
    log.arrived += timedelta(days=3)
    log.punctuate("tick")
    assert not [key for key, _ in log.state.items()]
    assert log.send(numbers, 90) == 1000, "it is another conversation"


@both
def test_a_crash_between_two_writes_loses_and_doubles_nothing(topic: str) -> None:
    written = Log(topic)
    numbers = [*range(400), *range(0, 400, 3)]
    written.send(numbers, 64)
    for cut in range(0, len(written.changelog), 3):
        log = Log(topic)
        log.changelog = written.changelog
        log.recover(cut)
        # Outputs of what state says is folded in were confirmed before; the rest is read again.
        records = [log.record(message(number), MESSAGES) for number in numbers]
        for at in range(0, len(records), 50):
            log.feed(*records[at : at + 50])
        assert log.state.read(b"c")[0] == len(numbers)
        assert log.send(numbers, 50) == 0
        again = {output.value for output in log.outputs if output.topic == topic}
        assert again <= {output.value for output in written.outputs if output.topic == topic}
