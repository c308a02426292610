"""JSON Schemas as OpenAI's strict mode takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Keywords that strict mode refuses; what they bound is checked when the answer is read.
_REFUSED = frozenset(
    {"minLength", "maxLength", "default", "examples", "uniqueItems", "minProperties", "maxProperties"}
)


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of which every object requires all its fields and takes no others.

    A field that was optional may be ``null``.
    """
    made: dict[str, Any] = {key: value for key, value in schema.items() if key not in _REFUSED}
    if isinstance(properties := made.get("properties"), Mapping):
        required = frozenset(made.get("required", ()))
        made["properties"] = {
            name: strict(each) if name in required else _nullable(strict(each))
            for name, each in properties.items()
        }
        made |= {"required": [*properties], "additionalProperties": False}
    if isinstance(items := made.get("items"), Mapping):
        made["items"] = strict(items)
    for key in ("anyOf", "$defs"):
        if isinstance(each := made.get(key), list):
            made[key] = [strict(one) for one in each]
        elif isinstance(each, Mapping):
            made[key] = {name: strict(one) for name, one in each.items()}
    return made


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return schema if isinstance(kind, list) else {"anyOf": [schema, {"type": "null"}]}
    made = schema | {"type": [kind, "null"]}
    if isinstance(enum := schema.get("enum"), list):
        made["enum"] = [*enum, None]
    return made
