"""What costs much to start, for all tests of a process that ask for it."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from serve_rig import ServeRig

from deploy.local.kafka import LocalKafka
from streams.clients.local_valkey import LocalValkey


@pytest.fixture(scope="session")
def deployment(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeRig]:
    """One with ``switchboard serve``, which runs; leave it running."""
    rig = ServeRig(kafka.bootstrap_servers, tmp_path_factory.mktemp("serve"))
    yield rig
    rig.close()


@pytest.fixture(scope="session")
def shared_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalValkey]:
    """A Valkey for all tests of a process: their keys begin with prefixes of their own."""
    valkey = LocalValkey(tmp_path_factory.mktemp("valkey"), "test")
    asyncio.run(valkey.ensure())
    yield valkey
    asyncio.run(valkey.close())


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[LocalValkey]:
    """A Valkey of one test, which may start, stop and kill it."""
    server = LocalValkey(tmp_path, "test")
    yield server
    await server.close()


@pytest.fixture
def authorities_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client reads all authorities three times when it is made, 0.05 s each; none here speaks TLS."""
    monkeypatch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
