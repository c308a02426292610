"""However a log is cut into batches, and whenever a worker crashes: the same outputs, the same state."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import ScriptedExtractor, calmly, crashing, said, statement, window

from models.messages import ChatMessage, Role
from models.statements import Statement
from models.summaries import SummaryRequest
from models.windows import Window
from processors.conversations.state import ConversationState, Kept, is_page, page_key
from streams.agents.ingest.body_pages import PAGE
from streams.agents.ingest.conversations import REQUESTS, STATE, Conversations
from streams.agents.ingest.summary_ledger import is_ledger
from streams.agents.memory.extraction import Extraction
from streams.clients.records import Record
from streams.clients.topics import SUMMARIES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.effects import Output
from streams.runtime.stage import Stage
from streams.runtime.testing import StageHarness
from streams.runtime.trial import Trial

COUNT = cl100k_counter()

#: What is written may be written again, so what matters is what.
Written = set[tuple[str, bytes | None, bytes | None]]


def written(outputs: Sequence[Output]) -> Written:
    return {(output.topic, output.key, output.value) for output in outputs}


def last_of_each_key(outputs: Sequence[Output]) -> dict[tuple[str, bytes | None], bytes | None]:
    return {(output.topic, output.key): output.value for output in outputs}


def trials(stage: Stage, log: Sequence[Record], chance: Random, crashes: int) -> tuple[Trial, Trial]:
    """The log read in one go, and as it comes, with crashes."""
    return calmly(stage, log, causal=True), crashing(stage, log, chance, crashes, causal=True)


# -- conversations ------------------------------------------------------------------------------------------


def conversations_stage() -> Stage:
    """Without its timers: what the clock does is no matter of the log."""
    stage = Conversations(Settings(token_threshold=100), COUNT).stage()
    return dataclasses.replace(stage, on_timer=None, timer_at=None)


def conversations_log(chance: Random) -> list[Record]:
    """Messages of some conversations, with pauses, retries, strangers and bad ones; answers to requests."""
    stage = conversations_stage()
    harness = StageHarness(stage)
    log: list[Record] = []
    answered = 0
    sent: list[ChatMessage] = []
    for n in range(chance.randint(1, 80)):
        harness.arrived += timedelta(seconds=chance.choice((1, 1, 1, 1, 1200)))
        conversation = chance.choice("abc")
        message = samples.message(
            n,
            message_id=f"{conversation}-m{n}",
            conversation_id=conversation,
            role=Role.ASSISTANT if n % 2 else Role.USER,
            sent_at=harness.arrived,
            tenant_id=chance.choice(("default",) * 9 + ("other",)),
        )
        sent.append(message)
        content = chance.choice((message,) * 8 + (chance.choice(sent[-12:]), b"{not json"))
        record = harness.record(content)
        log.append(record if content != b"{not json" else record._replace(key=conversation.encode()))
        harness.feed(log[-1])
        requests = harness.values(REQUESTS, SummaryRequest)
        while answered < len(requests) and chance.random() < 0.5:
            harness.arrived += timedelta(milliseconds=1)
            log.append(harness.record(samples.answer(requests[answered]), SUMMARIES))
            harness.feed(log[-1])
            answered += 1
            requests = harness.values(REQUESTS, SummaryRequest)
    return log


def conversations_known(trial: Trial) -> dict[bytes, Any]:
    """Everything that is known of each conversation, wherever its bodies are kept."""
    stored = trial.state()
    found: dict[bytes, Any] = {}
    for key, payload in stored.items():
        if is_page(key):
            continue
        state = STATE.decode(payload, key)
        bodies: dict[int, Kept] = dict(enumerate(state.kept, state.kept_from))
        for begins in state.pages:
            bodies.update(enumerate(PAGE.decode(stored[page_key(key, begins)]), begins))
        needed = min(state.cursor.from_index, state.tokens.from_index)
        found[key] = (essence(state), {index: body for index, body in bodies.items() if index >= needed})
    pages = {page_key(key, begins) for key in found for begins in STATE.decode(stored[key]).pages}
    left = {key for key in stored if is_page(key) and not is_ledger(key)}
    assert pages == left, "no page is left over"
    return found


def essence(state: ConversationState) -> ConversationState:
    """The state without where its bodies are, and when by the clock its request was asked."""
    table = state.tokens
    if table.open is not None:
        table = msgspec.structs.replace(table, open=msgspec.structs.replace(table.open, asked_at=0.0))
    return msgspec.structs.replace(state, tokens=table, kept=(), kept_from=0, pages=())


# -- extraction -----------------------------------------------------------------------------------------


def extraction_stage() -> Stage:
    def find(window: Window) -> list[Statement]:
        mine = [message for message in window.messages if message.role is Role.USER]
        found = [statement(message.content, message.message_id) for message in mine]
        # Something that is not in the window.
        unknown = [statement("is elsewhere", "elsewhere")] if "-m11" in str(window.message_ids) else []
        return found + unknown

    return Extraction(Settings(), ScriptedExtractor(find)).stage()


def extraction_log(chance: Random) -> list[Record]:
    """Overlapping windows of some conversations, now and then one of them again."""
    harness = StageHarness(extraction_stage())
    windows: dict[str, int] = dict.fromkeys("abc", 0)
    sent: list[Window] = []
    log = []
    for _ in range(chance.randint(1, 12)):
        harness.arrived += timedelta(seconds=1)
        conversation = chance.choice("abc")
        first = windows[conversation]
        lines = [f"I like number {n} of {conversation}." for n in range(first, first + 4)]
        made = window(said(*lines, first=first, conversation=conversation), conversation=conversation)
        windows[conversation] += 3
        sent.append(made)
        log.append(harness.record(chance.choice((made,) * 4 + (chance.choice(sent),))))
    return log


@settings(max_examples=80)
@given(seed=st.integers(0, 2**64), crashes=st.integers(1, 6))
def test_no_crash_changes_conversations(seed: int, crashes: int) -> None:
    chance = Random(seed)
    calm, trial = trials(conversations_stage(), conversations_log(chance), chance, crashes)
    assert conversations_known(trial) == conversations_known(calm)
    assert written(trial.outputs) == written(calm.outputs)


@settings(max_examples=80)
@given(seed=st.integers(0, 2**64), crashes=st.integers(1, 6))
def test_no_crash_changes_candidates_and_state(seed: int, crashes: int) -> None:
    chance = Random(seed)
    calm, trial = trials(extraction_stage(), extraction_log(chance), chance, crashes)
    assert trial.state() == calm.state()
    assert last_of_each_key(trial.outputs) == last_of_each_key(calm.outputs)
    assert written(trial.outputs) == written(calm.outputs)
