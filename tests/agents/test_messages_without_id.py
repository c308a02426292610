"""Messages without an id: both readers of the log give each the same one, again and again."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import msgspec

from models import ids
from models.messages import PUNCTUATION_HEADER
from models.turns import Turn
from models.windows import Window
from streams.agents.ingest.conversations import WINDOWS, Conversations
from streams.agents.message_log import read_message
from streams.agents.recall.turns import TURNS, Turns
from streams.clients.records import Record, rerouted
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import START, StageHarness

SETTINGS = Settings(window_size=3, window_overlap=1)


def body(content: str = "hello", **changes: Any) -> bytes:
    message = {"conversation_id": "c", "user_id": "ada", "role": "user", "content": content}
    return json.dumps(message | {"sent_at": START.isoformat()} | changes).encode()


def log(*values: bytes, **changes: Any) -> list[Record]:
    arrived = int(START.timestamp() * 1000)
    return [
        Record(value, b"c", offset, MESSAGES, 5, arrived)._replace(**changes)
        for offset, value in enumerate(values)
    ]


def windows_of(*batches: list[Record]) -> StageHarness:
    harness = StageHarness(Conversations(SETTINGS, cl100k_counter()).stage())
    for batch in batches:
        harness.feed(*batch)
    return harness


def turns_of(*batches: list[Record]) -> list[Turn]:
    harness = StageHarness(Turns(SETTINGS).stage())
    for batch in batches:
        harness.feed(*batch)
    return [
        msgspec.json.decode(each.value, type=Turn)
        for each in harness.outputs
        if each.topic == TURNS and each.value
    ]


def test_its_id_is_its_record_s_place_in_every_replay() -> None:
    records = log(body(), body(), body(message_id="mine"))
    expected = [ids.message_id(f"{MESSAGES}-5", 0), ids.message_id(f"{MESSAGES}-5", 1), "mine"]
    for batches in ([records], [records[:1], records[1:]]):
        [window] = windows_of(*batches).values(WINDOWS, Window)
        assert list(window.message_ids) == expected, "two messages of the same words are two"
        assert [turn.message_id for turn in turns_of(*batches)] == expected
    assert [read_message(record).message_id for record in records] == expected


def test_a_rerouted_record_keeps_its_id_and_counts_once() -> None:
    """A record without a key is sent on, and after a crash once more."""
    stray = log(body(), key=None)[0]._replace(partition=2, offset=41)
    copies = [
        Record(stray.value, b"c", offset, MESSAGES, 5, stray.timestamp, rerouted(stray)) for offset in (0, 1)
    ]
    [turn] = turns_of(copies)
    assert turn.message_id == ids.message_id(f"{MESSAGES}-2", 41)
    assert {read_message(each).message_id for each in copies} == {turn.message_id}
    moved = windows_of([stray]).outputs
    assert [(each.key, each.value) for each in moved] == [(b"c", stray.value)]


def test_what_was_erased_stays_erased_when_it_is_read_again() -> None:
    said = log(body("my bike is red"), body("yes"))
    mark = Record(
        json.dumps({"punctuation": "erase", "conversation_id": "c"}).encode(),
        b"c",
        2,
        MESSAGES,
        5,
        said[0].timestamp + 1000,
        [(PUNCTUATION_HEADER, b"erase")],
    )
    # Another copy of the first, as a producer's or a mirror's retry makes it: with the id that it has here.
    again = Record(
        body("my bike is red", message_id=ids.message_id(f"{MESSAGES}-5", 0)),
        b"c",
        3,
        MESSAGES,
        5,
        int((START + timedelta(seconds=9)).timestamp() * 1000),
    )
    turns = turns_of(said, [mark, again])
    assert [turn.text for turn in turns] == ["my bike is red", "yes"], "nothing comes after the erasure"
