"""Search of all files, the broker's and the services', for what was erased.

Retention and compaction take days; here they are shortened once the erasure is done.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from serve_rig import ServeRig
from switchboard_client import Message, Switchboard
from waiting import eventually

from deploy.local.kafka import LocalKafka
from streams.clients.partitioner import partition_of
from tests.topic_records import unpacked

pytestmark = [pytest.mark.kafka, pytest.mark.long]

SERVICES = ("ingest", "memory", "recall", "respond")

#: What is to be erased says this; what is to stay says the other.
CANARY, OTHER = "quokkaberry", "huckleberry"

LINES = (
    "I'm allergic to {} jam.",
    "I live in {}ville with my sister Anna.",
    "My sister Anna loves {} tea.",
    "I've decided to open a {} farm in May.",
    "Please never mention the {} incident again.",
)

_COMPACTED_SOON = {
    "segment.ms": "1000",
    "file.delete.delay.ms": "500",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
    "delete.retention.ms": "1000",
}
_DELETED_SOON = {"segment.ms": "1000", "file.delete.delay.ms": "500", "retention.ms": "1000"}

#: By their number in a batch's attributes.
_CODECS: dict[int, Any] = {1: cramjam.gzip, 2: cramjam.snappy, 3: cramjam.lz4, 4: cramjam.zstd}


@pytest.fixture
def quick_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """A broker that looks every second for what is to be deleted or compacted."""
    looks = {
        "log.retention.check.interval.ms": "1000",
        "log.cleaner.backoff.ms": "500",
        "log.initial.task.delay.ms": "1000",
    }
    broker = LocalKafka(tmp_path_factory.mktemp("broker"), overrides=looks)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def rig(quick_broker: LocalKafka, tmp_path: Path) -> Iterator[ServeRig]:
    rig = ServeRig(quick_broker.bootstrap_servers, tmp_path)
    rig.values["erased_files_seconds"] = "1"
    rig.need(*SERVICES)
    yield rig
    rig.close()


def names(partitions: int) -> list[str]:
    """Names of people and conversations, one for each partition."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < partitions:
        name = f"p{number}"
        found.setdefault(partition_of(name.encode(), partitions), name)
        number += 1
    return list(found.values())


def speak(rig: ServeRig, user: str, conversation: str, word: str) -> None:
    """Fill two windows and close the conversation."""
    with Switchboard(rig.url, user_id=user) as memory:
        said = [line.format(word) for line in LINES] * 4
        answers = [f"Noted: {each}" for each in said]
        messages = [
            Message(conversation_id=conversation, content=content, role=role, metadata={"note": word})
            for pair in zip(said, answers, strict=True)
            for content, role in zip(pair, ("user", "assistant"), strict=True)
        ]
        memory.add(messages)
        with rig.client() as client:
            assert client.post(f"/v1/conversations/{conversation}/close").status_code == 202


def facts(rig: ServeRig, user: str) -> list[str]:
    with rig.client() as client:
        return sorted(
            each["statement"] for each in client.get("/v1/facts", params={"user_id": user}).json()["facts"]
        )


async def change(rig: ServeRig, changes: dict[str, str], *, is_compacted: bool) -> None:
    """Change the settings of all topics that are compacted, or that have a retention."""
    specs = [
        spec
        for spec in rig.catalog.all()
        if (spec.is_compacted if is_compacted else "delete" in spec.cleanup_policy)
    ]
    admin = AIOKafkaAdminClient(bootstrap_servers=rig.settings.bootstrap_servers)
    await admin.start()
    try:
        for spec in specs:
            settings = spec.config | changes
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, spec.name, settings)])
    finally:
        await admin.close()


def contents(file: Path) -> Iterator[bytes]:
    """The bytes of a file; of a segment of Kafka, what its batches hold unpacked."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return
    yield data
    at, is_segment = 0, file.suffix == ".log" and file.stem.isdecimal()
    while is_segment and at + 61 <= len(data):
        length, attributes = struct.unpack_from(">8xi9xh", data, at)
        if length <= 0:
            return
        records = data[at + 61 : at + 12 + length]
        codec = _CODECS.get(attributes & 7)
        plain = records if codec is None else bytes(codec.decompress(records))
        yield plain
        yield from unpacked(plain)
        at += 12 + length


def topic_of(file: str) -> str:
    """The topic that a file of a broker is of."""
    return Path(file).parent.name.rpartition("-")[0]


def holding(word: str, *folders: Path) -> set[str]:
    """The files in which a word stands."""
    return {
        str(file)
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and any(word.encode() in each.lower() for each in contents(file))
    }


def test_no_file_holds_erased_text_after_its_time(rig: ServeRig, quick_broker: LocalKafka) -> None:
    folders = (quick_broker.data_dir, rig.folder)
    others = names(rig.catalog.get("chat.messages.v1").partitions)
    for name in others:
        speak(rig, name, f"c-{name}", OTHER)
    speak(rig, "ada", "c-ada", CANARY)
    for name in ("ada", *others):
        eventually(lambda name=name: len(facts(rig, name)) >= 3, f"{name} has facts")
    kept = {name: facts(rig, name) for name in others}
    before = holding(CANARY, *folders)
    topics = {topic_of(file) for file in before}
    assert len(topics) >= 6, topics

    done = rig.command("erase", "person", "ada", "--yes", "--certificate", str(rig.folder / "ada.json"))
    assert done.returncode == 0, done.stderr
    asyncio.run(change(rig, _COMPACTED_SOON, is_compacted=True))
    compacted = {spec.name for spec in rig.catalog.all() if spec.cleanup_policy == "compact"}
    rounds = itertools.count()

    def left() -> set[str]:
        number = next(rounds)
        for name in others:  # the next record closes a segment
            speak(rig, name, f"c-{name}", f"{OTHER}{number}")
        found = {each for each in holding(CANARY, quick_broker.data_dir) if topic_of(each) in compacted}
        print(*sorted(found), sep="\n")
        return found

    eventually(lambda: not left(), "no compacted topic holds it", seconds=180)
    asyncio.run(change(rig, _DELETED_SOON, is_compacted=False))
    eventually(lambda: not holding(CANARY, *folders), "no file holds it", seconds=60)  # recall runs meanwhile
    for name in others:
        assert set(kept[name]) <= set(facts(rig, name))
