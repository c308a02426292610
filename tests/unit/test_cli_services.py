"""Asking the services: a real health server answers, a stranger or nobody does not."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from deploy.local.ports import free_ports, is_free
from models.errors import ConfigurationError
from streams.cli import doctor, status
from streams.runtime.epoch import Epoch, Progress
from streams.runtime.faust_internals import TP
from streams.runtime.service import ServiceRuntime
from streams.settings import Settings, load_settings
from streams.settings.services import port_of
from streams.telemetry import services
from streams.telemetry.health import INDEX_REBUILD, HealthServer, HealthState
from streams.telemetry.metrics import Metrics
from streams.topics.catalog import load_catalog


@pytest.fixture
def settings() -> Settings:
    return load_settings(api_host="0.0.0.0")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def state() -> HealthState:
    return HealthState(30)


@pytest.fixture
def server(metrics: Metrics, state: HealthState) -> Iterator[HealthServer]:
    with HealthServer(0, metrics.registry, state) as running:
        yield running


async def test_a_running_service_reports_readiness_and_sums(
    settings: Settings, server: HealthServer, state: HealthState, metrics: Metrics
) -> None:
    metrics.records_total.labels("memory", "facts", "a").inc(3)
    metrics.records_total.labels("memory", "index", "b").inc(4)
    state.block("recovery", "recovering state: 12 of 30 records")
    report = await services.ask(settings, "memory", server.port)
    assert (report.running, report.ready) == (True, False)
    assert report.reasons == ["starting", "recovering state: 12 of 30 records"]
    assert report.metrics["records_total"] == 7
    state.clear("starting")
    state.clear("recovery")
    assert (await services.ask(settings, "memory", server.port)).ready


async def test_of_a_histogram_it_is_told_below_what_nearly_all_lies(
    settings: Settings, server: HealthServer, state: HealthState, metrics: Metrics
) -> None:
    report = await services.ask(settings, "respond", server.port)
    assert "content_detection_latency_seconds_p99" not in report.metrics, "nothing was measured"
    for seconds in [0.0002] * 98 + [0.004] * 2:
        metrics.content_detection_latency_seconds.observe(seconds)
    report = await services.ask(settings, "respond", server.port)
    assert 0.0002 < report.metrics["content_detection_latency_seconds_p99"] <= 0.005
    metrics.content_detection_latency_seconds.observe(3600)
    metrics.content_detection_latency_seconds.observe(3600)
    report = await services.ask(settings, "respond", server.port)
    assert 0.005 < report.metrics["content_detection_latency_seconds_p99"] < 3600, "the last bound there is"


def test_within_a_bucket_what_is_measured_lies_evenly() -> None:
    counts = {1.0: 50.0, 2.0: 100.0, math.inf: 100.0}
    assert services.quantile(counts, 0.99) == pytest.approx(1.98)
    assert services.quantile(counts, 0.25) == pytest.approx(0.5)
    assert services.quantile({1.0: 0.0, math.inf: 3.0}, 0.5) == 1.0


async def test_a_worker_without_partitions_is_ready_and_a_spare(
    settings: Settings, metrics: Metrics, state: HealthState, server: HealthServer
) -> None:
    runtime = ServiceRuntime(
        "ingest", [], settings=settings, catalog=load_catalog(""), metrics=metrics, health=state
    )
    runtime.on_assigned([])
    assert (await services.ask(settings, "ingest", server.port)).state == "not ready"
    runtime.on_sought(Epoch())
    report = await services.ask(settings, "ingest", server.port)
    assert (report.state, report.ready) == ("standby", True)
    assert "takes over" in report.reasons[0]
    busy = Epoch()
    busy.partitions[TP("chat.messages.v1", 0)] = Progress.at(0, 0, None)
    runtime.on_sought(busy)
    report = await services.ask(settings, "ingest", server.port)
    assert (report.state, report.reasons) == ("ready", [])


async def test_a_service_that_builds_an_index_is_ready_and_says_so(
    settings: Settings, state: HealthState, server: HealthServer
) -> None:
    state.clear("starting")
    said = "the index for after-3 is whole: restart recall, and it takes the place of the living one"
    state.describe(INDEX_REBUILD, said)
    report = await services.ask(settings, "recall", server.port)
    assert (report.state, report.reasons) == ("ready", [said])
    [found] = doctor._services([report])
    assert (found.state, said in found.what) == ("look", True)
    state.describe(INDEX_REBUILD, None)
    [found] = doctor._services([await services.ask(settings, "recall", server.port)])
    assert (found.state, found.what) == ("ok", f"recall is ready (port {server.port})")


async def test_another_service_on_the_port_is_named(
    settings: Settings, server: HealthServer, metrics: Metrics
) -> None:
    metrics.batches_in_flight.labels("memory").set(0)
    report = await services.ask(settings, "ingest", server.port)
    assert (report.running, report.reasons) == (False, ["memory answers on this port"])


async def test_the_same_service_of_another_deployment_is_not_taken_for_ours(
    settings: Settings, server: HealthServer, state: HealthState
) -> None:
    state.describe("service", "ingest")
    state.describe("topic_prefix", "theirs-")
    report = await services.ask(settings, "ingest", server.port)
    assert (report.running, report.details) == (False, {})
    assert "another deployment (topic prefix 'theirs-')" in report.reasons[0]
    assert (await services.ask(load_settings(topic_prefix="theirs-"), "ingest", server.port)).running


async def test_nobody_on_the_port(settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        report = await services.ask(settings, "ingest", taken.getsockname()[1])
    assert (report.running, report.reasons) == (False, ["does not run"])


_READY = b'{"status": "ready", "reasons": [], "details": {}}'


@pytest.mark.parametrize(
    ("encoding", "ready", "metrics"),
    [
        ("identity", b"<html>", b""),
        ("identity", b"[]", b""),
        ("gzip", _READY, b""),
        ("identity", _READY, b"switchboard_records_total{ ="),
        ("identity", _READY, b"switchboard_records_total nothing"),
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


def nobody(*services: str) -> dict[str, int]:
    """Ports on which these services do not answer."""
    return dict.fromkeys(services, 1)


OTHERS = nobody("memory", "recall", "respond", "serve")


async def test_all_services_are_asked_and_a_port_can_be_given(settings: Settings, server: HealthServer) -> None:
    others = nobody("ingest", "memory", "recall", "serve")
    reports = await services.ask_services(settings, {"respond": server.port, **others})
    assert [(report.service, report.running) for report in reports] == [
        ("ingest", False), ("memory", False), ("recall", False), ("respond", True), ("serve", False),
    ]  # fmt: skip


def process(first: int, index: int, count: int) -> HealthServer:
    """Process ``index`` of ``count`` of the ingest service whose process 0 answers on port ``first``."""
    state = HealthState(30)
    for name, value in {"service": "ingest", "instance": f"host-{index}", "processes": count}.items():
        state.describe(name, value)
    state.clear("starting")
    return HealthServer(port_of(first, index), Metrics().registry, state)


def free_row(count: int) -> int:
    """Return a port that is free, as are those that ``count`` processes would take."""
    while True:
        [first] = free_ports(1)
        if all(port < 65536 and is_free(port) for port in (port_of(first, i) for i in range(count))):
            return first


async def test_every_process_of_a_service_is_found_also_when_one_is_missing(settings: Settings) -> None:
    first = free_row(8)
    with process(first, 1, 4), process(first, 3, 4):
        reports = await services.ask_services(settings, {"ingest": first, **OTHERS})
    ingest = [report for report in reports if report.service == "ingest"]
    assert [report.port for report in ingest] == [port_of(first, index) for index in range(4)]
    assert [report.instance for report in ingest] == ["", "host-1", "", "host-3"]
    assert [report.missing for report in ingest] == [True, False, True, False]
    assert [report.missing for report in reports if report.service != "ingest"] == [False] * 4


async def test_a_service_that_does_not_run_has_one_line(settings: Settings) -> None:
    first = free_row(8)
    reports = await services.ask_services(settings, {"ingest": first, **OTHERS})
    assert [(report.port, report.missing) for report in reports] == [(first, False), *[(1, False)] * 4]


async def test_what_else_answers_where_a_further_process_would_is_none_of_ours(
    settings: Settings, server: HealthServer, metrics: Metrics
) -> None:
    metrics.batches_in_flight.labels("memory").set(0)
    reports = await services.ask_services(settings, {"ingest": server.port - 10, **OTHERS})
    assert [report.port for report in reports] == [server.port - 10, 1, 1, 1, 1]


@pytest.mark.parametrize("text", ["ingest", "ingest=", "ingest=x", "ingest=0", "ingest=70000", "nobody=1"])
def test_a_wrong_port_option_says_what_to_give(text: str) -> None:
    with pytest.raises(ConfigurationError, match="SERVICE=PORT"):
        status._ports([text])
    assert status._ports(["ingest=9500"]) == {"ingest": 9500}
