"""A chat in the terminal whose server goes away."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from models.errors import DependencyUnavailable
from streams.cli import chat, chat_turn
from streams.config.settings import load_settings
from streams.server.api.server import serve

_EVENT = b'event: turn\ndata: {"turn_id": "t-1"}\n\n'
_TEXT = b'id: 2\nevent: text\ndata: {"text": "Noted."}\n\n'
_END = b'event: end\ndata: {"status": "answered"}\n\n'
_BYE = b"event: bye\ndata: {}\n\n"


class Server:
    """Answers turns as a script says, in its order, and notes what was asked of it."""

    def __init__(self, *answers: Response | bytes) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []
        self.names: list[str] = []
        self.closed: list[str] = []

    async def turn(self, request: Request) -> Response:
        body = await request.json()
        self.names.append(body["turn_id"])
        self.asked.append(("say", body.get("content")))
        return self._answer()

    async def events(self, request: Request) -> Response:
        self.names.append(request.path_params["name"])
        self.asked.append(("go on", request.headers.get("last-event-id")))
        return self._answer()

    async def close(self, request: Request) -> Response:
        self.closed.append(f"{request.path_params['name']} {dict(request.query_params)}")
        return JSONResponse({}, 202)

    def _answer(self) -> Response:
        answer = self.answers.pop(0)
        told = answer if isinstance(answer, bytes) else b""
        return Response(told, media_type="text/event-stream") if isinstance(answer, bytes) else answer

    async def hear(self, *said: str, again: str = "") -> None:
        """Have all of it said, by the command."""
        routes = [
            Route("/v1/conversations/{name}/turns", self.turn, methods=["POST"]),
            Route("/v1/turns/{name}/events", self.events),
            Route("/v1/conversations/{name}/close", self.close, methods=["POST"]),
        ]
        server = await serve(Starlette(routes=routes), "127.0.0.1", 0)
        settings = load_settings(api_port=server.port, topic_prefix="")
        try:
            async with asyncio.timeout(60):
                await chat._talk(settings, "c-1", {"user_id": "ada", "tenant_id": "t"}, said, False, again)
        finally:
            await server.stop()
        assert not self.answers, "all that was to be asked was"


def problem(status: int, kind: str, detail: str, after: str = "", **more: Any) -> Response:
    body = {"type": f"urn:switchboard:problem:{kind}", "detail": detail, **more}
    return JSONResponse(body, status, headers={"retry-after": after} if after else {})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_turn, "_FIRST_PAUSE", 0.0)


_WHOLE = _EVENT + _TEXT + _END
_REST = b'id: 3\nevent: text\ndata: {"text": " And kept."}\n\n' + _END


async def test_who_leaves_a_conversation_closes_it(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(_WHOLE, _WHOLE)
    await server.hear("Hello", "And now?")
    await server.hear()
    assert server.closed == ["c-1 {'user_id': 'ada', 'tenant_id': 't'}"], "who said nothing closes nothing"
    assert capsys.readouterr().out.count("Noted.") == 2


@pytest.mark.parametrize("last", [_BYE, b""], ids=["bye", "it just ends"])
async def test_half_an_answer_is_taken_up_again(last: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(_EVENT + _TEXT + last, _REST, _WHOLE)
    await server.hear("Hello", "And now?")
    assert server.asked == [("say", "Hello"), ("go on", "2"), ("say", "And now?")]
    assert server.names[0] == server.names[1] != server.names[2], "each line has a name of its own"
    told = capsys.readouterr()
    assert told.out.startswith("it   Noted.\nit    And kept.\n") and told.err.count("connecting again") == 1


async def test_paths_unknown_to_serve_are_repeated_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server(
        _EVENT + _TEXT + _BYE, problem(404, "unknown-turn", "No such turn."), _EVENT + _TEXT + _REST
    )
    await server.hear("Hello")
    assert server.asked == [("say", "Hello"), ("go on", "2"), ("say", "Hello")]
    assert len(set(server.names)) == 1
    assert capsys.readouterr().out.count("Noted.") == 1, "what stands there is not said twice"


async def test_whoever_finds_no_room_comes_again_when_told(capsys: pytest.CaptureFixture[str]) -> None:
    full = [problem(503, "too-many-turns", "100 turns run here.", "0") for _ in range(3)]
    server = Server(*full, _WHOLE)
    await server.hear("Hello")
    assert len(set(server.names)) == 1 and len(server.names) == 4
    assert capsys.readouterr().err.count("100 turns run here. It is tried again in 0 s") == 3


async def test_ones_own_turn_that_runs_is_listened_to() -> None:
    class Ours(Server):
        def _answer(self) -> Response:
            if len(self.asked) == 1:
                return problem(409, "turn-running", "Wait.", turn_id=self.names[0])
            return super()._answer()

    server = Ours(_WHOLE)
    await server.hear("Hello")
    assert server.asked == [("say", "Hello"), ("go on", None)]


async def test_an_interrupted_turn_is_tried_again_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    interrupted = _EVENT + (
        b'event: end\ndata: {"status": "interrupted", "try_again": true, "message": "It was stopped."}\n\n'
    )
    server = Server(interrupted, _WHOLE)
    await server.hear("Hello", "/again")
    assert server.asked == [("say", "Hello"), ("say", None)], "it is not said twice"
    told = capsys.readouterr()
    assert "It was stopped." in told.out and "/again" in told.err
    with pytest.raises(DependencyUnavailable, match="--conversation c-1 --again t-"):
        await Server(interrupted).hear("Hello")
    await Server(_WHOLE).hear(again="t-1")
