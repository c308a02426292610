"""A contender of the benchmarks does the same work: its windows are compared, and a difference is an error."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from benchmarks.pipeline import kafka_streams, same_windows
from benchmarks.pipeline.load import fill
from benchmarks.pipeline.running import last_figures, make_topics
from benchmarks.pipeline.workload import SIZE, State, chat_message, decode_message, encode, fold

MESSAGES, CONVERSATIONS = 2000, 20


def windows() -> list[tuple[bytes, bytes]]:
    """The windows that the load makes, as the bare loop writes them."""
    states: dict[bytes, State] = {}
    found = []
    for number in range(MESSAGES):
        key, value = chat_message(number, CONVERSATIONS)
        if window := fold(states.setdefault(key, State()), decode_message(value)):
            found.append((key, encode(window)))
    return found


async def write(servers: str, topic: str, records: list[tuple[bytes, bytes]]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for key, value in records:
            await producer.send(topic, value, key=key)


@pytest.mark.kafka
@pytest.mark.skipif(kafka_streams.find_javac() is None, reason=kafka_streams.WITHOUT_JDK)
def test_kafka_streams_writes_the_same_windows(kafka: Any, topic_prefix: str, tmp_path: Path) -> None:
    servers = kafka.bootstrap_servers
    source, target, bare = (f"{topic_prefix}{name}" for name in ("messages", "streams", "bare"))
    asyncio.run(make_topics(servers, [source, target, bare]))
    asyncio.run(fill(servers, source, MESSAGES, CONVERSATIONS))
    javac = kafka_streams.find_javac()
    assert javac is not None
    command = kafka_streams.compile_contender(javac, tmp_path / "classes")
    arguments = [servers, source, target, str(MESSAGES), str(tmp_path / "state")]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=True)
    assert last_figures(done.stdout)["records"] <= MESSAGES * 3 / 4
    asyncio.run(write(servers, bare, windows()))
    asyncio.run(same_windows.check(servers, bare, target, same_windows.to_the_byte))


@pytest.mark.kafka
@pytest.mark.parametrize("read", [same_windows.to_the_byte, same_windows.messages])
async def test_other_windows_are_an_error(kafka: Any, topic_prefix: str, read: same_windows.Read) -> None:
    servers, expected = kafka.bootstrap_servers, windows()
    another = [
        (key, value.replace(b'"conversation-000007-9"', b'"conversation-000007-8"')) for key, value in expected
    ]
    names = [f"{topic_prefix}{name}" for name in ("ours", "same", "fewer", "another", "none")]
    await make_topics(servers, names)
    ours = names[0]
    for name, records in zip(names, [expected, expected, expected[:-1], another, []], strict=True):
        await write(servers, name, records)
    await same_windows.check(servers, ours, names[1], read)
    for name in names[2:]:
        with pytest.raises(SystemExit, match=f"{name} has other windows than {ours}"):
            await same_windows.check(servers, ours, name, read)
    with pytest.raises(SystemExit, match="has no windows"):
        await same_windows.check(servers, names[-1], names[-1], read)


def test_windows_of_both_stages_are_compared_by_their_messages() -> None:
    ids = [f"m-{number}" for number in range(SIZE)]
    trivial = encode({"message_ids": ids, "contents": ids})
    whole = encode({"message_ids": ids, "messages": [{"content": each, "index": 0} for each in ids]})
    assert same_windows.messages(trivial) == same_windows.messages(whole) == (ids, ids)


def test_no_compiler_is_found_where_there_is_no_jdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert kafka_streams.find_javac() is None
    javac = tmp_path / "bin" / "javac"
    javac.parent.mkdir()
    for version, found in (("1.8.0_392", False), ("11.0.2", False), ("17.0.15", True), ("25", True)):
        javac.write_text(f"#!/bin/sh\necho javac {version}\n")
        javac.chmod(0o755)
        assert (kafka_streams.find_javac() == javac) is found
