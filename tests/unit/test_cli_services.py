"""Asking the services: a real health server answers, a stranger or nobody does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from streams.config.settings import Settings, load_settings
from streams.queries import services
from streams.telemetry.health import INDEX_SERVER, HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.metrics import Metrics


@pytest.fixture
def settings() -> Settings:
    return load_settings(api_host="0.0.0.0")


@pytest.fixture
def state() -> HealthState:
    return HealthState(30)


@pytest.fixture
def server(state: HealthState) -> Iterator[HealthServer]:
    with HealthServer(0, Metrics().registry, state) as running:
        yield running


async def test_a_running_service_reports_readiness_and_sums(settings: Settings, state: HealthState) -> None:
    metrics = Metrics()
    metrics.records_total.labels("memory", "facts", "a").inc(3)
    metrics.records_total.labels("memory", "index", "b").inc(4)
    state.block("recovery", "recovering state: 12 of 30 records")
    with HealthServer(0, metrics.registry, state) as server:
        report = await services.ask(settings, "memory", server.port)
        assert (report.running, report.ready) == (True, False)
        assert report.reasons == ["starting", "recovering state: 12 of 30 records"]
        assert report.metrics["records_total"] == 7
        state.clear("starting")
        state.clear("recovery")
        assert (await services.ask(settings, "memory", server.port)).ready


async def test_everything_known_of_the_qdrant_server_is_told(
    settings: Settings, server: HealthServer, state: HealthState
) -> None:
    state.clear("starting")
    state.describe(INDEX_SERVER, "unchecked: the version of the Qdrant server is not told")
    report = await services.ask(settings, "serve", server.port)
    assert (report.ready, report.reasons) == (True, ["unchecked: the version of the Qdrant server is not told"])


async def test_a_service_of_another_deployment_is_not_ours(
    settings: Settings, server: HealthServer, state: HealthState
) -> None:
    state.describe("service", "ingest")
    state.describe("topic_prefix", "theirs-")
    report = await services.ask(settings, "ingest", server.port)
    assert (report.running, report.details) == (False, {})
    assert "another deployment (topic prefix 'theirs-')" in report.reasons[0]
    assert (await services.ask(load_settings(topic_prefix="theirs-"), "ingest", server.port)).running


_READY = b'{"status": "ready", "reasons": [], "details": {}}'


@pytest.mark.parametrize(
    ("encoding", "ready", "metrics"),
    [
        ("identity", b"<html>", b""),
        ("gzip", _READY, b""),
        ("identity", _READY, b"switchboard_records_total{ ="),
    ],
)
async def test_a_stranger_on_the_port(settings: Settings, encoding: str, ready: bytes, metrics: bytes) -> None:
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-encoding", encoding)
            self.end_headers()
            self.wfile.write(metrics if self.path == "/metrics" else ready)

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        thread = threading.Thread(target=stranger.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        report = await services.ask(settings, "ingest", stranger.server_address[1])
        stranger.shutdown()
        thread.join()
    assert (report.running, report.reasons) == (False, ["something else answers on this port"])
