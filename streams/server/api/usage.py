"""How an operation is called, in a sentence: what an answer to a bad request ends with."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from streams.server.api.operations import Operation


def call_of(found: Operation) -> str:
    """Return path and query of the example."""
    path, query = found.path, dict(found.example)
    for name in list(query):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(str(query.pop(name)), safe=""))
    return path + ("?" + urlencode(query) if query else "")


@cache
def _properties(kind: type[msgspec.Struct]) -> dict[str, Any]:
    (root,), definitions = msgspec.json.schema_components([kind], ref_template="{name}")
    return {
        name: {**definitions.get(each.get("$ref", ""), {}), **each}
        for name, each in definitions[root["$ref"]]["properties"].items()
    }


def usage(found: Operation) -> str:
    """Return for example ``Use /v1/facts?user_id=ada; optional: limit (1 to 500)``."""
    verb = "" if found.method == "GET" else f"{found.method} "
    text = f"Use {verb}{call_of(found)}"
    if found.body is not None:
        text += " with a JSON object; /v1/openapi.json describes it"
        if inspect.isclass(found.body) and issubclass(found.body, msgspec.Struct):
            named = [_described(name, each) for name, each in _properties(found.body).items()]
            bounded = [each for each in named if each.endswith(")")]
            text += f"; in it: {', '.join(bounded)}" if bounded else ""
    if found.parameters is not None:
        asked = {*found.example}
        others = [
            _described(name, each) for name, each in _properties(found.parameters).items() if name not in asked
        ]
        text += f"; optional: {', '.join(others)}" if others else ""
    return text


def _described(name: str, schema: dict[str, Any]) -> str:
    for each in schema.get("anyOf", [schema]):
        if "enum" in each:
            return f"{name} ({', '.join(map(str, each['enum']))})"
        if each.get("format") == "date-time":
            return f"{name} (a time such as 2026-03-01T00:00:00Z)"
        if "maximum" in each and each["maximum"] < 2**40:
            return f"{name} ({each.get('minimum', 0)} to {each['maximum']})"
    return name
