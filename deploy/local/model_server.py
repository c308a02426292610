"""A model's server on this machine that speaks the APIs of Gemini and of OpenAI, with a scripted model behind.

::

    python -m deploy.local.model_server --port 8390      # then, for a worker or for make demo:
    SWITCHBOARD_MODEL_URL=http://127.0.0.1:8390 GEMINI_API_KEY=scripted SWITCHBOARD_EXTRACTOR=model ...
    make demo MODEL=http://127.0.0.1:8390/v1#scripted    # by OpenAI's API

It answers Gemini's API below ``/v1beta`` (:mod:`deploy.local.gemini_routes`) and OpenAI's below ``/v1``
(:mod:`deploy.local.openai_routes`), there without a key, too; what the model says is scripted by
rule (:mod:`deploy.local.scripted_model`), or told beforehand.  Calls are counted, and any of them can be made
to fail (:mod:`deploy.local.model_faults`): from Python with :meth:`ModelServer.fail`, from elsewhere with::

    curl -d '{"faults": ["rate-limited", "cut"]}' http://127.0.0.1:8390/script/faults
    curl http://127.0.0.1:8390/script/calls
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deploy.local import scripted_model as scripted
from deploy.local.gemini_routes import GeminiRoutes
from deploy.local.model_faults import Fault
from deploy.local.openai_routes import OpenAIRoutes
from deploy.local.ports import LOOPBACK
from deploy.local.routed_server import Lack
from models.errors import ConfigurationError, SwitchboardError
from streams.server.api.server import ApiServer, serve

DEFAULT_PORT = 8390
KEY = "scripted"
MODELS = ("gemini-2.5-flash-lite", "gemini-2.5-flash", "gemini-embedding-001", "scripted")

#: Says what a model answers to a request (the body of ``generateContent``); ``None``: it is not scripted here.
#: What :func:`deploy.local.scripted_model.calling` returns calls a tool.
Script = Callable[[Mapping[str, Any]], str | None]


class Call(NamedTuple):
    """A call that arrived: which method of which model, with which body, what became of it, and its trace."""

    method: str
    model: str
    body: Mapping[str, Any]
    fault: Fault | None
    traceparent: str = ""


class ModelServer:
    """``async with ModelServer() as server``: listens at ``server.url`` until it is left.

    ``calls``: all that arrived, but for ``models.get``.  ``scripts`` are asked before the usual script.
    """

    def __init__(self, *, key: str = KEY, models: Collection[str] = MODELS, port: int = 0) -> None:
        self.calls: list[Call] = []
        self.scripts: list[Script] = []
        #: Between two pieces of a streamed answer, as a model that thinks.
        self.pause_seconds = 0.0
        #: To an answer that is not streamed: from half of it to one and a half.
        self.answer_seconds = 0.0
        #: While it is cleared, none is given.
        self.answering = asyncio.Event()
        self.answering.set()
        #: Of OpenAI's API: what it does not take, where it redirects to, how long a request may be.
        self.lacks: set[Lack] = set()
        self.redirect_to = ""
        self.context_tokens = 0
        self.counts_usage = True
        self.headers: list[Mapping[str, str]] = []
        self._key = key
        self._models = models
        self._port = port
        self._faults: deque[Fault] = deque()
        self._always: Fault | None = None
        self._server: ApiServer | None = None

    async def __aenter__(self) -> Self:
        self._server = await serve(self.app(), LOOPBACK, self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.stop(grace_seconds=0.1)

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None
        return self._server.url

    def fail(self, *faults: Fault) -> None:
        """Let each of the next calls fail in one of these ways, in their order."""
        self._faults.extend(faults)

    def fail_always(self, fault: Fault | None) -> None:
        """Let every call fail so, those of ``models.get`` too; ``None``: no longer."""
        self._always = fault

    def count(self, method: str = "") -> int:
        """Return how many calls of a method, or of any, have arrived."""
        return sum(call.method == method or not method for call in self.calls)

    # -- what the routes of the APIs need --------------------------------------------------------------------

    @property
    def models(self) -> Collection[str]:
        """Names of the models that are there."""
        return self._models

    @property
    def always(self) -> Fault | None:
        """The fault of every call."""
        return self._always

    def takes(self, key: str) -> bool:
        """Say whether a key is taken; as servers of open models do, a request without one is."""
        return key in ("", self._key)

    def says(self, body: Mapping[str, Any]) -> str:
        """Return the model's answer to the body of ``generateContent``."""
        text = next((said for script in self.scripts if (said := script(body)) is not None), None)
        return scripted.said(body) if text is None else text

    def arrived(
        self, request: Request, method: str, model: str, body: Mapping[str, Any]
    ) -> tuple[Fault | None, int]:
        """Count a call; return what becomes of it, and its number."""
        fault = self._always or (self._faults.popleft() if self._faults else None)
        self.calls.append(Call(method, model, body, fault, request.headers.get("traceparent", "")))
        self.headers.append(request.headers)
        return fault, len(self.calls)

    def app(self) -> Starlette:
        """Return the application, to be served anywhere."""
        return Starlette(
            routes=[
                Route("/script/calls", self._tell),
                Route("/script/faults", self._plan, methods=["POST"]),
                *OpenAIRoutes(self).routes(),
                *GeminiRoutes(self).routes(),
            ]
        )

    # -- its script ----------------------------------------------------------------------------------------

    async def _tell(self, request: Request) -> Response:
        counted = Counter(call.method for call in self.calls)
        failed = Counter(call.fault for call in self.calls if call.fault is not None)
        return JSONResponse({"calls": dict(counted), "faults": dict(failed)})

    async def _plan(self, request: Request) -> Response:
        try:
            faults = [Fault(each) for each in json.loads(await request.body())["faults"]]
        except (ValueError, KeyError, TypeError) as wrong:
            known = ", ".join(Fault)
            return JSONResponse({"error": f'send {{"faults": [...]}} with some of {known} ({wrong})'}, 422)
        self.fail(*faults)
        return JSONResponse({"planned": [*self._faults]})


def main() -> None:
    """Entry point of ``python -m deploy.local.model_server``."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.local.model_server", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="where it listens (0: any free port)")
    parser.add_argument("--key", default=KEY, help="the key that it takes")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two pieces of an answer")
    parser.add_argument(
        "--delay", type=float, default=0.0, help="mean seconds to an answer that is not streamed"
    )
    options = parser.parse_args()
    try:
        asyncio.run(_run(options.port, options.key, options.pause, options.delay))
    except SwitchboardError as failed:
        parser.exit(78 if isinstance(failed, ConfigurationError) else 69, f"{failed}\n")
    except KeyboardInterrupt:
        pass


async def _run(port: int, key: str, pause: float, delay: float) -> None:
    async with ModelServer(key=key, port=port) as server:
        server.pause_seconds, server.answer_seconds = pause, delay
        print(f"a scripted model answers at {server.url} (key: {key}); Ctrl-C ends it", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
