"""The health server: it answers whatever the event loop does, and it says why."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from samples import Clock

from models.errors import ConfigurationError
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer, _Server
from streams.telemetry.metrics import Metrics


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def state(clock: Clock) -> HealthState:
    return HealthState(hang_timeout_seconds=30, clock=clock)


@pytest.fixture
def server(state: HealthState) -> Iterator[HealthServer]:
    with HealthServer(0, Metrics().registry, state) as running:
        yield running


def ask(server: HealthServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def reasons(server: HealthServer, path: str) -> tuple[int, list[str]]:
    status, body = ask(server, path)
    return status, json.loads(body)["reasons"]


def test_a_worker_starts_alive_and_not_ready(server: HealthServer, state: HealthState) -> None:
    assert reasons(server, "/healthz") == (200, [])
    assert reasons(server, "/readyz") == (503, ["starting"])
    state.clear("starting")
    assert reasons(server, "/readyz") == (200, [])


def test_a_spare_is_ready_and_says_so(server: HealthServer, state: HealthState) -> None:
    state.clear("starting")
    state.standby(True)
    assert ask(server, "/readyz")[0] == 200
    assert json.loads(ask(server, "/readyz")[1])["status"] == "standby"
    state.block("kafka", "the broker has not answered for 6 s")
    assert json.loads(ask(server, "/readyz")[1])["status"] == "unavailable"
    state.clear("kafka")
    state.standby(False)
    assert json.loads(ask(server, "/readyz")[1])["status"] == "ok"


def test_a_loop_that_stops_beating_is_unhealthy(server: HealthServer, state: HealthState, clock: Clock) -> None:
    state.clear("starting")
    clock.now += 30
    assert reasons(server, "/healthz") == (200, [])
    clock.now += 1
    assert reasons(server, "/healthz") == (503, ["the event loop has not answered for 31 s"])
    assert reasons(server, "/readyz") == (503, ["the event loop has not answered for 31 s"])
    state.beat()
    assert reasons(server, "/healthz") == (200, [])


def test_waiting_names_the_time_until_the_last_stage_continues(
    server: HealthServer, state: HealthState, clock: Clock
) -> None:
    state.clear("starting")
    state.waiting("qdrant")
    clock.now += 5
    state.waiting("qdrant")
    clock.now += 7
    assert reasons(server, "/readyz") == (503, ["waiting for qdrant for 12 s"])
    assert reasons(server, "/healthz") == (200, [])
    state.arrived("qdrant")
    assert reasons(server, "/readyz")[0] == 503
    state.arrived("qdrant")
    state.arrived("qdrant")  # once too often does no harm
    assert reasons(server, "/readyz") == (200, [])


def test_a_failure_is_unhealthy(server: HealthServer, state: HealthState) -> None:
    state.fail("another worker took the name ingest-1")
    assert reasons(server, "/healthz") == (503, ["another worker took the name ingest-1"])


def test_metrics_and_unknown_paths(server: HealthServer) -> None:
    status, text = ask(server, "/metrics?x=1")
    assert status == 200
    assert "switchboard_build_info{" in text
    assert ask(server, "/")[0] == 404


async def test_it_answers_while_the_event_loop_hangs(server: HealthServer) -> None:
    # asked from inside the loop and without await: the loop stands still until the answer is there
    assert ask(server, "/healthz")[0] == 200


def test_a_taken_port_names_the_setting(server: HealthServer, state: HealthState) -> None:
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_METRICS_PORT") as refused:
        HealthServer(server.port, Metrics().registry, state)
    assert str(server.port) in str(refused.value)
    assert "taken" in str(refused.value)


@pytest.mark.parametrize("sent", [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: a"])
def test_an_endless_request_is_ended(
    server: HealthServer, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Server, "request_seconds", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as half:
        half.sendall(sent)
        assert half.recv(100) == b""
    assert ask(server, "/healthz")[0] == 200


def test_too_many_connections_are_turned_away(server: HealthServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Server, "most_connections", 3)
    monkeypatch.setattr(_Server, "request_seconds", 1.0)
    address = ("127.0.0.1", server.port)
    opened = [socket.create_connection(address, timeout=60) for _ in range(3)]
    with socket.create_connection(address, timeout=60) as refused:
        assert refused.recv(100) == b""
    for each in opened:  # they have had their time
        assert each.recv(100) == b""
        each.close()
    assert ask(server, "/healthz")[0] == 200
