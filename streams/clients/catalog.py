"""Topic catalog from the files in ``schemas/topics``.

One file per topic, plus ``changelogs.yaml`` for the stages' tables.  A topic whose records a stage reads
(``dead_letter: true``) has a ``<topic>.dlq`` by rule: the same partitions, 30 days, and twice the record
size, or the largest bad record could not be kept.

A topic has two names: its contract name (``chat.messages.v1``), and its name on the broker, which puts
``Settings.topic_prefix`` before it.  They are equal unless a prefix is set.

Every topic is shared or derived.  A shared one (``shared: true`` in its file) is what the services work from,
and what must reach every generation: messages, response chunks, commands (erasures among them), tokens, the
memo.  A derived one (all others, dead letters, changelogs) belongs to one generation, ``Settings.generation``,
whose name is in the topic's.  Only stages of the live generation write to shared topics.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
import yaml

from models.errors import ConfigurationError
from streams.clients.partitions import check_counts, fit, read_counts
from streams.clients.topic_spec import TopicSpec
from streams.config.namespace import Namespace
from streams.config.settings import Settings

DEAD_LETTER_SUFFIX = ".dlq"
DEAD_LETTER_RETENTION_MS = 30 * 24 * 3_600_000

TURNS = "memory.turns.v1"

#: The topics whose retention is a setting: what was said.
OF_TURNS = (TURNS, "memory.turn-vectors.v1", "memory.episodes.v1", "memory.embedding-requests.v1")

#: libyaml when the wheel has it: ten times as fast, and the catalog is read at every start.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Catalog:
    """All topics, found by contract name or by name on the broker."""

    def __init__(self, specs: Iterable[TopicSpec], prefix: str = "", generation: str = "") -> None:
        self.namespace = Namespace(prefix, generation)
        self._specs = tuple(specs)
        self._by_name = {spec.contract_name: spec for spec in self._specs}
        self._by_name.update({spec.name: spec for spec in self._specs})

    def __iter__(self) -> Iterator[TopicSpec]:
        return iter(self._specs)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def get(self, name: str) -> TopicSpec:
        """Return the topic of this contract or broker name; raises :class:`ConfigurationError` if none."""
        try:
            return self._by_name[name]
        except KeyError:
            close = difflib.get_close_matches(name, self._by_name, n=1)
            hint = f"did you mean {close[0]}?" if close else "schemas/topics has one file per topic"
            raise ConfigurationError(f"no topic is called {name!r}: {hint}") from None

    def name(self, contract_name: str) -> str:
        """Return the name on the broker of a topic."""
        return self.get(contract_name).name

    def partitions(self, name: str) -> int:
        """Return how many partitions a topic has."""
        return self.get(name).partitions

    def dead_letter_name(self, name: str) -> str:
        """Return the name on the broker of a topic's dead-letter topic; :class:`ConfigurationError` if none."""
        spec = self.get(name)
        if not spec.dead_letter:
            raise ConfigurationError(f"{spec.name} has no dead-letter topic: set dead_letter: true in its file")
        return self.name(spec.contract_name + DEAD_LETTER_SUFFIX)

    @property
    def prefix(self) -> str:
        """The prefix of the deployment."""
        return self.namespace.prefix

    @property
    def withheld(self) -> frozenset[str]:
        """Contract names of the topics that stages of this generation read and must not write.

        What they would write there (ticks, copies of commands, records moved to the right partition) the live
        generation has written already, and every generation reads it.
        """
        is_live = not self.namespace.generation
        return frozenset(spec.contract_name for spec in self._specs if spec.shared and not is_live)

    def derived(self) -> list[TopicSpec]:
        """Return the topics that belong to this generation alone."""
        return [spec for spec in self._specs if not spec.shared]

    def all(self) -> tuple[TopicSpec, ...]:
        """Return every topic: those of the files, their dead-letter topics, the changelogs."""
        return self._specs

    def most_processes(self, service: str) -> int:
        """Return how many processes can share the work of a service: the partitions of its widest source.

        What reads no topic as a group (``serve``) has ports and notes of its own instead: 1.
        """
        sources = (spec for spec in self._specs if service in spec.readers and not spec.is_changelog)
        return max((spec.partitions for spec in sources), default=1)


def catalog_for(settings: Settings) -> Catalog:
    """Return the catalog of a generation: its names, its partitions, and how long it keeps turns."""
    return load_catalog(
        settings.topic_prefix, settings.partitions, settings.turn_retention_days, settings.generation
    )


@lru_cache(maxsize=64)
def load_catalog(
    prefix: str = "", partitions: str = "", turn_retention_days: float = 0, generation: str = ""
) -> Catalog:
    """Read ``schemas/topics`` and return its catalog; names on the broker are those of :class:`Namespace`.

    ``partitions`` is as in ``SWITCHBOARD_PARTITIONS``; see :mod:`.partitions`.  ``turn_retention_days``, if
    not 0, is how long :data:`OF_TURNS` are kept.  Raises :class:`ConfigurationError` if a file is wrong, or
    if topics that must line up differ in their number of partitions.
    """
    specs = fit([*contracts()], read_counts(partitions))
    if turn_retention_days:
        kept_ms = int(turn_retention_days * 86_400_000)
        specs = [
            msgspec.structs.replace(spec, retention_ms=kept_ms) if spec.contract_name in OF_TURNS else spec
            for spec in specs
        ]
    names = Namespace(prefix, generation)
    named = [msgspec.structs.replace(spec, name=names.topic(spec.name, shared=spec.shared)) for spec in specs]
    return Catalog(named, prefix, generation)


@lru_cache(maxsize=1)
def contracts() -> tuple[TopicSpec, ...]:
    """Return the topics of ``schemas/topics``, under their contract names."""
    return tuple(read_specs(files("schemas") / "topics"))


def read_specs(folder: Traversable) -> list[TopicSpec]:
    """Return the topics of ``folder`` by contract name: described, dead-letter, changelogs."""
    described, changelogs = [], None
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name == "changelogs.yaml":
            changelogs = file
        elif file.name.endswith(".yaml"):
            described.append(_topic(file))
    specs = described + [_dead_letter(spec) for spec in described if spec.dead_letter]
    if changelogs is not None:
        specs += _changelogs(changelogs, {spec.name: spec for spec in described})
    check_counts(specs)
    _check_lags(specs)
    return specs


def _topic(file: Traversable) -> TopicSpec:
    spec = _convert(_read(file), file.name)
    if f"{spec.name}.yaml" != file.name:
        raise ConfigurationError(
            f"schemas/topics/{file.name} describes {spec.name}: rename the file or the topic"
        )
    return spec


def _dead_letter(spec: TopicSpec) -> TopicSpec:
    name = spec.name + DEAD_LETTER_SUFFIX
    return TopicSpec(
        name=name,
        contract_name=name,
        description=f"Records of {spec.name} that could not be processed, byte for byte; the headers say why.",
        owner=", ".join(spec.readers),
        readers=("operators",),
        key=spec.key,
        routed_by=spec.routed_by,
        partitions=spec.partitions,
        co_partitioned_with=(spec.name,),
        retention_ms=DEAD_LETTER_RETENTION_MS,
        max_message_bytes=2 * spec.max_message_bytes,
        dead_letter_of=spec.name,
    )


def _changelogs(file: Traversable, described: dict[str, TopicSpec]) -> list[TopicSpec]:
    content = _read(file)
    specs = []
    for table in content["tables"]:
        source = described.get(table["source"])
        if source is None:
            raise ConfigurationError(f"schemas/topics/{file.name}: no topic is called {table['source']!r}")
        entry = content["defaults"] | {
            "name": f"switchboard-{table['service']}-{table['table']}-changelog",
            "description": table["description"],
            "owner": table["service"],
            "readers": [table["service"]],
            "key": table["key"],
            "routed_by": table["key"],
            "partitions": source.partitions,
            "co_partitioned_with": [source.name],
        }
        specs.append(_convert(entry, file.name))
    return specs


def _check_lags(specs: list[TopicSpec]) -> None:
    for spec in specs:
        if not spec.is_compacted:
            continue
        if spec.max_compaction_lag_ms is None:
            raise ConfigurationError(
                f"{spec.name} is compacted without max_compaction_lag_ms: what is erased might stay for ever"
            )
        if spec.max_compaction_lag_ms <= (spec.min_compaction_lag_ms or 0):
            raise ConfigurationError(
                f"{spec.name}: max_compaction_lag_ms must be above min_compaction_lag_ms; raise the one or "
                "lower the other"
            )


def _read(file: Traversable) -> dict[str, Any]:
    try:
        content = yaml.load(file.read_bytes(), _Loader)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"schemas/topics/{file.name} is not YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"schemas/topics/{file.name} is not a mapping")
    return content


def _convert(entry: dict[str, Any], file_name: str) -> TopicSpec:
    try:
        spec = msgspec.convert(entry, TopicSpec)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"schemas/topics/{file_name}: {error}") from error
    return msgspec.structs.replace(spec, contract_name=spec.name, description=spec.description.strip())
