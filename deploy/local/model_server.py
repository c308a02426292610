"""A model's server on this machine that speaks the APIs of Gemini and of OpenAI, with a scripted model behind.

::

    python -m deploy.local.model_server --port 8390      # then, for a worker or for make demo:
    SWITCHBOARD_MODEL_URL=http://127.0.0.1:8390 GEMINI_API_KEY=scripted SWITCHBOARD_EXTRACTOR=model ...
    make demo MODEL=http://127.0.0.1:8390/v1#scripted    # by OpenAI's API

It answers ``models.generateContent``, ``streamGenerateContent`` (``alt=sse``), ``embedContent``,
``batchEmbedContents``, ``countTokens`` and ``models.get`` of ``/v1beta``, and OpenAI's API below ``/v1``
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
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from random import Random
from typing import Any, NamedTuple, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from deploy.local import scripted_model as scripted
from deploy.local.model_faults import HTML, RETRY_AFTER, Fault, error, error_of, spoiled
from deploy.local.openai_routes import Lack, OpenAIRoutes
from deploy.local.ports import LOOPBACK
from models.errors import ConfigurationError, SwitchboardError
from streams.server.api.server import ApiServer, serve

DEFAULT_PORT = 8390
KEY = "scripted"
MODELS = ("gemini-2.5-flash-lite", "gemini-2.5-flash", "gemini-embedding-001", "scripted")

#: What a client that has a timeout does not wait for.
_SLOW_SECONDS = 3600.0

#: Characters of a piece of a streamed answer, and most pieces of one.
_PIECE, _MOST_PIECES = 24, 200

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
        self._chance = Random(1)
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

    # -- what the routes of OpenAI's API need ----------------------------------------------------------------

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
                Route("/{version}/models/{model}:{method}", self._call, methods=["POST"]),
                Route("/{version}/models/{model}", self._model),
            ]
        )

    # -- the API -------------------------------------------------------------------------------------------

    async def _model(self, request: Request) -> Response:
        model = request.path_params["model"]
        fault = self._always
        if (refused := self._refusal(request, model, fault)) is not None:
            return refused
        return JSONResponse({"name": f"models/{model}", "displayName": model, "inputTokenLimit": 1_048_576})

    async def _call(self, request: Request) -> Response:
        body = json.loads(await request.body() or b"{}")
        method, model = request.path_params["method"], request.path_params["model"]
        fault, _ = self.arrived(request, method, model, body)
        if fault is Fault.SLOW:
            await asyncio.sleep(_SLOW_SECONDS)
        if (refused := self._refusal(request, model, fault)) is not None:
            return refused
        if method == "generateContent":
            await self.answering.wait()
            if self.answer_seconds:  # else calls of one moment are answered in their order
                await asyncio.sleep(self.answer_seconds * self._chance.uniform(0.5, 1.5))
        answer = self._answer(method, model, body, fault)
        if answer is None:
            return JSONResponse(error(404, "NOT_FOUND", f"There is no method {method}.")[1], 404)
        text = json.dumps(answer)
        if method == "streamGenerateContent" and fault is not Fault.REFUSED_CONNECTION:
            return self._stream(answer, fault)
        if fault is Fault.STALLED:
            await asyncio.sleep(_SLOW_SECONDS)
        if fault in (Fault.CUT, Fault.REFUSED_CONNECTION):
            return _cut(text if fault is Fault.CUT else "")
        return Response(text, media_type="application/json; charset=UTF-8")

    def _stream(self, answer: Mapping[str, Any], fault: Fault | None) -> Response:
        """Return an answer as events, of which a faulty one sends half."""
        events = _events(answer)

        async def sent() -> AsyncIterator[str]:
            broken = fault in (Fault.CUT, Fault.STALLED)
            for event in events[: len(events) // 2] if broken else events:
                yield event
                await asyncio.sleep(self.pause_seconds)
            if fault is Fault.STALLED:
                await asyncio.sleep(_SLOW_SECONDS)

        length = {"Content-Length": str(len("".join(events).encode()) + 1)} if fault is Fault.CUT else None
        return StreamingResponse(sent(), headers=length, media_type="text/event-stream")

    def _refusal(self, request: Request, model: str, fault: Fault | None) -> Response | None:
        if fault is Fault.HTML or fault is Fault.HTML_ERROR:
            return HTMLResponse(HTML, 200 if fault is Fault.HTML else 502)
        if request.headers.get("x-goog-api-key", request.query_params.get("key")) != self._key:
            fault = Fault.WRONG_KEY
        found = None if fault is None else error_of(fault)
        if found is None and model not in self._models:
            found = error(404, "NOT_FOUND", f"models/{model} is not found for API version v1beta.")
        if found is None:
            return None
        headers = {"Retry-After": str(RETRY_AFTER)} if fault is Fault.RATE_LIMITED_AFTER else None
        return JSONResponse(found[1], found[0], headers)

    def _answer(
        self, method: str, model: str, body: Mapping[str, Any], fault: Fault | None
    ) -> dict[str, Any] | None:
        match method:
            case "generateContent" | "streamGenerateContent":
                return self._generated(model, body, fault)
            case "embedContent":
                return {"embedding": scripted.embedding(body)}
            case "batchEmbedContents":
                return {"embeddings": [scripted.embedding(each) for each in body.get("requests", ())]}
            case "countTokens":
                return {"totalTokens": scripted.tokens(body)}
            case _:
                return None

    def _generated(self, model: str, body: Mapping[str, Any], fault: Fault | None) -> dict[str, Any]:
        asked = scripted.tokens(body)
        usage: dict[str, Any] = {"promptTokenCount": asked}
        answer: dict[str, Any] = {"modelVersion": model, "responseId": f"scripted-{len(self.calls)}"}
        if fault is Fault.BLOCKED_PROMPT:
            return answer | {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage}
        if fault is Fault.NO_CANDIDATES:
            return answer | {"candidates": [], "usageMetadata": usage}
        text = self.says(body)
        called = scripted.call_in(text)
        candidate: dict[str, Any] = {"index": 0, "finishReason": "STOP"}
        if called is not None and fault is None:
            candidate["content"] = {"role": "model", "parts": [{"functionCall": called}]}
            usage["candidatesTokenCount"] = scripted.tokens(text)
        elif fault is Fault.BLOCKED_ANSWER:
            candidate["finishReason"] = "SAFETY"
        elif fault is Fault.NO_TEXT:
            candidate["content"] = {"role": "model"}
        else:
            text = spoiled(fault, text) if fault is not None else text
            candidate["content"] = {"role": "model", "parts": [{"text": text}]}
            if fault is Fault.CUT_JSON:
                candidate["finishReason"] = "MAX_TOKENS"
            usage["candidatesTokenCount"] = scripted.tokens(text)
        usage["totalTokenCount"] = sum(usage.values())
        usage["cachedContentTokenCount"] = asked // 2
        if not self.counts_usage:
            return answer | {"candidates": [candidate]}
        return answer | {"candidates": [candidate], "usageMetadata": usage}

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


def _cut(text: str) -> Response:
    """Return a response of which half is sent; the connection is closed then."""

    async def half() -> AsyncIterator[str]:
        yield text[: len(text) // 2]

    return StreamingResponse(
        half(), headers={"Content-Length": str(len(text) + 1)}, media_type="application/json"
    )


def _events(answer: Mapping[str, Any]) -> list[str]:
    """Cut the text of an answer into events, as the API does; what was counted comes with the last."""
    candidates = answer.get("candidates") or [{}]
    parts = candidates[0].get("content", {}).get("parts") or [{}]
    content = parts[0].get("text", "")
    step = max(_PIECE, len(content) // _MOST_PIECES)
    pieces = [content[at : at + step] for at in range(0, len(content), step)]
    events = [
        _event({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": piece}]}}]})
        for piece in pieces[:-1]
    ]
    last = dict(answer)
    if pieces:
        last["candidates"] = [{**candidates[0], "content": {"role": "model", "parts": [{"text": pieces[-1]}]}}]
    return [*events, _event(last)]


def _event(content: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(content, ensure_ascii=False)}\r\n\r\n"


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
