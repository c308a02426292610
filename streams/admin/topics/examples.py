"""The examples of each topic: lifelike records that tests replay, and records that must be refused.

``schemas/examples/<topic>/<name>.json`` holds ``{"summary", "value"}`` and, where it matters, ``"headers"``
and ``"key"``; a key that is not given is the value's key field.  ``invalid/`` holds records of the same form
with the ``"reason"`` that they are refused for; what is not even JSON stands in ``"text"``.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

import msgspec
import orjson

from models.errors import ConfigurationError
from streams.clients.catalog import load_catalog
from streams.clients.topic_spec import TopicSpec


class Example(NamedTuple):
    """A record as it lies in its topic; ``value`` is ``None`` for a tombstone, ``reason`` empty if valid."""

    name: str
    summary: str
    key: bytes | None
    headers: list[tuple[str, bytes]]
    value: bytes | None
    reason: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    summary: str
    value: Any = None
    text: str | None = None
    key: str | None = None
    headers: dict[str, str] = {}
    reason: str = ""


def load_examples(topic: str) -> list[Example]:
    """Return the valid examples of a topic (contract name), by file name.

    Raises:
        ConfigurationError: the topic has no folder of examples.
    """
    return _load(load_catalog().get(topic), "")


def load_invalid_examples(topic: str) -> list[Example]:
    """Return the examples that must be refused, each with its reason; raise as :func:`load_examples`."""
    return _load(load_catalog().get(topic), "invalid")


def _load(spec: TopicSpec, subfolder: str) -> list[Example]:
    folder = files("schemas") / spec.examples / subfolder
    if not folder.is_dir():
        raise ConfigurationError(
            f"schemas/{'/'.join(filter(None, (spec.examples, subfolder)))} is missing: a topic needs "
            "valid examples there, and invalid ones in its folder invalid"
        )
    found = sorted((f for f in folder.iterdir() if f.name.endswith(".json")), key=lambda f: f.name)
    return [_read(file, spec) for file in found]


def _read(file: Traversable, spec: TopicSpec) -> Example:
    content = msgspec.json.decode(file.read_bytes(), type=_File)
    value = None if content.value is None else orjson.dumps(content.value)
    if content.text is not None:
        value = content.text.encode()
    key = content.key
    if key is None and isinstance(content.value, dict):
        parts = [content.value.get(field) for field in spec.key_fields]
        key = None if None in parts else "/".join(map(str, parts))
    return Example(
        name=file.name.removesuffix(".json"),
        summary=content.summary,
        key=None if key is None else key.encode(),
        headers=[(name, text.encode()) for name, text in content.headers.items()],
        value=value,
        reason=content.reason,
    )
