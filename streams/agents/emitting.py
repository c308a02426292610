"""Writing of records as the catalog describes their topics: topic, key, route, event type and source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from streams.clients import cloudevents
from streams.clients.catalog import contracts
from streams.clients.records import Headers
from streams.runtime.effects import Effects
from streams.runtime.stamp import Stamp

_encode = msgspec.json.Encoder().encode

#: A subject that is the field which routes the record.
_ROUTED = ""


class _Contract(NamedTuple):
    """Entries of a topic's file; ``key`` and ``route`` read a record's fields."""

    topic: str
    event_type: str
    source: str
    key: Callable[[Any], str]
    route: Callable[[Any], str]
    is_routed_by_key: bool


def emit(
    effects: Effects,
    record: msgspec.Struct,
    event_id: str = "",
    *,
    topic: str = "",
    source: str = "",
    subject: str | None = _ROUTED,
    time: datetime | None = None,
    cause: Mapping[str, str] | None = None,
    partition: int | None = None,
    stamp: Stamp | None = None,
) -> None:
    """Write a record to the topic of its type.

    ``event_id``: the record's key if left out.  ``topic``: where the type is not that of one topic alone.
    ``source``: the topic's owner if left out.  ``subject``: the value that routes the record if left out.  For
    ``time`` and ``cause`` see :func:`streams.clients.cloudevents.outgoing`, for the others :class:`Output`.
    """
    contract = _contract(type(record), topic)
    key, route = contract.key(record), contract.route(record)
    headers = cloudevents.outgoing(
        contract.event_type,
        source or contract.source,
        event_id or key,
        subject=route if subject == _ROUTED else subject,
        time=time,
        cause=cause,
    )
    effects.emit(
        contract.topic,
        key.encode(),
        _encode(record),
        headers,
        route=None if contract.is_routed_by_key or partition is not None else route.encode(),
        partition=partition,
        stamp=stamp,
    )


def emit_tombstone(
    effects: Effects,
    of: type[msgspec.Struct],
    key: str,
    event_id: str = "",
    headers: Headers = (),
    *,
    source: str = "",
    subject: str | None = None,
    route: str | None = None,
    partition: int | None = None,
) -> None:
    """Write a record without a value, which erases the one of a type and a key; ``headers``: its own, too."""
    contract = _contract(of, "")
    event = cloudevents.outgoing(
        contract.event_type, source or contract.source, event_id or f"{key}/erased", subject=subject
    )
    effects.emit(
        contract.topic,
        key.encode(),
        None,
        [*event, *headers],
        route=None if route is None else route.encode(),
        partition=partition,
    )


@lru_cache(maxsize=256)
def _contract(of: type[msgspec.Struct], topic: str) -> _Contract:
    name = f"{of.__module__}.{of.__qualname__}"
    (spec,) = (each for each in contracts() if (each.contract_name == topic if topic else each.type == name))
    return _Contract(
        spec.contract_name,
        spec.event_type,
        f"/switchboard/{spec.owner}",
        _joined(spec.key_fields),
        attrgetter(spec.routed_by),
        spec.key == spec.routed_by,
    )


def _joined(fields: tuple[str, ...]) -> Callable[[Any], str]:
    if len(fields) == 1:
        return attrgetter(fields[0])
    return lambda record: "/".join(str(getattr(record, field)) for field in fields)
