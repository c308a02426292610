"""The part of a model's server that speaks Gemini's API (:mod:`deploy.local.model_server`), below ``/v1beta``.

``generateContent``, ``streamGenerateContent`` (``alt=sse``), ``embedContent``, ``batchEmbedContents``,
``countTokens`` and ``models.get``.  A request needs a key.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from deploy.local import scripted_model as scripted
from deploy.local.model_faults import HTML, RETRY_AFTER, Fault, error, error_of, spoiled
from deploy.local.routed_server import RoutedServer

#: What a client that has a timeout does not wait for.
_SLOW_SECONDS = 3600.0

#: Characters of a piece of a streamed answer, and most pieces of one.
_PIECE, _MOST_PIECES = 24, 200


class GeminiRoutes:
    """Answers for a server."""

    def __init__(self, server: RoutedServer) -> None:
        self._server = server
        self._chance = Random(1)

    def routes(self) -> list[Route]:
        """Return the routes; those of other APIs stand before them."""
        return [
            Route("/{version}/models/{model}:{method}", self._call, methods=["POST"]),
            Route("/{version}/models/{model}", self._model),
        ]

    async def _model(self, request: Request) -> Response:
        model = request.path_params["model"]
        if (refused := self._refusal(request, model, self._server.always)) is not None:
            return refused
        return JSONResponse({"name": f"models/{model}", "displayName": model, "inputTokenLimit": 1_048_576})

    async def _call(self, request: Request) -> Response:
        server, body = self._server, json.loads(await request.body() or b"{}")
        method, model = request.path_params["method"], request.path_params["model"]
        fault, number = server.arrived(request, method, model, body)
        if fault is Fault.SLOW:
            await asyncio.sleep(_SLOW_SECONDS)
        if (refused := self._refusal(request, model, fault)) is not None:
            return refused
        if method == "generateContent":
            await server.answering.wait()
            if server.answer_seconds:  # else calls of one moment are answered in their order
                await asyncio.sleep(server.answer_seconds * self._chance.uniform(0.5, 1.5))
        answer = self._answer(method, model, body, fault, number)
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
        """Return an answer as events; a faulty one sends half of them."""
        events = _events(answer)

        async def sent() -> AsyncIterator[str]:
            broken = fault in (Fault.CUT, Fault.STALLED)
            for event in events[: len(events) // 2] if broken else events:
                yield event
                await asyncio.sleep(self._server.pause_seconds)
            if fault is Fault.STALLED:
                await asyncio.sleep(_SLOW_SECONDS)

        length = {"Content-Length": str(len("".join(events).encode()) + 1)} if fault is Fault.CUT else None
        return StreamingResponse(sent(), headers=length, media_type="text/event-stream")

    def _refusal(self, request: Request, model: str, fault: Fault | None) -> Response | None:
        if fault is Fault.HTML or fault is Fault.HTML_ERROR:
            return HTMLResponse(HTML, 200 if fault is Fault.HTML else 502)
        key = request.headers.get("x-goog-api-key", request.query_params.get("key"))
        if not key or not self._server.takes(key):
            fault = Fault.WRONG_KEY
        found = None if fault is None else error_of(fault)
        if found is None and model not in self._server.models:
            found = error(404, "NOT_FOUND", f"models/{model} is not found for API version v1beta.")
        if found is None:
            return None
        headers = {"Retry-After": str(RETRY_AFTER)} if fault is Fault.RATE_LIMITED_AFTER else None
        return JSONResponse(found[1], found[0], headers)

    def _answer(
        self, method: str, model: str, body: Mapping[str, Any], fault: Fault | None, number: int
    ) -> dict[str, Any] | None:
        match method:
            case "generateContent" | "streamGenerateContent":
                return self._generated(model, body, fault, number)
            case "embedContent":
                return {"embedding": scripted.embedding(body)}
            case "batchEmbedContents":
                return {"embeddings": [scripted.embedding(each) for each in body.get("requests", ())]}
            case "countTokens":
                return {"totalTokens": scripted.tokens(body)}
            case _:
                return None

    def _generated(
        self, model: str, body: Mapping[str, Any], fault: Fault | None, number: int
    ) -> dict[str, Any]:
        asked = scripted.tokens(body)
        usage: dict[str, Any] = {"promptTokenCount": asked}
        answer: dict[str, Any] = {"modelVersion": model, "responseId": f"scripted-{number}"}
        if fault is Fault.BLOCKED_PROMPT:
            return answer | {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage}
        if fault is Fault.NO_CANDIDATES:
            return answer | {"candidates": [], "usageMetadata": usage}
        text = self._server.says(body)
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
        if not self._server.counts_usage:
            return answer | {"candidates": [candidate]}
        return answer | {"candidates": [candidate], "usageMetadata": usage}


def _cut(text: str) -> Response:
    """Return a response that closes the connection after its first half."""

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
