"""CloudEvents 1.0 in the binary mode of its Kafka binding: attributes are headers ``ce_<name>``.

A record without them is as good: ``kcat`` sends none.  Outputs always carry them; what they inherit from
the record that caused them is its *extension* attributes (``traceparent``, ``correlationid``, ...).  Dead
letters are not written here: they keep all headers of the bad record, byte for byte.

Source: CloudEvents 1.0.2, "Kafka Protocol Binding", section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache

Headers = list[tuple[str, bytes]]

_PREFIX = "ce_"
_CONTENT_TYPE = "content-type"

#: Attributes that describe one event, so that no other event may inherit them.
_OWN = frozenset({"id", "source", "specversion", "type", "subject", "time", "datacontenttype", "dataschema"})


_traceparent: ContextVar[str] = ContextVar("traceparent", default="")


@contextmanager
def caused_by(traceparent: str) -> Iterator[None]:
    """Set the trace (W3C Trace Context) of all records written inside, and by tasks started there."""
    token = _traceparent.set(traceparent)
    try:
        yield
    finally:
        _traceparent.reset(token)


def traceparent() -> str:
    """Return the trace that this is done for; ``""``: for none."""
    return _traceparent.get()


def trace_headers() -> Headers:
    """Return the trace headers of a record; none without a trace."""
    trace = _traceparent.get()
    return [(_PREFIX + "traceparent", trace.encode())] if trace else []


def incoming(headers: Iterable[tuple[str, bytes | None]] | None) -> dict[str, str] | None:
    """Return the attributes of a record (``{"id": ..., "type": ...}``), or ``None`` if it is no CloudEvent.

    A record is one if it has ``ce_specversion``, ``ce_id``, ``ce_source`` and ``ce_type``.  Attributes whose
    value is not UTF-8 are left out: headers that we only hand on are no reason to refuse a good message.
    """
    if not headers:
        return None
    attributes = {}
    for name, value in headers:
        lower = name.lower()
        if value is None or not (lower.startswith(_PREFIX) or lower == _CONTENT_TYPE):
            continue
        key = "datacontenttype" if lower == _CONTENT_TYPE else lower[len(_PREFIX) :]
        try:
            attributes[key] = value.decode()
        except UnicodeDecodeError:
            continue
    is_event = "specversion" in attributes and attributes.keys() >= {"id", "source", "type"}
    return attributes if is_event else None


def outgoing(
    event_type: str,
    source: str,
    event_id: str,
    *,
    subject: str | None = None,
    time: datetime | None = None,
    cause: Mapping[str, str] | None = None,
) -> Headers:
    """Return the headers of an output.

    ``event_id`` is the thing's own deterministic id, so that a replay writes the same event; ``source`` and
    ``event_type`` are constants of the stage (``/switchboard/ingest``, ``memory.window.v1``); ``subject`` is
    what the event is about (the conversation, the fact); ``time`` is when it happened, with an offset.
    ``cause`` are the attributes (:func:`incoming`) of the record that caused it: its extensions are kept.
    Without one it is of the trace of :func:`caused_by`.
    """
    headers = [("ce_id", event_id.encode()), *_constants(event_type, source)]
    if subject is not None:
        headers.append(("ce_subject", subject.encode()))
    if time is not None:
        headers.append(("ce_time", time.isoformat().encode()))
    if cause:
        headers += [(_PREFIX + name, value.encode()) for name, value in cause.items() if name not in _OWN]
    else:
        headers += trace_headers()
    return headers


@lru_cache(maxsize=256)
def _constants(event_type: str, source: str) -> Headers:
    """Encode once per stage what all its outputs have in common: this runs once per output."""
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", event_type.encode()),
        ("ce_source", source.encode()),
        (_CONTENT_TYPE, b"application/json"),
    ]
