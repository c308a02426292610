"""Objects called over a socket: what comes back, who may open it, and what happens when the other side goes."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import pytest

from models.errors import DependencyUnavailable, NotFound
from streams.clients.remote.client import Remote
from streams.clients.remote.server import ObjectServer
from streams.config.socket_path import socket_path


class Point(msgspec.Struct, frozen=True):
    name: str
    x: float = 0.5


class Places(Protocol):
    async def find(self, names: Sequence[str], limit: int = 2, *, near: Point | None = None) -> list[Point]: ...

    async def fail(self, how: str) -> None: ...

    async def wait(self) -> int: ...


class Here:
    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.ended = asyncio.Event()

    async def find(self, names: Sequence[str], limit: int = 2, *, near: Point | None = None) -> list[Point]:
        return [Point(name, near.x if near else 0.0) for name in names][:limit]

    async def fail(self, how: str) -> None:
        if how == "gone":
            raise NotFound("there is no such place: look elsewhere")
        if how == "down":
            raise DependencyUnavailable("qdrant", "it is down")
        raise ZeroDivisionError("secret")

    async def wait(self) -> int:
        self.asked.set()
        try:
            await self.go.wait()
        finally:
            self.ended.set()
        return 7

    async def hidden(self) -> str:
        return "not declared"


@pytest.fixture
def here() -> Here:
    return Here()


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = socket_path(tmp_path / "a.sock")  # the temporary folder may be a deep one
    yield path
    path.unlink(missing_ok=True)


async def opened(path: Path, here: Here) -> ObjectServer:
    server = ObjectServer({"places": (Places, here)}, [NotFound], lambda: {"qdrant": 42.0})
    await server.open(path)
    return server


@pytest.fixture
async def server(path: Path, here: Here) -> AsyncIterator[ObjectServer]:
    made = await opened(path, here)
    yield made
    await made.close()


@pytest.fixture
async def remote(path: Path) -> AsyncIterator[Remote]:
    made = Remote(path, "recall", "start it", [NotFound])
    yield made
    await made.close()


async def test_calls_go_there_and_come_back(server: ObjectServer, remote: Remote) -> None:
    places = remote.object(Places, "places")
    assert await places.find(["a", "b", "c"]) == [Point("a", 0.0), Point("b", 0.0)]
    assert await places.find(["a"], limit=1, near=Point("n", 2.5)) == [Point("a", 2.5)]
    many = await asyncio.gather(*(places.find([str(number)]) for number in range(300)))
    assert [found[0].name for found in many] == [str(number) for number in range(300)]
    assert not hasattr(places, "hidden")


async def test_what_the_gone_have_asked_is_ended(server: ObjectServer, remote: Remote, here: Here) -> None:
    """A process that was killed would keep the next one waiting for its searches."""
    asking = asyncio.create_task(remote.object(Places, "places").wait())
    await here.asked.wait()
    await remote.close()
    with pytest.raises(DependencyUnavailable):
        await asking
    async with asyncio.timeout(60):
        await here.ended.wait()
        while server._tasks:
            await asyncio.sleep(0)
    assert not here.go.is_set()


async def test_what_was_given_up_is_not_gone_on_with(server: ObjectServer, remote: Remote, here: Here) -> None:
    far = remote.object(Places, "places")
    given_up = asyncio.create_task(far.wait())
    async with asyncio.timeout(60):
        await here.asked.wait()
        given_up.cancel()
        await asyncio.wait([given_up])
        await here.ended.wait()
        here.ended.clear()
        stays = asyncio.create_task(far.wait())
        assert await far.find(["a"]) == [Point("a", 0.0)]
        assert not here.ended.is_set()
        here.go.set()
        assert await stays == 7


async def test_only_errors_that_mean_something_are_told(server: ObjectServer, remote: Remote) -> None:
    places = remote.object(Places, "places")
    with pytest.raises(NotFound, match="look elsewhere"):
        await places.fail("gone")
    with pytest.raises(DependencyUnavailable, match=r"qdrant: it is down\. .* for 42 s") as down:
        await places.fail("down")
    assert down.value.dependency == "qdrant"
    with pytest.raises(RuntimeError) as mistake:
        await places.fail("otherwise")
    assert "secret" not in str(mistake.value)
    assert await places.find(["a"]), "and it goes on"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0


async def test_only_this_user_may_open_it(server: ObjectServer, path: Path) -> None:
    assert mode(path) == 0o600


async def test_who_waits_is_told_when_the_other_side_goes(path: Path, remote: Remote, here: Here) -> None:
    first = await opened(path, here)
    places = remote.object(Places, "places")
    waiting = asyncio.create_task(places.wait())
    await here.asked.wait()
    await first.close()
    assert mode(path) == 0, "it is gone"
    with pytest.raises(DependencyUnavailable):
        await waiting
    left_behind(path)
    second = await opened(path, here)
    assert await places.find(["a"]) == [Point("a", 0.0)]
    await second.close()


def left_behind(path: Path) -> None:
    """As a killed one leaves it."""
    path.touch()


async def test_what_is_no_call_ends_its_connection(server: ObjectServer, path: Path, remote: Remote) -> None:
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x02{}", b"\0\0\0\x05ab"):
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(sent)
        writer.write_eof()
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        writer.close()
    assert await remote.object(Places, "places").find(["a"])
