"""``switchboard import``, ``export`` and ``dlq`` against a real broker."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import samples
from aiokafka import AIOKafkaProducer

from deploy.local.kafka import LocalKafka
from models.messages import Role
from models.summaries import SessionSummary
from models.turns import Turn
from streams.cli import main
from streams.clients.partitioner import partition_of
from streams.clients.records import Record
from streams.runtime.deadletters import to_outputs
from streams.runtime.effects import DeadLetter
from tests.topic_records import records_of

pytestmark = pytest.mark.kafka

PARTITIONS = 8
MESSAGES = "chat.messages.v1"
AT = datetime(2026, 1, 5, 8, tzinfo=UTC)

TRACE = ("ce_traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

Run = Callable[..., tuple[int, str, str]]
Sent = tuple[str, bytes | None, bytes | None, int, Sequence[tuple[str, bytes | None]]]


class Log:
    def __init__(self, servers: str, prefix: str) -> None:
        self._servers, self._prefix = servers, prefix

    def write(self, *records: Sent) -> None:
        async def go() -> None:
            async with AIOKafkaProducer(bootstrap_servers=self._servers, max_request_size=8 << 20) as producer:
                for topic, key, value, partition, headers in records:
                    name = self._prefix + topic
                    await producer.send_and_wait(
                        name, value, key=key, partition=partition, headers=list(headers)
                    )

        asyncio.run(go())

    def read(self, topic: str) -> list[Any]:
        name = self._prefix + topic
        return asyncio.run(records_of(self._servers, {name: PARTITIONS}))[name]


@pytest.fixture
def run(
    kafka: LocalKafka,
    topic_prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> Run:
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", kafka.bootstrap_servers)
    monkeypatch.setenv("SWITCHBOARD_TOPIC_PREFIX", topic_prefix)
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main.run(arguments)
        out, err = capsysbinary.readouterr()
        return status, out.decode(), err.decode()

    assert run("topics", "apply")[0] == 0
    return run


@pytest.fixture
def log(kafka: LocalKafka, topic_prefix: str) -> Log:
    return Log(kafka.bootstrap_servers, topic_prefix)


def claude_export(*texts: str) -> bytes:
    messages = [
        {"uuid": f"m{n}", "text": text, "sender": "human", "created_at": "2026-01-05T08:00:01Z"}
        for n, text in enumerate(texts)
    ]
    return json.dumps([{"uuid": "k-1", "name": "Evil \x1b[31m", "chat_messages": messages}]).encode()


def test_an_export_is_imported_once_however_often_it_is_given(run: Run, log: Log, tmp_path: Path) -> None:
    file = tmp_path / "export \x1b[31m.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../evil.txt", "no")
        archive.writestr(
            "data/conversations.json", claude_export("I live in Lisbon.", "x" * 70_000, "I have a dog.")
        )

    _, out, _ = run("import", "claude", str(file), "--user", "ada", "--dry-run", "--json")
    counted = json.loads(out)
    assert (counted["messages"], counted["sent"], counted["skipped"]["content_too_large"]["count"]) == (2, 0, 1)
    assert log.read(MESSAGES) == []

    report = tmp_path / "skipped.jsonl"
    status, out, _ = run("import", "claude", str(file), "--user", "ada", "--report", str(report))
    assert status == 65  # something could not be taken
    assert "sent 2, already there 0; 1 conversation closed" in out
    assert "line 1, conversation 1, message 2: content exceeds 65536 bytes" in out
    assert json.loads(report.read_text())["reason"] == "content_too_large"
    records = log.read(MESSAGES)
    assert [json.loads(record.value)["content"] for record in records] == ["I live in Lisbon.", "I have a dog."]
    assert json.loads(records[0].value)["sent_at"] == "2026-01-05T08:00:01Z"
    assert {record.partition for record in records} == {partition_of(records[0].key, PARTITIONS)}
    [command] = log.read("memory.commands.v1")
    assert json.loads(command.value)["command"] == "close"

    _, out, _ = run("import", "claude", str(file), "--user", "ada")
    assert "sent 0, already there 2" in out
    assert len(log.read(MESSAGES)) == 2 and len(log.read("memory.commands.v1")) == 1

    # Erased: it does not come back under the same ids.
    body = {"punctuation": "erase", "conversation_id": records[0].key.decode()}
    punctuation = (MESSAGES, records[0].key, json.dumps(body).encode(), records[0].partition)
    log.write((*punctuation, [("sw_punctuation", b"erase")]))
    _, out, _ = run("import", "claude", str(file), "--user", "ada")
    assert "sent 0, already there 0" in out and "erased: 2. " in out
    assert len(log.read(MESSAGES)) == 3, "with the erasure"
    assert "\x1b" not in out


def turn(index: int, text: str) -> Turn:
    return samples.turn(index, text, at=AT, conversation_id="c-1", message_id=f"m-{index}", role=Role.USER)


def test_a_conversation_is_exported_and_can_be_imported_again(
    run: Run, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHBOARD_MASK_PATTERNS", '["EMP-[0-9]{6}"]')
    place = partition_of(b"c-1", PARTITIONS)
    summary = samples.summary(0, "Lives in Lisbon.", at=AT, summary_id="s-1", conversation_id="c-1", tokens=9)
    erased = msgspec.structs.replace(summary, summary_id="s-0", summary=SessionSummary(key_facts=("Gone.",)))
    said = {
        "message_id": "m-1",
        "conversation_id": "c-1",
        "user_id": "ada",
        "metadata": {
            "name": "Ada EMP-123456",
            "query": {"open": True, "EMP-654321": [1, "pay with 4111 1111 1111 1111"]},
        },
    }
    log.write(
        *(
            ("memory.turns.v1", each.turn_id.encode(), msgspec.json.encode(each), place, [])
            for each in (turn(1, "Hello"), turn(0, "I live in Lisbon."))
        ),
        ("memory.summaries.v1", b"s-1", msgspec.json.encode(summary), place, []),
        ("memory.summaries.v1", b"s-0", msgspec.json.encode(erased), place, []),
        ("memory.summaries.v1", b"s-0", None, place, []),
        (MESSAGES, b"c-1", json.dumps(said).encode(), place, []),
        (MESSAGES, b"c-1", b"{broken", place, []),
    )
    file = tmp_path / "out.jsonl"
    status, _, err = run("export", "c-1", "--output", str(file))
    assert status == 0, err
    first, second, third = map(json.loads, file.read_text().splitlines())
    assert (first["content"], first["is_summarized"], first["metadata"]) == ("I live in Lisbon.", True, {})
    assert (second["token_count"], second["is_summarized"]) == (6, False)
    own, card = "[masked: own pattern]", "[masked: card number]"
    assert second["metadata"] == {"name": f"Ada {own}", "query": {"open": True, own: [1, f"pay with {card}"]}}
    assert (first["masked"], second["masked"]) == (0, 3)
    assert (third["type"], third["summary"]["key_facts"]) == ("summary", ["Lives in Lisbon."])
    assert run("export", "c-1", "-o", str(file))[0] == 78
    assert run("export", "nobody")[0] == 66
    assert run("export")[0] == 78

    _, out, _ = run("import", "jsonl", str(file), "--json")
    counted = json.loads(out)
    assert (counted["messages"], counted["already_there"], counted["sent"]) == (2, 2, 0)
    assert counted["skipped"]["not_a_message"]["count"] == 1
    _, out, _ = run("import", "jsonl", str(file), "--json", "--tenant", "acme")
    assert json.loads(out)["sent"] == 2


def letter(
    value: bytes, reason: str = "invalid_json", limit: int = 1 << 20, offset: int = 7, trace: bool = True
) -> list[Sent]:
    """What the runtime writes for a record of ``c-1``."""
    own = [
        ("trace", b"1"),
        *([TRACE] if trace else []),
        ("rerouted_from", b"chat.messages.v1-1-5"),
        ("rerouted_timestamp", b"1"),
    ]
    record = Record(value, b"c-1", offset, MESSAGES, 3, 0, own)
    outputs = to_outputs(DeadLetter(record, reason, "no \x1b[31m", 1), source=MESSAGES, stage="s", limit=limit)
    return [(each.topic, each.key, each.value, 3, each.headers) for each in outputs]


def test_dead_letters_are_listed_shown_retried_and_dropped(run: Run, log: Log) -> None:
    split = letter(b"s" * 5000, "step_failed", 1000)
    assert len(split) > 2
    log.write(*letter(b"{bad\x1b[31m"), *split, *split, *split[:1])
    cut = letter(b"c" * (17 << 20), "output_too_large", 1 << 20, offset=9)
    assert len(cut) == 1
    log.write(*cut, (f"{MESSAGES}.dlq", None, b"foreign", 0, []))

    _, out, _ = run("dlq", "list", "--json")
    assert {(each["reason"], each["count"]) for each in json.loads(out)} == {
        ("invalid_json", 1),
        ("step_failed", 1),
        ("output_too_large", 1),
        ("unknown", 1),
    }
    _, out, _ = run("dlq", "list", MESSAGES)
    assert "\x1b" not in out and "no \\x1b[31m" in out
    _, out, _ = run("dlq", "show", MESSAGES, "3:0")
    assert "{bad\\x1b[31m" in out and "trace: 1" in out and "\x1b" not in out
    _, out, _ = run("dlq", "show", MESSAGES, "3:1", "--json")
    assert bytes.fromhex(json.loads(out)["record"]["hex"]) == b"s" * 5000

    status, _, err = run("dlq", "retry", MESSAGES, "3:0", f"3:{1 + 2 * len(split) + 1}")
    assert (status, "only its beginning was kept" in err) == (78, True), err
    assert log.read(MESSAGES) == []
    for wrong, expected in ((["9"], 78), (["3:99"], 66), ([], 78), (["3:0", "--all"], 78)):
        assert run("dlq", "retry", MESSAGES, *wrong)[0] == expected
    assert run("dlq", "retry", "no.such.topic", "--all")[0] == 66

    _, out, err = run("dlq", "retry", MESSAGES, "--all")
    assert not err
    assert "sent again: 3 letters" in out and "only its beginning was kept" in out
    again = {record.value: record for record in log.read(MESSAGES)}
    assert again.keys() == {b"{bad\x1b[31m", b"s" * 5000, b"foreign"}
    bad = again[b"{bad\x1b[31m"]
    assert (bad.key, bad.partition, bad.headers) == (
        b"c-1",
        partition_of(b"c-1", PARTITIONS),
        (("trace", b"1"), TRACE),
    )
    assert again[b"s" * 5000].headers == (("trace", b"1"), TRACE)

    # Refused again: another letter, of the same record.
    log.write(*letter(b"{bad\x1b[31m", offset=20))
    _, out, _ = run("dlq", "list", MESSAGES, "--json")
    assert [(each["reason"], each["refused"]) for each in json.loads(out)] == [
        ("output_too_large", 1),
        ("invalid_json", 2),
    ]

    # Out of its trace it is the same record still.
    assert run("dlq", "retry", MESSAGES, "--reason", "invalid_json", "--no-trace")[0] == 0
    [_, last] = [record for record in log.read(MESSAGES) if record.value == b"{bad\x1b[31m"]
    assert last.headers == (("trace", b"1"),)
    log.write(*letter(b"{bad\x1b[31m", offset=21, trace=False))
    _, out, _ = run("dlq", "list", MESSAGES, "--json")
    assert json.loads(out)[-1]["refused"] == 3
    _, out, _ = run("dlq", "drop", MESSAGES, "--reason", "output_too_large", "--json")
    assert len(json.loads(out)["dropped"]) == 1
    _, out, _ = run("dlq", "drop", MESSAGES, "--all")
    assert run("dlq", "list")[1] == "there are no dead letters\n"
