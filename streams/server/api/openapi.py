"""The OpenAPI 3.1 document of the operations, with the schemas of their structs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from streams.admin.topics.json_schemas import check_names, refined
from streams.server.api.operations import EVENTS, Operation
from streams.server.api.problems import GENERAL, KINDS, MEDIA_TYPE, OF_BODIES, Kind
from streams.server.api.usage import call_of

_REFERENCE = "#/components/schemas/{name}"

_INFO = {
    "title": "Switchboard",
    "version": "1.0.0",
    "description": (
        "Conversation memory: what people said, what is known of them, and the context for the next turn. "
        "Readers ignore unknown fields; a new required field means /v2. Errors are problem details (RFC 9457) "
        "whose `type` stays as it is."
    ),
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}

_PROBLEM = {
    "type": "object",
    "description": "What went wrong (RFC 9457).",
    "required": ["type", "title", "status", "detail", "advice", "trace_id"],
    "properties": {
        "type": {"type": "string", "pattern": "^urn:switchboard:problem:"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what is wrong, and what to do"},
        "advice": {"type": "string", "description": "what to do about problems of this type"},
        "instance": {"type": "string", "description": "the path that was asked for"},
        "trace_id": {
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
            "description": "finds the request in the log; what was refused is logged at the level `debug`",
        },
        "part": {"type": "string", "description": "503: what is down"},
    },
}


def openapi(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document."""
    kinds = [each for found in operations for each in (found.body, found.answer) if each is not None]
    parameters = [found.parameters for found in operations if found.parameters is not None]
    structs = [kind for kind in parameters if inspect.isclass(kind)]
    schemas, definitions = msgspec.json.schema_components([*kinds, *structs], ref_template=_REFERENCE)
    check_names(definitions)
    made = {id(kind): schema for kind, schema in zip([*kinds, *structs], schemas, strict=True)}
    paths: dict[str, Any] = {}
    for found in operations:
        paths.setdefault(found.path, {})[found.method.lower()] = _operation(found, made, definitions)
    named = {_name(made[id(kind)]) for kind in structs}
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": [{"url": "http://127.0.0.1:8371", "description": "`switchboard serve` on this machine"}],
        "paths": refined(paths),
        "x-problems": {each.type: {"status": each.status.value, "advice": each.advice} for each in KINDS},
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "`switchboard token create`"}
            },
            "schemas": refined({name: each for name, each in definitions.items() if name not in named})
            | {"Problem": _PROBLEM},
        },
    }


def _operation(found: Operation, made: dict[int, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"operationId": found.name, "summary": found.summary}
    if found.description:
        told["description"] = found.description
    told["security"] = [] if found.scope == "none" else [{"token": []}, {}]
    told["x-scope"] = found.scope.value
    told["x-example"] = call_of(found)
    if found.parameters is not None:
        schema = definitions[_name(made[id(found.parameters)])]
        told["parameters"] = [_parameter(found, name, schema) for name in schema["properties"]]
    if found.body is not None:
        content: dict[str, Any] = {"schema": made[id(found.body)]}
        if found.example_body is not None:
            content["example"] = found.example_body
        told["requestBody"] = {"required": True, "content": {"application/json": content}}
    told["responses"] = {
        str(found.status): _good(found, made),
        **_problems([*found.problems, *GENERAL, *(OF_BODIES if found.method != "GET" else ())]),
    }
    return told


def _good(found: Operation, made: dict[int, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"description": HTTPStatus(found.status).phrase}
    if found.status != HTTPStatus.NO_CONTENT:
        schema = {"schema": made[id(found.answer)]} if found.answer is not None else {}
        told["content"] = {found.media_type: schema}
        if found.streams:
            told["content"][EVENTS] = {"schema": {"type": "string"}}
    if found.links:
        told["links"] = {
            name: {
                "operationId": name,
                "parameters": {each: f"$response.body#{pointer}" for each, pointer in given.items()},
            }
            for name, given in found.links.items()
        }
    return told


def _parameter(found: Operation, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    in_path = f"{{{name}}}" in found.path
    told = dict(schema["properties"][name])
    default = told.pop("default", None)
    # In a query there is no null: what may be left out is left out.
    kinds = [each for each in told.pop("anyOf", []) if each != {"type": "null"}]
    told = {**told, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})}
    if default is not None:
        told["default"] = default
    parameter: dict[str, Any] = {"name": name, "in": "path" if in_path else "query"}
    parameter["required"] = in_path or name in schema.get("required", ())
    parameter["schema"] = told
    if name in found.example:
        parameter["example"] = found.example[name]
    return parameter


def _problems(kinds: Iterable[Kind]) -> dict[str, Any]:
    by_status: dict[int, list[Kind]] = {}
    for kind in kinds:
        if kind not in by_status.setdefault(kind.status.value, []):
            by_status[kind.status.value].append(kind)
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        str(status): {
            "description": "; ".join(f"`{kind.name}`: {kind.advice}" for kind in found),
            "content": content,
        }
        for status, found in sorted(by_status.items())
    }


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
