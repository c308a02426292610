"""Resources for a load: what the services, Kafka, Redis and Qdrant take for so many messages a day.

The figures a message are measured (``python -m benchmarks --only capacity``) and kept in ``sizing.json`` beside
this file, at two points: the larger one counts, the smaller one checks it.  For how long what is kept, the
settings and the catalog say.  A language model takes its own time and money besides, and the services less CPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from models.errors import ConfigurationError
from streams.clients.catalog import Catalog, catalog_for
from streams.clients.topics import FACTS
from streams.config.settings import Settings

MEASURED = Path(__file__).with_name("sizing.json")

_DAY = 86_400

#: Of a core, what may be busy in the peak hour: the rest is for catching up and for whoever asks.
BUSY = 0.6

#: How much of a disk or of a memory may be full.
FULL = 0.7

#: Of a byte that compaction leaves in a changelog, a process keeps so many in memory, or else in its files; and
#: in memory anyway, of the state of conversations, for their timers.
_IN_MEMORY, _IN_FILES, _IN_TIMERS = 2.0, 1.2, 0.15

#: Cores of a broker that are reckoned with, and for how long (seconds) what is written should stay in its
#: memory: who reads it then needs no disk.
_BROKER_CORES, _IN_PAGES = 4, 600

#: Files of state that one process has at most: it reads as much in ten minutes or more when it starts.
_FILE_BYTES = 32e9

#: Topics that grow with what is kept, and those that hold a vector of each turn, fact and episode.
_OF_FACTS = ("memory.fact-candidates.v1", FACTS, "switchboard-memory-facts-changelog")
_OF_VECTORS = ("memory.embeddings.v1", "memory.embedding-requests.v1")

#: State of conversations, which are forgotten some time after their latest message.
_OF_CONVERSATIONS = (
    "switchboard-ingest-conversations-changelog",
    "switchboard-memory-episodes-changelog",
    "switchboard-recall-turns-changelog",
)

_SERVICES = ("ingest", "memory", "recall", "respond", "serve")


class TopicPoint(msgspec.Struct, frozen=True):
    """A topic: its bytes on disk, its records, and the share of the bytes that compaction leaves."""

    bytes: int
    records: int
    left: float


class Point(msgspec.Struct, frozen=True):
    """Resources that a deployment took once it had read so many messages; CPU time since it was started."""

    messages: int
    cpu_seconds: dict[str, float]
    resident_bytes: dict[str, int]
    topics: dict[str, TopicPoint]
    redis_bytes: int
    index_bytes: int


class Measured(msgspec.Struct, frozen=True):
    """Figures of ``benchmarks.serving.capacity``: before any message, and after some."""

    before: Point
    points: list[Point]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """A load: messages a day, for so many days; ``peak``: the busiest hour against the mean.

    ``facts_a_message``: how many facts come of a message; ``None``: as many as were measured.  ``replicas`` of
    each partition at the brokers, which have disks of ``broker_disk_bytes``.  ``people`` of whom the messages
    are; ``None``: nobody counts them.
    """

    messages_a_day: float
    facts_a_message: float | None = None
    days: float = 365.0
    peak: float = 3.0
    replicas: int = 3
    broker_disk_bytes: float = 2e12
    people: float | None = None


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that a load takes, with room to spare.

    ``cores`` in the busiest hour, all processes of a service together; ``processes`` of each service, each of
    which needs a partition; ``process_bytes``: memory of one; ``process_disk_bytes``: its files of state, 0
    where all of it has room in memory.  ``kafka_disk_bytes`` over all brokers, replicas included;
    ``kafka_topic_bytes``: of one replica, by topic, without room to spare.  ``broker_bytes``: memory of one
    of ``brokers``, with the pages that are read again.  ``person_bytes``: disk of brokers, memory of Redis and
    of Qdrant that a person takes; empty where nobody counts people.
    """

    cores: dict[str, float]
    processes: dict[str, int]
    process_bytes: dict[str, int]
    process_disk_bytes: dict[str, int]
    kafka_cores: float
    kafka_disk_bytes: int
    kafka_topic_bytes: dict[str, int]
    brokers: int
    broker_bytes: int
    redis_bytes: int
    qdrant_bytes: int
    person_bytes: dict[str, float]

    @property
    def pods(self) -> int:
        """Processes of all services."""
        return sum(self.processes.values())


@cache
def measured() -> Measured:
    """Return the figures that come with the package."""
    return msgspec.json.decode(MEASURED.read_bytes(), type=Measured)


def size(load: Load, settings: Settings) -> Size:
    """Return the resources that a load takes.

    Raises:
        ConfigurationError: there can be no such load.
    """
    for name in load.__struct_fields__:
        value = getattr(load, name)
        if value is not None and not 0 < value < math.inf:
            raise ConfigurationError(f"{name} is {value}: give a number above 0")
    before, point, catalog = measured().before, measured().points[-1], catalog_for(settings)
    a_second, shares = load.messages_a_day / _DAY * load.peak, _shares(load, point)
    cpu = {name: grown(before, point, "cpu_seconds", name) for name in point.cpu_seconds}
    topics = {name: round(shares.get(name, 1.0) * _kept(load, point, name, settings)) for name in point.topics}
    cores = {name: a_second * cpu[name] for name in _SERVICES}
    states = {name: _state(name, topics, catalog) for name in _SERVICES}
    processes = {
        name: max(1, math.ceil(cores[name] / BUSY), math.ceil(states[name] * _IN_FILES / _FILE_BYTES))
        for name in _SERVICES
    }
    memory, files = {}, {}
    for name, count in processes.items():
        timers = _IN_TIMERS * _state(name, {each: topics[each] for each in _OF_CONVERSATIONS}, catalog) / count
        state, room = states[name] / count, settings.state_memory_mb * 1e6
        memory[name] = point.resident_bytes[name] + min(room, _IN_MEMORY * state) + timers
        files[name] = _IN_FILES * state if _IN_MEMORY * state > room else 0.0
    disk = sum(topics.values()) * load.replicas / FULL
    brokers = max(
        load.replicas,
        math.ceil(disk / load.broker_disk_bytes),
        math.ceil(a_second * cpu["kafka"] / BUSY / _BROKER_CORES),
    )
    written = a_second * sum(topic.bytes for topic in point.topics.values()) / point.messages * load.replicas
    redis = _view(load, grown(before, point, "redis_bytes"), settings.turn_log_days)
    index = shares[_OF_VECTORS[0]] * grown(before, point, "index_bytes")
    qdrant = _view(load, index, settings.turn_retention_days)
    return Size(
        cores=cores,
        processes=processes,
        process_bytes={name: round(size / FULL) for name, size in memory.items()},
        process_disk_bytes={name: round(size / FULL) for name, size in files.items()},
        kafka_cores=a_second * cpu["kafka"],
        kafka_disk_bytes=round(disk),
        kafka_topic_bytes=topics,
        brokers=brokers,
        broker_bytes=round((point.resident_bytes["kafka"] + written * _IN_PAGES / brokers) / FULL),
        redis_bytes=redis,
        qdrant_bytes=qdrant,
        person_bytes={}
        if load.people is None
        else {
            "kafka": disk / load.people,
            "redis": redis / load.people,
            "qdrant": qdrant / load.people,
        },
    )


def grown(before: Point, point: Point, figure: str, name: str = "") -> float:
    """Return the growth of a figure, or of one of its parts, by a message."""
    was, now = getattr(before, figure), getattr(point, figure)
    return float(now[name] - was[name] if name else now - was) / point.messages


def _shares(load: Load, point: Point) -> dict[str, float]:
    """Return how much of what was measured there is of topics that grow with the facts."""
    facts, vectors = (point.topics[name].records / point.messages for name in (FACTS, _OF_VECTORS[0]))
    wanted = facts if load.facts_a_message is None else load.facts_a_message
    of_vectors = (vectors - facts + wanted) / vectors
    return {**dict.fromkeys(_OF_FACTS, wanted / facts), **dict.fromkeys(_OF_VECTORS, of_vectors)}


def _kept(load: Load, point: Point, name: str, settings: Settings) -> float:
    """Return the bytes of a topic at the end: of so many days as it keeps, what compaction leaves."""
    spec, topic, days = catalog_for(settings).get(name), point.topics[name], load.days
    if spec.retention_ms is not None:
        days = min(days, spec.retention_ms / 1000 / _DAY)
    if name in _OF_CONVERSATIONS:
        days = min(days, settings.conversation_forget_days)
    written = topic.bytes / point.messages * load.messages_a_day * days
    return written * (topic.left if spec.is_compacted else 1.0)


def _view(load: Load, bytes_a_message: float, days: float) -> int:
    """Return the bytes of a view that keeps what was said for so many days (0: for ever)."""
    return round(bytes_a_message * load.messages_a_day * min(load.days, days or load.days) / FULL)


def _state(name: str, topics: Mapping[str, int], catalog: Catalog) -> float:
    """Return the bytes that the changelogs of a service keep, all processes together."""
    changelogs = (spec for spec in map(catalog.get, topics) if spec.is_changelog and spec.owner == name)
    return float(sum(topics[spec.contract_name] for spec in changelogs))
