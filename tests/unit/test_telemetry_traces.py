"""Spans on their way to a collector: one that listens here and keeps what it is sent."""

from __future__ import annotations

import sys

import httpx
import pytest
from opentelemetry import trace

from models.errors import ConfigurationError
from streams.server.api import tracing
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.telemetry.traces import exporting
from tests.collector import collecting

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
OWN = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is set here, and whatever was collected before, is none of this test's."""
    for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", ENDPOINT):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tracing, "_tracer", tracing._tracer)


async def test_each_operation_comes_to_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as (url, sent):
        monkeypatch.setenv(ENDPOINT, url)
        with exporting("serve", "here-1") as spans:
            tracing.collect(spans)
            transport = httpx.ASGITransport(create_api(Parts()))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                headers = {"traceparent": f"00-{OWN}-00f067aa0ba902b7-01"}
                assert (await client.get("/v1/session", headers=headers)).status_code == 200
    [(path, body)] = sent
    assert path == "/v1/traces"
    for said in (b"get_session", bytes.fromhex(OWN), b"switchboard-serve", b"here-1"):
        assert said in body


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none"), (ENDPOINT, "")]
)
def test_without_a_collector_nothing_is_set_up(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    monkeypatch.setenv(name, value)
    with exporting("serve", "here-1") as spans:
        assert spans is trace.get_tracer_provider()


def test_a_collector_without_the_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    told = rf'{ENDPOINT} .*"\.\[otel\]'
    with pytest.raises(ConfigurationError, match=told), exporting("serve", "i"):
        pass
