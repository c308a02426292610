"""One line per record, for a person who reads along.

Works on untyped JSON and never fails: what does not look as expected is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from models.errors import InvalidRecord
from models.messages import Role
from processors.text import shapes
from streams.cli.output import moment, printable
from streams.clients.records import SourceRecord
from streams.runtime.deadletters import DLQ_SUFFIX, HEADER_PREFIX

Body = dict[str, Any]


def body_of(record: SourceRecord) -> Any:
    """Return the decoded JSON of a record, ``None`` for a tombstone; raises :class:`msgspec.DecodeError`."""
    return None if record.value is None else msgspec.json.decode(record.value)


def key_of(record: SourceRecord) -> str:
    """Return the key as text, ``-`` when there is none."""
    return "-" if record.key is None else record.key.decode(errors="replace")


def belongs_to(record: SourceRecord, conversation_id: str) -> bool:
    """Tell whether a record is about a conversation: by its key, its body or its provenance."""
    if key_of(record) == conversation_id:
        return True
    try:
        body = body_of(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    if not isinstance(body, dict):
        return False
    sources = body.get("provenance")
    bodies = [body, *(sources if isinstance(sources, list) else [sources])]
    return any(isinstance(part, dict) and part.get("conversation_id") == conversation_id for part in bodies)


def line(record: SourceRecord, contract_name: str) -> str:
    """Return time (UTC), ``partition:offset``, key and what the record says."""
    when = moment(record.timestamp / 1000)
    place = f"{record.partition}:{record.offset}"
    parts = [when, f"{place:>8}", printable(key_of(record)), says(record, contract_name)]
    return "  ".join(parts)


def says(record: SourceRecord, contract_name: str) -> str:
    """Return a record on one line."""
    if contract_name.endswith(DLQ_SUFFIX):
        return printable(_letter(record))
    if record.value is None:
        return "(deleted)"
    describe: Callable[[Any], str] = _BY_TOPIC.get(contract_name, _raw)
    try:
        body = body_of(record)
        described = describe(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        described = record.value.decode(errors="replace")
    except (KeyError, TypeError, AttributeError, ValueError):
        described = _raw(body)
    return printable(described)


def as_dict(record: SourceRecord) -> Body:
    """Return everything there is about a record, for ``--json``; a value that is not JSON stays text."""
    try:
        value = body_of(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = (record.value or b"").decode(errors="replace")
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        "key": None if record.key is None else key_of(record),
        "headers": {name: (value or b"").decode(errors="replace") for name, value in record.headers},
        "value": value,
    }


def _letter(record: SourceRecord) -> str:
    """Why a record is in a dead-letter queue, where it lay, and then the record itself."""
    why = {
        name.removeprefix(HEADER_PREFIX): (value or b"").decode(errors="replace")
        for name, value in record.headers
        if name.startswith(HEADER_PREFIX)
    }
    body = "(no value)" if record.value is None else record.value.decode(errors="replace")
    if "reason" not in why:
        return body
    place = f"{why.get('topic', '?')} {why.get('partition', '?')}:{why.get('offset', '?')}"
    part = f", part {why['part']} of {why['parts']}" if "part" in why and "parts" in why else ""
    return f"{why['reason']}: {why.get('message', '')} [{place}, in {why.get('stage', '?')}{part}] {body}"


def _raw(body: Any) -> str:
    return msgspec.json.encode(body).decode()


def _message(body: Body) -> str:
    if "punctuation" in body:
        return f"({body['punctuation']})"
    try:
        message = shapes.read(msgspec.json.encode(body), body.get("message_id") or "-")
    except InvalidRecord:
        return _raw(body)
    return f"{message.user_id if message.role is Role.USER else message.role.value}: {message.content}"


def _window(body: Body) -> str:
    return (
        f"window {body['from_index']}-{body['to_index']} ({body['reason']}, {len(body['messages'])} messages, "
        f"{body['overlap']} overlap) of {body['user_id']}"
    )


def _turn(body: Body) -> str:
    if "punctuation" in body:
        return f"({body['punctuation']})"
    return f"{body['index']} {body.get('speaker') or body['role']}: {body['text']}"


def _episode(body: Body) -> str:
    return (
        f"episode {body['from_index']}-{body['to_index']} ({body['reason']}, {len(body['turn_ids'])} turns, "
        f"{body['overlap']} overlap) of {body['user_id']}"
    )


def _candidate(body: Body) -> str:
    return f"{body['user_id']} {body['kind']} {body['confidence']:.2f}: {body['statement']}"


def _fact(body: Body) -> str:
    return (
        f"{body['user_id']} {body['kind']} {body['confidence']:.2f} "
        f"{body['change']}/{body['status']} v{body['version']}: {body['statement']}"
    )


def _summary_request(body: Body) -> str:
    kind = "roll-up" if body.get("roll_up") else "range"
    return (
        f"{kind} {body['from_index']}-{body['to_index']}: {body['tokens']} tokens, above {body['threshold']} "
        f"(attempt {body.get('attempt', 1)})"
    )


def _summary(body: Body) -> str:
    content = body["summary"]
    profile = content.get("profile", {})
    lists = [profile.get("preferences", []), profile.get("constraints", [])]
    lists += [content.get(name, []) for name in ("key_facts", "decisions", "open_questions", "todos")]
    points = "; ".join(point for points in lists for point in points)
    return f"messages {body['from_index']}-{body['to_index']}, {body['tokens']} tokens: {points or '(empty)'}"


def _chunk(body: Body) -> str:
    return f"#{body['sequence']}{' final' if body.get('final') else ''}: {body['text']}"


def _duplicate(body: Body) -> str:
    repeats = "was kept, though similar to" if body.get("kept") else "repeats"
    return (
        f"{body['similarity_score']:.2f} at {body['position_in_response']}: "
        f"“{body['duplicate_sentence']}” {repeats} “{body['similar_sentence']}”"
    )


def _command(body: Body) -> str:
    return f"{body['command']} ({body.get('tenant_id', 'default')})"


def _step(body: Body) -> str:
    about = " into ".join(body[name] for name in ("other_id", "fact_id") if body.get(name))
    return f"{body['step']} {about}".rstrip() + f", by {body['by']}"


def _report(body: Body) -> str:
    merged, denied = len(body.get("merged", [])), len(body.get("contradicted", []))
    done = f"{merged} merged, {denied} contradict, {body.get('asked', 0)} unclear"
    rest = " (dry run)" if body.get("dry_run") else ""
    if body.get("kept") or body.get("calls"):
        calls = f", for ${body['cost_usd']:.4f}" if body.get("calls") else ""
        decided = f"{merged} merged, {denied} contradict, {len(body['kept'])} stay two"
        return (
            f"{body.get('asked', 0)} questions about {body['facts']} facts: {decided}{calls}, by {body['by']}"
        )
    return f"{body['changed']} of {body['facts']} facts changed: {done}{rest}, by {body['by']}"


def _entity(body: Body) -> str:
    return f"{body['name']} ({body['type']})"


def _relation(body: Body) -> str:
    return f"{body['from_name']} {body['relation'].replace('_', ' ')} {body['to_name']}"


def _graph_statement(body: Body) -> str:
    one, other = body["subject"], body["object"]
    ended = " no longer" if body.get("ended") else ""
    return f"{one['name'] or one['role']}{ended} {body['relation']} {other['name'] or other['role']}"


_BY_TOPIC: dict[str, Callable[[Body], str]] = {
    "chat.messages.v1": _message,
    "chat.response-chunks.v1": _chunk,
    "chat.responses.v1": _chunk,
    "chat.duplicates.v1": _duplicate,
    "memory.commands.v1": _command,
    "memory.windows.v1": _window,
    "memory.turns.v1": _turn,
    "memory.episodes.v1": _episode,
    "memory.fact-candidates.v1": _candidate,
    "memory.facts.v1": _fact,
    "memory.entities.v1": _entity,
    "memory.relations.v1": _relation,
    "memory.graph-statements.v1": _graph_statement,
    "memory.consolidation.v1": _step,
    "memory.consolidation-reports.v1": _report,
    "memory.summary-requests.v1": _summary_request,
    "memory.summaries.v1": _summary,
}
