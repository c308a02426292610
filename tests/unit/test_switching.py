"""The generation that serves: switches under load, over HTTP, without a failed or a mixed answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from models.control import Generation
from models.errors import DependencyUnavailable
from streams.server.api.server import serve
from streams.server.serve.switching import Opened, Switch

LIVE, B = Generation(), Generation(name="b")


async def forever() -> None:
    await asyncio.Event().wait()


class Views:
    """Generations whose answers take three steps.  ``down``: those that do not answer; ``open``: those open."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.open: Counter[str] = Counter()
        self.holding = asyncio.Event()
        self.held = asyncio.Event()

    async def opening(self, generation: Generation, resources: AsyncExitStack) -> Opened:
        name = generation.name
        self.open[name] += 1
        resources.callback(self.open.subtract, [name])
        needed = asyncio.create_task(forever())
        resources.callback(needed.cancel)

        def read() -> str:
            assert self.open[name], "a closed view is read"
            return name

        async def search(request: Request) -> JSONResponse:
            steps = [read()]
            if request.query_params.get("hold"):
                self.held.set()
                await self.holding.wait()
            for _ in range(2):
                await asyncio.sleep(0.002)
                steps.append(read())
            return JSONResponse(steps)

        async def probe() -> None:
            if name in self.down:
                raise DependencyUnavailable("recall", "it does not run")

        app = Starlette(routes=[Route("/search", search)])
        return Opened(app, [needed], probe, lambda: None, lambda: True)


class Served(httpx.AsyncClient):
    """A client of the server; ``switched`` has the generations that served, in order."""

    def __init__(self, url: str, views: Views, switch: Switch, switched: asyncio.Queue[str]) -> None:
        super().__init__(base_url=url, trust_env=False, timeout=30.0)
        self.views, self.switch, self.switched = views, switch, switched

    async def search(self, **parameters: str) -> str:
        answer = await self.get("/search", params=parameters)
        assert answer.status_code == 200, answer.text
        [name] = set(answer.json())
        assert answer.headers["switchboard-generation"] == (name or "live")
        return str(name)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    views, switched = Views(), asyncio.Queue[str]()
    switch = Switch(LIVE, switched.put_nowait)
    await switch.start(views.opening)
    assert await switched.get() == ""
    running = asyncio.create_task(switch.run())
    server = await serve(switch, "127.0.0.1", 0)
    async with Served(server.url, views, switch, switched) as client:
        yield client
    await server.stop()
    running.cancel()
    await switch.close()
    assert not any(views.open.values())


async def test_each_answer_is_of_one_generation_through_switch_and_back(served: Served) -> None:
    searches: list[asyncio.Task[str]] = []
    for number in range(150):  # 50 a second
        if number in (50, 100):
            served.switch.want(B if number == 50 else LIVE)
        searches.append(asyncio.create_task(served.search()))
        await asyncio.sleep(0.02)
    found = await asyncio.gather(*searches)
    assert set(found[:50]) == {""} == set(found[140:])
    assert "b" in found[50:100]
    assert [served.switched.get_nowait() for _ in range(served.switched.qsize())] == ["b", ""]


async def test_a_request_ends_in_the_generation_in_which_it_began(served: Served) -> None:
    begun = asyncio.create_task(served.search(hold="yes"))
    await served.views.held.wait()
    served.switch.want(B)
    assert await served.switched.get() == "b"
    assert await served.search() == "b"
    assert served.views.open == {"": 1, "b": 1}, "it is closed once it has answered"
    served.views.holding.set()
    assert await begun == ""


async def test_a_generation_that_does_not_answer_serves_once_it_does(served: Served) -> None:
    served.views.down.add("b")
    served.switch.want(B)
    while served.views.open.get("b") is None:
        await asyncio.sleep(0.001)
    assert await served.search() == ""
    served.views.down.clear()
    assert await served.switched.get() == "b"
    assert await served.search() == "b"


async def test_a_generation_that_lost_a_task_ends_the_server() -> None:
    views, lost = Views(), asyncio.create_task(asyncio.sleep(0.1))

    async def opening(generation: Generation, resources: AsyncExitStack) -> Opened:
        opened = await views.opening(generation, resources)
        return Opened(opened.app, [lost], opened.probe, opened.leave, opened.is_idle)

    switch = Switch(LIVE, lambda name: None)
    await switch.start(opening)
    running = asyncio.create_task(switch.run())
    async with asyncio.timeout(30):
        await running
    await switch.close()
