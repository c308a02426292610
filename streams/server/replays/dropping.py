"""Dropping a generation: its topics, groups, collections, keys and folder.

The folder goes last, so that an interrupted drop can be repeated.  Nothing that is shared is touched: what is
removed is found by names that hold the generation's.
"""

from __future__ import annotations

import asyncio
import shutil
from functools import partial

import msgspec

from models.errors import ConfigurationError, NotFound
from streams.admin.topics import cluster
from streams.admin.topics.groups import OnWait, delete_group, longest_wait, wait_until_left
from streams.admin.topics.reset import delete_topics
from streams.clients.catalog import catalog_for
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES
from streams.server.replays import record


class Dropped(msgspec.Struct):
    """Result of :func:`drop`: names of what was removed, and how many keys in Redis."""

    topics: list[str]
    groups: list[str]
    collections: list[str]
    keys: int
    folder: str


async def drop(replayed: Settings, on_wait: OnWait = lambda members, seconds: None) -> Dropped:
    """Remove all that belongs to a generation whose workers do not run.

    Raises:
        ConfigurationError: workers of it run, or the broker refuses.  NotFound: there is nothing of it.
        DependencyUnavailable: the broker, Qdrant or Redis do not answer; repeat it then.
    """
    if not replayed.generation:
        raise ConfigurationError("the live generation serves, and cannot be dropped: name a replay")
    folder, derived = replayed.folder, catalog_for(replayed).derived()
    seconds = longest_wait(replayed) * len(SERVICES) + 2 * replayed.request_timeout_seconds
    async with cluster.connected(replayed, seconds) as admin:
        found = await cluster.describe(admin, [spec.name for spec in derived])
        if not found and not folder.exists():
            raise NotFound(
                f"there is no generation {replayed.generation}, neither at {replayed.bootstrap_servers} nor in "
                f"{folder}: `switchboard replay status` lists those there are"
            )
        lock = await record.take(replayed)
        try:
            for service in SERVICES:
                await wait_until_left(admin, replayed, service, on_wait)
            await delete_topics(admin, [spec for spec in derived if spec.name in found])
            groups = [replayed.group(service) for service in SERVICES]
            deleted = [group for group in groups if await delete_group(admin, group)]
            collections = await _delete_collections(replayed)
            keys = await _delete_keys(replayed)
            await asyncio.to_thread(shutil.rmtree, folder)
        except OSError as error:
            raise ConfigurationError(f"cannot remove {folder}: {error}. Remove it by hand") from error
        finally:
            lock.release()
    return Dropped(sorted(found), deleted, collections, keys, str(folder))


async def _delete_collections(replayed: Settings) -> list[str]:
    """Delete the generation's collections on a Qdrant server; the embedded ones are in its folder."""
    if not replayed.qdrant_url:
        return []
    from streams.config.redaction import without_credentials
    from streams.stores.qdrant_connection import ask, connect  # the client takes a second to load

    seconds = replayed.request_timeout_seconds
    shown, key = without_credentials(replayed.qdrant_url), replayed.qdrant_api_key.get_secret_value()
    client = connect(replayed.qdrant_url, seconds, key, replayed.qdrant_ssl_ca_file)
    begins, deleted = replayed.namespace.collection(""), list[str]()
    try:
        for each in (await ask(client.get_collections(), shown, seconds)).collections:
            if each.name.startswith(begins):
                await ask(client.delete_collection(each.name), shown, seconds)
                deleted.append(each.name)
    finally:
        await client.close()
    return sorted(deleted)


async def _delete_keys(replayed: Settings) -> int:
    """Delete the generation's keys in a Redis; a Valkey of its own ended with its worker."""
    if not replayed.redis_url:
        return 0
    from streams.clients.redis_client import answered, open_redis

    client, count = open_redis(replayed), 0
    scan = partial(client.scan, match=f"{replayed.namespace.redis_key('')}*", count=1000)
    cursor = 0
    try:
        while True:
            cursor, keys = await answered(partial(scan, cursor), None)
            if keys:
                count += await answered(partial(client.unlink, *keys), None)
            if not cursor:
                return count
    finally:
        await client.aclose()
