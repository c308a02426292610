"""The part of a model's server that speaks OpenAI's API (:mod:`deploy.local.model_server`), below ``/v1``.

``chat/completions`` (``stream`` too), ``models``, ``embeddings``.  What ``lacks`` names is refused in the words
of servers of open models.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from deploy.local import scripted_model as scripted
from deploy.local.model_faults import HTML, RETRY_AFTER, Fault
from deploy.local.openai_bodies import chunks, completion, gemini_body
from deploy.local.routed_server import Lack, RoutedServer

_SLOW_SECONDS = 3600.0


class _Error(NamedTuple):
    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None

    def response(self, headers: Mapping[str, str] | None = None) -> Response:
        said = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return JSONResponse({"error": said}, self.status, headers)


_ERRORS: Mapping[Fault, _Error] = {
    Fault.RATE_LIMITED: _Error(429, "Rate limit reached for requests", "requests", "rate_limit_exceeded"),
    Fault.RATE_LIMITED_AFTER: _Error(429, "Rate limit reached for requests", "requests", "rate_limit_exceeded"),
    Fault.RATE_LIMITED_INFO: _Error(429, "Rate limit reached", "requests", "rate_limit_exceeded"),
    Fault.INTERNAL: _Error(500, "500 INTERNAL: the server had an error", "server_error"),
    Fault.UNAVAILABLE: _Error(503, "That model is currently overloaded with other requests.", "server_error"),
    Fault.WRONG_KEY: _Error(401, "Incorrect API key provided.", code="invalid_api_key"),
    Fault.EXPIRED_KEY: _Error(401, "The API key expired, renew it.", code="invalid_api_key"),
    Fault.NO_RIGHTS: _Error(403, "Project does not have access to model `x`.", code="model_not_allowed"),
    Fault.NO_MODEL: _Error(404, "The model `x` does not exist.", code="model_not_found"),
    Fault.BAD_REQUEST: _Error(
        400,
        "This model's maximum context length is 2048 tokens: the input token count is larger.",
        code="context_length_exceeded",
    ),
}

_TOO_LONG = _Error(
    400,
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 "
    "tokens and your request has 1500 input tokens.",
    "BadRequestError",
)

_REFUSED: Mapping[Lack, _Error] = {
    "schemas": _Error(400, "'response_format.type' : value is not one of ['text', 'json_object']"),
    "json": _Error(400, "Unsupported value for response_format", param="response_format"),
    "tools": _Error(400, "registry.example/library/small does not support tools", "api_error"),
    "temperature": _Error(
        400, "Unsupported value: 'temperature' does not support 0 with this model.", param="temperature"
    ),
    "max_tokens": _Error(
        400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param="max_tokens"
    ),
    "stream_options": _Error(422, "extra fields not permitted: stream_options"),
    "dimensions": _Error(400, "Model does not support matryoshka representation, changing output dimensions"),
}


class OpenAIRoutes:
    """Answers for a server."""

    def __init__(self, server: RoutedServer) -> None:
        self._server = server

    def routes(self) -> list[Route]:
        """Return the routes, to stand before those of other APIs."""
        return [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/embeddings", self._embed, methods=["POST"]),
            Route("/v1/models", self._list),
        ]

    async def _list(self, request: Request) -> Response:
        server = self._server
        if server.redirect_to:
            return RedirectResponse(f"{server.redirect_to}{request.url.path}", 307)
        if (refused := self._refusal(request, None, server.always)) is not None:
            return refused
        if "list" in server.lacks:
            return _Error(404, "Not Found").response()
        return JSONResponse(
            {"object": "list", "data": [{"id": name, "object": "model"} for name in server.models]}
        )

    async def _complete(self, request: Request) -> Response:
        server, body = self._server, json.loads(await request.body() or b"{}")
        fault, number = server.arrived(request, "chat.completions", str(body.get("model", "")), body)
        if (early := await self._early(request, body, fault)) is not None:
            return early
        asked = gemini_body(body)
        if server.context_tokens and scripted.tokens(asked) > server.context_tokens:
            return _TOO_LONG.response()
        answer = completion(body, server.says(asked), number, fault)
        if not server.counts_usage:
            del answer["usage"]
        if body.get("stream"):
            usage = server.counts_usage and bool((body.get("stream_options") or {}).get("include_usage"))
            return self._stream([*chunks(answer, with_usage=usage)], fault)
        text = json.dumps(answer)
        if fault is Fault.STALLED:
            await asyncio.sleep(_SLOW_SECONDS)
        if fault in (Fault.CUT, Fault.REFUSED_CONNECTION):
            return _cut(text if fault is Fault.CUT else "")
        return Response(text, media_type="application/json")

    async def _embed(self, request: Request) -> Response:
        server, body = self._server, json.loads(await request.body() or b"{}")
        fault, _ = server.arrived(request, "embeddings", str(body.get("model", "")), body)
        if (early := await self._early(request, body, fault)) is not None:
            return early
        wanted = {"outputDimensionality": body.get("dimensions", 64)}
        vectors = [
            scripted.embedding({**wanted, "content": {"parts": [{"text": text}]}})["values"]
            for text in body["input"]
        ]
        data = [{"object": "embedding", "index": n, "embedding": each} for n, each in enumerate(vectors)]
        return JSONResponse({"object": "list", "data": data, "model": body["model"]})

    async def _early(self, request: Request, body: Mapping[str, Any], fault: Fault | None) -> Response | None:
        """Return an answer that needs no request body: a redirect or a fault."""
        if self._server.redirect_to:
            return RedirectResponse(f"{self._server.redirect_to}{request.url.path}", 307)
        if fault is Fault.SLOW:
            await asyncio.sleep(_SLOW_SECONDS)
        if fault is Fault.REFUSED_CONNECTION:
            return _cut("")
        return self._refusal(request, body, fault)

    def _refusal(
        self, request: Request, body: Mapping[str, Any] | None, fault: Fault | None
    ) -> Response | None:
        if fault is Fault.HTML or fault is Fault.HTML_ERROR:
            return HTMLResponse(HTML, 200 if fault is Fault.HTML else 502)
        if not self._server.takes(request.headers.get("authorization", "").removeprefix("Bearer ")):
            fault = Fault.WRONG_KEY
        if fault is not None and (found := _ERRORS.get(fault)) is not None:
            wait = {
                Fault.RATE_LIMITED_AFTER: {"Retry-After": str(RETRY_AFTER)},
                Fault.RATE_LIMITED_INFO: {"retry-after-ms": str(RETRY_AFTER * 1000)},
            }
            return found.response(wait.get(fault))
        if body is None:
            return None
        if body.get("model") not in self._server.models:
            message = f"The model `{body.get('model')}` does not exist or you do not have access to it."
            return _Error(404, message, code="model_not_found").response()
        lacking = next((each for each in _lacking(body) if each in self._server.lacks), None)
        return None if lacking is None else _REFUSED[lacking].response()

    def _stream(self, events: list[str], fault: Fault | None) -> Response:
        """Return an answer as events; a cut or stalled one sends half of them."""

        async def sent() -> AsyncIterator[str]:
            broken = fault in (Fault.CUT, Fault.STALLED)
            for event in events[: len(events) // 2] if broken else events:
                yield event
                await asyncio.sleep(self._server.pause_seconds)
            while fault is Fault.STALLED:
                yield ": still here\n\n"
                await asyncio.sleep(0.2)

        length = {"Content-Length": str(len("".join(events).encode()) + 1)} if fault is Fault.CUT else None
        return StreamingResponse(sent(), headers=length, media_type="text/event-stream")


def _lacking(body: Mapping[str, Any]) -> Iterable[Lack]:
    """Yield what a request needs."""
    form = (body.get("response_format") or {}).get("type")
    if form == "json_schema":
        yield "schemas"
    if form is not None:
        yield "json"
    for name in ("tools", "temperature", "max_tokens", "stream_options", "dimensions"):
        if name in body:
            yield name


def _cut(text: str) -> Response:
    async def half() -> AsyncIterator[str]:
        yield text[: len(text) // 2]

    length = {"Content-Length": str(len(text) + 1)}
    return StreamingResponse(half(), headers=length, media_type="application/json")
