"""Whenever the respond service crashes, and whatever the clock says then: no number goes out with two texts."""

from __future__ import annotations

import re
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.responses import ContentDuplicationEvent, ResponseChunk
from streams.agents.respond.responses import RESPONSES, Responses
from streams.agents.respond.routing import CHUNKS, ROUTED
from streams.clients.records import Record
from streams.clients.topics import DUPLICATES
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.testing import PARTITION, START
from streams.runtime.trial import Trial

SENTENCES = (
    "The museum opens at nine in the morning. ",
    "The museum opens at ten on holidays. ",
    "Bring a warm jacket, because the wind is cold. ",
    "Yes. ",
    "\n\n- ",
)

#: (seconds since the chunk before in the log, chunk)
Sent = list[tuple[float, ResponseChunk]]


def responses(chance: Random) -> Sent:
    """Some responses at once, in chunks: in order or nearly, now and then with a pause or without an end."""
    streams = []
    for number in range(chance.randint(1, 4)):
        text = "".join(chance.choices(SENTENCES, k=chance.randint(2, 8)))
        cuts = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randint(2, 8))))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        chunks = [
            ResponseChunk(
                response_id=f"r{number}",
                conversation_id=f"c{number % 2}",
                sequence=n,
                text=piece,
                final=n == len(cuts),
            )
            for n, piece in enumerate(pieces)
        ]
        if chance.random() < 0.2:
            at = chance.randrange(len(chunks) - 1)
            chunks[at], chunks[at + 1] = chunks[at + 1], chunks[at]
        if chance.random() < 0.2:
            chunks.append(chance.choice(chunks))
        if chance.random() < 0.2:
            chunks = [chunk for chunk in chunks if not chunk.final]
        streams.append(chunks)
    sent = []
    while streams := [chunks for chunks in streams if chunks]:
        chunks = chance.choice(streams)
        sent.append((chance.choice((0.0, 0.001, 0.05, 0.45, 0.6, 0.6, 5.0)), chunks.pop(0)))
    return sent


def trial_of(sent: Sent, chance: Random, *, spans_conversation: bool) -> Trial:
    """The stage as deployed, and its log."""
    source = ROUTED if spans_conversation else CHUNKS
    at = START.timestamp()
    log = []
    for pause, chunk in sent:
        at += pause
        key = (chunk.conversation_id if spans_conversation else chunk.response_id).encode()
        log.append(Record(msgspec.json.encode(chunk), key, len(log), source, PARTITION, int(at * 1000)))
    memory = "conversation" if spans_conversation else "response"
    options = Settings(max_repeat_hold_ms=500, response_idle_seconds=60.0, response_memory=memory)
    return Trial(Responses(options, lambda seconds: None).stage(), log, chance)


@pytest.mark.parametrize("spans_conversation", [False, True], ids=["response", "conversation"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**64), crashes=st.integers(0, 4))
def test_no_crash_changes_what_went_out(spans_conversation: bool, seed: int, crashes: int) -> None:
    chance = Random(seed)
    sent = responses(chance)
    trial = trial_of(sent, chance, spans_conversation=spans_conversation)
    for _ in range(crashes):
        trial.run(chance.randint(1, 30))
    trial.run()
    check(trial.outputs, sent)


def check(outputs: list[Output], sent: Sent) -> None:
    chunks: dict[tuple[str, int], ResponseChunk] = {}
    events: dict[str, ContentDuplicationEvent] = {}
    late: set[tuple[str, int]] = set()
    for output in outputs:
        value = output.value or b""
        if output.topic == RESPONSES:
            chunk = msgspec.json.decode(value, type=ResponseChunk)
            assert chunks.setdefault((chunk.response_id, chunk.sequence), chunk) == chunk
        elif output.topic == DUPLICATES:
            event = msgspec.json.decode(value, type=ContentDuplicationEvent)
            assert events.setdefault(event.event_id, event) == event
        else:
            chunk = msgspec.json.decode(value, type=ResponseChunk)
            late.add((chunk.response_id, chunk.sequence))
    for response in {chunk.response_id for _, chunk in sent}:
        out = [chunk for name, chunk in sorted(chunks.items()) if name[0] == response]
        assert [chunk.sequence for chunk in out] == list(range(len(out)))
        assert [chunk.final for chunk in out] == [False] * (len(out) - 1) + [True]
        came = {chunk.sequence: chunk.text for _, chunk in sent if chunk.response_id == response}
        text = "".join(came[n] for n in sorted(came) if (response, n) not in late)
        assert condensed("".join(chunk.text for chunk in out)) == condensed(without(text, events, response))


def without(text: str, events: dict[str, ContentDuplicationEvent], response: str) -> str:
    """Return the text without the sentences that the events name."""
    mine = [event for event in events.values() if event.response_id == response and not event.kept]
    for event in sorted(mine, key=lambda event: -event.position_in_response):
        at, sentence = event.position_in_response, event.duplicate_sentence
        assert text.startswith(sentence, at)
        text = text[:at] + text[at + len(sentence) :]
    return text


def condensed(text: str) -> str:
    """Return the text without white space and list marks, which go with a sentence."""
    return re.sub(r"[\s-]+", "", text)
