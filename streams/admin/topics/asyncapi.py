"""The AsyncAPI 3.0 document of the topics, generated from the catalog, the structs and the examples."""

from __future__ import annotations

from typing import Any

import orjson

from streams.admin.topics.examples import load_examples
from streams.admin.topics.json_schemas import components, described, value_type
from streams.clients.catalog import DEAD_LETTER_SUFFIX, Catalog
from streams.clients.topic_spec import TopicSpec
from streams.config.settings.services import SERVICES

_INFO = {
    "title": "Switchboard",
    "version": "1.0.0",
    "description": (
        "Conversation memory as a stream: chat messages go in, facts, summaries and clean responses come out. "
        "Readers ignore unknown fields; a new required field means a new version of the topic."
    ),
    "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
}

_SERVERS = {
    "local": {
        "host": "127.0.0.1:9092",
        "protocol": "kafka",
        "description": "The broker that `make demo` starts; SWITCHBOARD_BOOTSTRAP_SERVERS names another.",
    }
}

_CLOUD_EVENT_HEADERS = {
    "type": "object",
    "description": (
        "CloudEvents 1.0, binary mode, and what made the record. Optional on what goes in, always there on "
        "what comes out."
    ),
    "properties": {
        "ce_specversion": {"type": "string", "enum": ["1.0"]},
        "ce_id": {"type": "string", "minLength": 1, "description": "the deterministic id of the thing"},
        "ce_type": {"type": "string", "minLength": 1, "description": "for example memory.window.v1"},
        "ce_source": {"type": "string", "minLength": 1, "description": "for example /switchboard/ingest"},
        "ce_subject": {"type": "string", "minLength": 1, "description": "what the event is about"},
        "ce_time": {"type": "string", "format": "date-time"},
        "content-type": {"type": "string", "description": "application/json"},
        "sw_code": {
            "type": "string",
            "pattern": r"^[^+]+[+].+$",
            "description": "version and commit of the code that made the record, as in 0.1.0+7008eb1d5007",
        },
        "sw_config": {
            "type": "string",
            "pattern": "^[0-9a-f]{16}$",
            "description": "a hash of the settings and models that decided; the service logs them at its start",
        },
    },
}

_DEAD_LETTER_HEADERS: dict[str, Any] = {
    "type": "object",
    "description": "The bad record's own headers, and what went wrong, where, why and how often.",
    "properties": {
        "dlq_reason": {"type": "string", "description": "a short slug: invalid_json, key_mismatch, ..."},
        "dlq_message": {"type": "string", "description": "a sentence for a person"},
        "dlq_stage": {"type": "string", "description": "the stage that refused it"},
        "dlq_topic": {"type": "string"},
        "dlq_partition": {"type": "string", "pattern": "^[0-9]+$"},
        "dlq_offset": {"type": "string", "pattern": "^[0-9]+$"},
        "dlq_attempts": {"type": "string", "pattern": "^[0-9]+$"},
    },
}
_DEAD_LETTER_HEADERS["required"] = list(_DEAD_LETTER_HEADERS["properties"])
_DEAD_LETTER_HEADERS["properties"] |= {
    "dlq_content": {
        "enum": ["record", "batch", "cut"],
        "description": "only where the letter is split: what the values of its parts, joined, are: the record "
        "as a record batch (magic 2) of its own, a batch of the log that was not unpacked, or the first 64 KiB "
        "of the value of a record that is larger than 16 MiB",
    },
    "dlq_part": {"type": "string", "pattern": "^[0-9]+$", "description": "which part this is, from 1"},
    "dlq_parts": {"type": "string", "pattern": "^[0-9]+$", "description": "of how many"},
    "dlq_bytes": {"type": "string", "pattern": "^[0-9]+$", "description": "length of the whole content"},
    "dlq_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "hash of the whole content"},
    "dlq_last_offset": {"type": "string", "pattern": "^[0-9]+$", "description": "of a batch: its last record"},
    "dlq_codec": {"type": "string", "description": "of a batch: how it is compressed"},
    "dlq_records": {"type": "string", "description": "of a batch: how many records it declares"},
}


def asyncapi(catalog: Catalog) -> dict[str, Any]:
    """Return the document: a channel per topic and per dead-letter topic (changelogs are nobody's business).

    Operations are those of the services: what ``ingest`` receives and sends, and so on.
    """
    topics = described(catalog)
    channels = {spec.contract_name: _channel(spec) for spec in topics}
    channels |= {
        spec.contract_name: _channel(spec) for spec in catalog.all() if spec.dead_letter_of and not spec.type
    }
    schemas = components([value_type(spec) for spec in topics], "#/components/schemas/{name}")
    return {
        "asyncapi": "3.0.0",
        "info": _INFO,
        "defaultContentType": "application/json",
        "servers": _SERVERS,
        "channels": channels,
        "operations": {name: operation for spec in topics for name, operation in _operations(spec).items()},
        "components": {
            "messages": {_message_name(spec): _message(spec) for spec in topics} | {"DeadLetter": _DEAD_LETTER},
            "schemas": {"CloudEventHeaders": _CLOUD_EVENT_HEADERS, "DeadLetterHeaders": _DEAD_LETTER_HEADERS}
            | schemas,
        },
    }


_DEAD_LETTER = {
    "name": "dead-letter",
    "title": "Dead letter",
    "summary": "A record that could not be processed: key and value byte for byte.",
    "contentType": "application/octet-stream",
    "headers": {"$ref": "#/components/schemas/DeadLetterHeaders"},
}


def _message_name(spec: TopicSpec) -> str:
    """Name the message after its event type: ``memory.fact-candidate.v1`` is ``MemoryFactCandidate``."""
    words = spec.event_type.rsplit(".", 1)[0].replace("-", ".").split(".")
    return "".join(word.capitalize() for word in words) if spec.event_type else "DeadLetter"


def _channel(spec: TopicSpec) -> dict[str, Any]:
    name = _message_name(spec)
    configuration: dict[str, Any] = {"cleanup.policy": [spec.cleanup_policy]}
    for key in ("retention.ms", "delete.retention.ms", "max.message.bytes"):
        if key in spec.config:
            configuration[key] = int(spec.config[key])
    binding = {"partitions": spec.partitions, "topicConfiguration": configuration, "bindingVersion": "0.5.0"}
    return {
        "address": spec.contract_name,
        "description": " ".join(spec.description.split()),
        "messages": {name: {"$ref": f"#/components/messages/{name}"}},
        "bindings": {"kafka": binding},
        "x-owner": spec.owner,
        "x-routed-by": spec.routed_by,
    }


def _operations(spec: TopicSpec) -> dict[str, Any]:
    """The services' operations on a topic; a service that refuses a record also sends to its dead letters."""
    operations = {}
    readers = [service for service in spec.readers if service in SERVICES]
    for writer in (spec.owner, *spec.writers):
        if writer in SERVICES:
            send = _operation(writer, "send", spec.contract_name, spec)
            operations[f"{writer}.send.{spec.contract_name}"] = send
    for service in readers:
        receive = _operation(service, "receive", spec.contract_name, spec)
        group = {"type": "string", "enum": [f"switchboard-{service}"]}
        receive["bindings"] = {"kafka": {"groupId": group, "bindingVersion": "0.5.0"}}
        operations[f"{service}.receive.{spec.contract_name}"] = receive
        if spec.dead_letter:
            letters = spec.contract_name + DEAD_LETTER_SUFFIX
            operations[f"{service}.send.{letters}"] = _operation(service, "send", letters, None)
    return operations


def _operation(service: str, action: str, channel: str, spec: TopicSpec | None) -> dict[str, Any]:
    message = _message_name(spec) if spec is not None else "DeadLetter"
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "summary": f"{service} {'reads' if action == 'receive' else 'writes'} {channel}",
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"}],
    }


def _message(spec: TopicSpec) -> dict[str, Any]:
    key = {"type": "string", "description": f"{spec.key} of the value"}
    message: dict[str, Any] = {
        "name": spec.event_type,
        "title": value_type(spec).__name__,
        "summary": " ".join(spec.description.split()),
        "contentType": "application/json",
        "headers": {"$ref": "#/components/schemas/CloudEventHeaders"},
        "payload": {"$ref": f"#/components/schemas/{value_type(spec).__name__}"},
        "bindings": {"kafka": {"key": key, "bindingVersion": "0.5.0"}},
    }
    shown = next((example for example in load_examples(spec.contract_name) if example.value), None)
    if shown is not None and shown.value is not None:
        payload = orjson.loads(shown.value)
        message["examples"] = [{"name": shown.name, "summary": shown.summary, "payload": payload}]
    return message
