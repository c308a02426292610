"""``switchboard search``: what the service answers, and what is not the service."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import samples

from streams.cli import main

AT = datetime(2026, 1, 5, 7, 12, tzinfo=UTC)
FACT = msgspec.to_builtins(
    samples.fact(
        "User likes \x1b[31mblueberries",
        at=AT,
        fact_id="f-1",
        user_id="amara",
        confidence=0.9,
        evidence_count=2,
        provenance=(samples.evidence("I like blueberries.", at=AT, offsets=(4,)),),
    )
)
TURN = msgspec.to_builtins(
    samples.turn(2, "I like \x1b[31mplums.", at=AT, conversation_id="c-1", user_id="amara", speaker="Amara")
)
COMMON = {"parts": {"meaning": 1.5}, "message_ids": ["m-1"], "conversation_id": "c-1"}
RESULTS = [
    {**COMMON, "kind": "fact", "score": 0.97, "text": FACT["statement"], "fact": FACT},
    {**COMMON, "kind": "turn", "score": 0.5, "text": TURN["text"], "turn": TURN},
]


class Api(HTTPServer):
    """Answers every request with ``status`` and ``body``, and remembers what was asked."""

    status = 200
    body: bytes = b""
    asked: dict[str, Any]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Api)
        self.server.asked = dict(parse_qs(urlsplit(self.path).query))
        if self.command == "POST":
            assert not self.server.asked, "what somebody asks is in no address"
            self.server.asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(autouse=True)
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Api]:
    with Api(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("SWITCHBOARD_API_PORT", str(server.server_address[1]))
        monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")  # where no broker is
        monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:1")  # must not be asked
        yield server
        server.shutdown()


def answer(api: Api, status: int, body: object) -> None:
    api.status, api.body = status, json.dumps(body).encode()


def test_results_are_shown_with_their_sentence(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    answer(api, 200, {"degraded": False, "results": RESULTS})
    assert main.run(["search", "fruit?", "--user", "amara", "-n", "3"]) == 0
    assert api.asked == {
        "q": "fruit?",
        "user_id": "amara",
        "tenant_id": "default",
        "search_type": "both",
        "limit": 3,
    }
    assert capsys.readouterr().out.splitlines() == [
        r"0.97  User likes \x1b[31mblueberries",
        "      preference, confidence 0.90, since 2026-01-05, said 2 times",
        "      “I like blueberries.” (c-1)",
        r"0.50  I like \x1b[31mplums.",
        "      Amara (user), 2026-01-05, turn 2 of c-1",
    ]


def test_json_is_what_the_api_answers(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    answer(api, 200, {"degraded": True, "results": RESULTS[:1]})
    assert main.run(["search", "fruit?", "-u", "amara", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["query"], shown["user_id"], shown["degraded"]) == ("fruit?", "amara", True)
    assert shown["results"][0]["fact"]["provenance"][0]["offsets"] == [4]


@pytest.mark.parametrize("command", ["search", "facts"])
def test_who_is_not_read_yet_is_not_unknown(api: Api, capsys: pytest.CaptureFixture[str], command: str) -> None:
    body = {"degraded": False, "results": [], "known": False, "empty": "not_read_yet"}
    answer(api, 200, body | {"facts": [], "next": None, "unread": True})
    assert main.run([command, *(["fruit?"] if command == "search" else []), "-u", "amara"]) == 0
    assert "What amara said is not read yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "detail", "exit_status"),
    [(503, "The recall service is starting", 69), (400, "limit must be at most 100", 78)],
)
def test_a_refusal_says_what_the_service_says(
    api: Api, capsys: pytest.CaptureFixture[str], status: int, detail: str, exit_status: int
) -> None:
    answer(api, status, {"detail": detail})
    assert main.run(["search", "fruit?", "-u", "amara"]) == exit_status
    assert detail in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>"), (200, b'{"hits":[]}'), (404, b"<html>"), (500, b"[]")]
)
def test_a_stranger_on_the_port_is_no_memory_service(
    api: Api, capsys: pytest.CaptureFixture[str], status: int, body: bytes
) -> None:
    api.status, api.body = status, body
    assert main.run(["search", "fruit?", "-u", "amara"]) == 78
    assert "SWITCHBOARD_API_PORT" in capsys.readouterr().err


def test_without_service_and_folder_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("SWITCHBOARD_API_PORT", str(taken.getsockname()[1]))
        assert main.run(["search", "fruit?", "-u", "amara"]) == 78
    assert "switchboard demo" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_a_type_a_conversation_and_a_time_are_asked_for(api: Api) -> None:
    answer(api, 200, {"degraded": False, "results": []})
    command = ["search", "fruit?", "-u", "amara", "--type", "turns", "--conversation", "c-1"]
    assert main.run([*command, "--from", "2026-01-05", "--to", "2026-01-06T12:00:00+02:00"]) == 0
    assert (api.asked["search_type"], api.asked["conversation_id"]) == ("turns", "c-1")
    assert api.asked["from"] == "2026-01-05T00:00:00+00:00"
    assert api.asked["to"] == "2026-01-06T12:00:00+02:00"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--user", " "], "--user is blank"),
        (["--from", "yesterday"], "--from is 'yesterday': write a time as"),
        (["--from", "2026-02-01", "--to", "2026-01-01"], "before it begins"),
        (["--type", "dreams"], "dreams"),
        (["--limit", "0"], "--limit"),
        (["--", "x" * 1_000_000], "1,000,000 characters"),
        (["--", "  "], "blank"),
    ],
)
def test_what_cannot_be_found_is_refused_before_anybody_is_asked(
    api: Api, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    query = [] if more[0] == "--" else ["fruit?"]
    assert main.run(["search", *query, "-u", "amara", *more]) != 0
    assert said in capsys.readouterr().err
    assert not hasattr(api, "asked")
