"""Where spans go: to the collector (OTLP) that OpenTelemetry's own variables name, by the extra ``otel``.

They have a provider of their own: what other libraries make spans of may repeat what people said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import structlog
from opentelemetry import trace

from models.errors import ConfigurationError

#: Where to: for all signals, or for spans alone.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

#: How long a stop waits until the last spans are taken.
_STOP_SECONDS = 3.0

log = structlog.get_logger("streams.telemetry")


@contextmanager
def exporting(service: str, instance: str) -> Iterator[trace.TracerProvider]:
    """Yield what makes spans; they are exported until this is left, if a collector is named.

    Raises:
        ConfigurationError: one is, and nothing can be sent to it.
    """
    if not _is_wanted():
        yield trace.get_tracer_provider()
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigurationError(
            f"{_named(_ENDPOINTS)} names a collector of spans, and the extra that sends them is not installed: "
            'pip install ".[otel]" in the folder of Switchboard, or leave the variable out'
        ) from error
    known = {"service.name": f"switchboard-{service}", "service.instance.id": instance}
    resource = Resource.create({**known, **OTELResourceDetector().detect().attributes})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        # A collector that does not answer is waited for longer than a stop may take.
        ending = Thread(target=provider.shutdown, name="spans-ending", daemon=True)
        ending.start()
        ending.join(_STOP_SECONDS)
        if ending.is_alive():
            log.warning("the collector did not take the last spans in time")


def _is_wanted() -> bool:
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or os.environ.get("OTEL_TRACES_EXPORTER") == "none" or not _named(_ENDPOINTS):
        return False
    name = _named(_PROTOCOLS)
    if name and os.environ[name] != "http/protobuf":
        raise ConfigurationError(f"{name}={os.environ[name]}: spans are sent over http/protobuf alone")
    return True


def _named(names: tuple[str, ...]) -> str:
    """Return the variable that is set."""
    return next((name for name in names if os.environ.get(name)), "")
