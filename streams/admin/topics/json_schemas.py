"""JSON Schemas (draft 2020-12) of the topics' values, generated from the structs."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import msgspec

from streams.clients.catalog import Catalog
from streams.clients.topic_spec import TopicSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"

#: RFC 3339 with an offset.  JSON Schema's ``date-time`` is an annotation that most validators ignore.
_TIMESTAMP = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)


def value_type(spec: TopicSpec) -> type[msgspec.Struct]:
    """Return the struct of a described topic's values."""
    module, _, name = spec.type.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        raise TypeError(f"{spec.name}: {spec.type} is no msgspec struct")
    return kind


def json_schema(spec: TopicSpec) -> dict[str, Any]:
    """Return the JSON Schema of a described topic's values.  Unknown fields are accepted everywhere."""
    kind = value_type(spec)
    definitions = components([kind], "#/$defs/{name}")
    root = definitions.pop(kind.__name__)
    schema = {"$schema": DIALECT, "$id": f"urn:switchboard:{spec.contract_name}", **root}
    return schema | {"$defs": definitions} if definitions else schema


def components(kinds: list[type[msgspec.Struct]], reference: str) -> dict[str, Any]:
    """Return the schemas of ``kinds`` and of all that they hold, by name; ``reference`` has a ``{name}``."""
    _, definitions = msgspec.json.schema_components(kinds, ref_template=reference)
    check_names(definitions)
    for kind in kinds:
        definitions[kind.__name__] |= getattr(kind, "schema", {})
    schemas: dict[str, Any] = refined(definitions)
    return schemas


def check_names(definitions: Iterable[str]) -> None:
    """Refuse types of one name in one document: msgspec distinguishes them by where their code stands.

    Raises:
        ValueError: the contract would change with each move of a module.
    """
    if clashing := sorted(name for name in definitions if "." in name):
        raise ValueError(
            f"types of one name in one document: {', '.join(clashing)}. Give each a name of its own"
        )


def described(catalog: Catalog) -> list[TopicSpec]:
    """Return the topics whose values have a schema."""
    return [spec for spec in catalog.all() if spec.type]


def refined(node: Any) -> Any:
    """Dedent descriptions, and say of timestamps what msgspec checks and ``date-time`` does not enforce."""
    if isinstance(node, list):
        return [refined(item) for item in node]
    if not isinstance(node, dict):
        return node
    found = {key: refined(value) for key, value in node.items()}
    if isinstance(found.get("description"), str):
        found["description"] = inspect.cleandoc(found["description"]).replace("``", "`").replace(".  ", ". ")
    if found.get("format") == "date-time":
        found["pattern"] = _TIMESTAMP
    return found
