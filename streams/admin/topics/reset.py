"""Start a service over from what the topics hold now, or let it read one of its topics again.

State that names offsets which a topic does not have cannot be mended, only made again: :func:`reset_state`
empties the changelogs of a service's tables and lets it read all its topics from their beginnings.
:func:`rewind` lets a stage without a table read one topic again, for instance to fill a view that was
emptied.  What is written again carries the same ids as before.

Both refuse while a worker of the service lives, for it would go on with what it has in memory.  Every step
may be repeated: after an interruption, the same call finishes the work.

Both raise :class:`DependencyUnavailable` when no broker answers in time, and :class:`ConfigurationError` when
something must be done first.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError, for_code

from models.errors import ConfigurationError
from streams.admin.topics import reset_conversations, reset_episodes, reset_facts, reset_log
from streams.admin.topics.cluster import connected, create_missing, describe
from streams.admin.topics.groups import OnWait, Rewound, longest_wait, rewind_group, stands, wait_until_left
from streams.clients import kafka
from streams.clients.catalog import Catalog
from streams.clients.topic_spec import TopicSpec
from streams.config.redaction import without_credentials
from streams.config.settings import Settings
from streams.stores.folder_lock import LOCK_FILE, FolderLock

_POLL_SECONDS = 0.2

#: The service that keeps the facts, and the one that owns their index.
_FACTS_SERVICE, _INDEX_SERVICE = "memory", "recall"

#: What ``recall`` is asked to embed.
_REQUESTS = "memory.embedding-requests.v1"

#: What of that waits for a budget: kept as long as it is not asked for again.
_WAITING = "switchboard-recall-embedding-changelog"

#: What was erased of contexts: kept, or requests that are read again would bring it back.
_ERASED_CONTEXTS = "switchboard-recall-context-changelog"

#: Tables that do not say how far their source was read: it can be read again without a reset.
_UNMARKED = (_WAITING, _ERASED_CONTEXTS)


class ResetDone(NamedTuple):
    """Result of :func:`reset_state`.

    ``kept``: the facts that the table begins with (``None``: the service keeps none).  ``emptied``: the
    folder of the embedded index, if there was anything in it.
    """

    changelogs: list[str]
    rewound: list[Rewound]
    kept: reset_facts.Kept | None
    emptied: Path | None


def sources_of(catalog: Catalog, service: str) -> list[TopicSpec]:
    """Return the topics that the stages of ``service`` read."""
    return [spec for spec in catalog if service in spec.readers and not spec.is_changelog]


def changelogs_of(catalog: Catalog, service: str) -> list[TopicSpec]:
    """Return the changelogs of the tables of ``service``."""
    return [spec for spec in catalog if spec.is_changelog and spec.owner == service]


def changelog_of(catalog: Catalog, service: str, source: TopicSpec) -> TopicSpec | None:
    """Return the changelog of the table that ``source`` is folded into, ``None`` if there is none.

    A changelog lines up with the first source of its stage, and that with the stage's other ones.
    """
    names = {source.contract_name, *source.co_partitioned_with}
    tables = [spec for spec in changelogs_of(catalog, service) if spec.contract_name not in _UNMARKED]
    return next((spec for spec in tables if not names.isdisjoint(spec.co_partitioned_with)), None)


def index_folder(settings: Settings, service: str) -> Path | None:
    """Return the folder of the embedded indexes that ``service`` keeps, ``None`` if it keeps none."""
    if service != _INDEX_SERVICE or settings.qdrant_url:
        return None
    from streams.stores.index_factory import EDGE_FOLDER  # loads the engine: only who needs it waits

    return settings.folder / EDGE_FOLDER


def index_collection(settings: Settings, service: str) -> str | None:
    """Return the URL of the collection that ``service`` keeps on a Qdrant server, ``None`` if it keeps none.

    To be shown: without user and password.
    """
    if service != _INDEX_SERVICE or not settings.qdrant_url:
        return None
    url = without_credentials(settings.qdrant_url).rstrip("/")
    return f"{url}/collections/{settings.namespace.collection('facts')}"


async def reset_state(
    catalog: Catalog, settings: Settings, service: str, on_wait: OnWait = lambda members, seconds: None
) -> ResetDone:
    """Forget the state of ``service`` and let it read all its topics from their beginnings.

    The facts of ``memory`` are kept (see :mod:`.reset_facts`), and so is what was erased
    (:mod:`.reset_conversations`, :mod:`.reset_episodes`).  The embedded index of ``recall`` is emptied; a
    collection on a Qdrant server is left alone (see :func:`index_collection`).  What ``recall`` was asked to
    embed is not asked for again, and what waits there for a budget is kept, unless the requests themselves were
    made again.
    """
    sources, changelogs = sources_of(catalog, service), changelogs_of(catalog, service)
    folder, facts = index_folder(settings, service), None
    with _owned(folder):
        async with _asking(settings) as admin:
            await _require(admin, sources)
            await wait_until_left(admin, settings, service, on_wait)
            # First of all: the broker refuses it unless the group is empty, and by itself it does no harm.
            asked = service == _INDEX_SERVICE and await stands(settings, service, catalog.get(_REQUESTS))
            requests = [spec for spec in sources if spec.contract_name == _REQUESTS]
            rewound = await rewind_group(settings, service, [spec for spec in sources if spec not in requests])
        if service == _FACTS_SERVICE:
            facts = await reset_facts.read(catalog, settings)
        forgotten = forgotten_by_reset(catalog, service, asked=asked)
        known = await reset_conversations.read(catalog, settings, service, asked=asked)
        if service == _FACTS_SERVICE:
            known = await reset_episodes.read(catalog, settings)
        begun = [each for each in (facts, known) if each is not None]
        kept = [each.changelog for each in begun]
        async with _asking(settings) as admin:
            await create_missing(admin, kept, settings.replication_factor)
            await reset_log.open_changelogs(admin, kept)
        # What is kept is written behind what there is: it stands in the log at every moment, and read again
        # it is the same.
        before = await reset_log.ends(settings, kept)
        for each in begun:
            await reset_log.write(each.values, each.changelog, settings)
        emptied = folder is not None and await asyncio.to_thread(_empty, folder)
        async with _asking(settings) as admin:
            await delete_topics(admin, [spec for spec in forgotten if spec not in kept])
            await reset_log.delete_before(admin, before, settings.request_timeout_seconds)
            # No worker starts before this is done.
            await create_missing(admin, changelogs, settings.replication_factor)
            await reset_log.close_changelogs(admin, kept)
            if requests and not asked:
                # Last: an offset beyond the end says, to a worker and to the next reset, that this topic was
                # made again.
                rewound += await rewind_group(settings, service, requests)
    names = [spec.name for spec in forgotten]
    return ResetDone(names, rewound, facts.kept if facts else None, folder if emptied else None)


def forgotten_by_reset(catalog: Catalog, service: str, *, asked: bool = True) -> list[TopicSpec]:
    """Return the changelogs that a reset of ``service`` empties.

    ``asked``: what it was asked to embed stands in its topic as it was; so it does unless that was made again.
    """
    kept = _UNMARKED if asked else (_ERASED_CONTEXTS,)
    return [spec for spec in changelogs_of(catalog, service) if spec.contract_name not in kept]


def reread_by_reset(catalog: Catalog, service: str) -> list[TopicSpec]:
    """Return the topics that a reset lets ``service`` read again, whatever state they are in."""
    return [spec for spec in sources_of(catalog, service) if spec.contract_name != _REQUESTS]


async def rewind(
    catalog: Catalog,
    settings: Settings,
    service: str,
    topic: str,
    on_wait: OnWait = lambda members, seconds: None,
) -> Rewound:
    """Let ``service`` read ``topic`` from its beginning; see :func:`rewindable` for what is refused."""
    source = rewindable(catalog, service, topic)
    async with _asking(settings) as admin:
        await _require(admin, [source])
        await wait_until_left(admin, settings, service, on_wait)
        [rewound] = await rewind_group(settings, service, [source])
    return rewound


def rewindable(catalog: Catalog, service: str, topic: str) -> TopicSpec:
    """Return ``topic``, if reading it again would change anything.

    Raises :class:`ConfigurationError` when the service does not read it, or when its stage has a table: what
    that has folded in would be skipped.
    """
    source = catalog.get(topic)
    sources = sources_of(catalog, service)
    if source not in sources:
        free = [spec.name for spec in sources if changelog_of(catalog, service, spec) is None]
        raise ConfigurationError(
            f"{service} does not read {source.name}; what it can read again: {', '.join(free) or 'nothing'}"
        )
    changelog = changelog_of(catalog, service, source)
    if changelog is not None:
        raise ConfigurationError(
            f"{service} folds {source.name} into state ({changelog.name}) that knows how far it was read, so "
            f"every record would be skipped. To start over: switchboard state reset {service}"
        )
    return source


def _asking(settings: Settings) -> AbstractAsyncContextManager[AIOKafkaAdminClient]:
    seconds = longest_wait(settings) + 2 * settings.request_timeout_seconds
    return connected(settings, seconds)


async def _require(admin: AIOKafkaAdminClient, sources: Sequence[TopicSpec]) -> None:
    """Refuse topics that no worker would start on; asking for their offsets might even create them."""
    found = await describe(admin, [spec.name for spec in sources])
    wrong = [
        spec.name
        for spec in sources
        if spec.name not in found or found[spec.name].partitions != spec.partitions
    ]
    if wrong:
        raise ConfigurationError(
            f"not as the contract says: {', '.join(wrong)}. Run `switchboard topics apply`, then repeat this"
        )


async def delete_topics(admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec]) -> None:
    """Delete topics and wait until they are gone; those that are missing are no error."""
    while True:
        present = await describe(admin, [spec.name for spec in specs])
        left = [spec.name for spec in specs if spec.name in present]
        if not left:
            return
        response = await admin.delete_topics(left)
        for name, code in response.topic_error_codes:
            error = for_code(code)
            if error is TopicAuthorizationFailedError:
                raise kafka.denied("delete the topic", [name])
            if code and error is not UnknownTopicOrPartitionError and not error.retriable:
                raise ConfigurationError(f"the broker refuses to delete {name}: {error.description}")
        await asyncio.sleep(_POLL_SECONDS)


@contextmanager
def _owned(folder: Path | None) -> Iterator[None]:
    """Own the index folders for as long as the block lasts, so that no worker has one open meanwhile."""
    locks: list[FolderLock] = []
    try:
        for own in _folders(folder):
            locks.append(
                FolderLock(own, "Stop that process (a `recall` worker, or a search), then repeat this.")
            )
        yield
    finally:
        for lock in locks:
            lock.release()


def _folders(folder: Path | None) -> list[Path]:
    """Return the folders of the indexes, one for each kind, in the folder that they share."""
    if folder is None or not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())


def _empty(folder: Path) -> bool:
    """Remove all but the locks, and what is being built beside it; say whether there was anything."""
    from streams.stores.index_dirs import forget_builds

    begun = forget_builds(folder)
    entries = [each for own in _folders(folder) for each in own.iterdir() if each.name != LOCK_FILE]
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return begun or bool(entries)
