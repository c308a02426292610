"""Summary values: made safe, counted, and turned into records (seed 004)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from models.summaries import SessionSummary, Summary, SummaryRequest, UserProfile
from processors.text.tokens import TokenCounter


def context_text(summary: SessionSummary) -> str:
    """Return what a summary is in the context of a model: its JSON text without the lists that are empty.

    The names of empty lists say nothing, and would be paid for again with every prompt.  ``""``: nothing to
    say.
    """
    profile = {name: items for name, items in msgspec.structs.asdict(summary.profile).items() if items}
    lists = msgspec.structs.asdict(summary) | {"profile": profile}
    told = {name: items for name, items in lists.items() if items}
    return msgspec.json.encode(told).decode() if told else ""


def summary_tokens(summary: SessionSummary, count: TokenCounter) -> int:
    """Return what a summary takes up in the context: the tokens of :func:`context_text`."""
    return count(context_text(summary))


def build_summary(
    request: SummaryRequest,
    summary: SessionSummary,
    count: TokenCounter,
    summarizer: str,
) -> Summary:
    """Return the record for ``memory.summaries.v1`` that answers ``request``.

    It is as old as the last message that it is about, whenever it is made: a replay writes the same one.
    """
    return Summary(
        summary_id=request.request_id,
        request_id=request.request_id,
        conversation_id=request.conversation_id,
        user_id=request.user_id,
        from_index=request.from_index,
        to_index=request.to_index,
        summary=summary,
        tokens=summary_tokens(summary, count),
        source=request.source,
        summarizer=summarizer,
        created_at=request.arrived_at,
        replaces=request.replaces,
        tenant_id=request.tenant_id,
    )


def validate_summary(answer: object) -> SessionSummary:
    """Return the summary that a language model's ``answer`` holds; never raises.

    ``answer``: the JSON text (``str`` or ``bytes``, perhaps inside a Markdown fence) or the decoded value.  A
    list that is null or missing is empty, an item that is no text is left out.  What holds no JSON object at
    all is an empty summary, which is accepted and marks its messages like any other (seed 004): asking a
    model again and again for what it cannot give would block the conversation for ever.
    """
    if isinstance(answer, bytes):
        answer = answer.decode(errors="replace")
    if isinstance(answer, str):
        answer = _decoded(answer)
    if not isinstance(answer, Mapping):
        return SessionSummary()
    profile = answer.get("profile")
    if not isinstance(profile, Mapping):
        profile = {}
    return SessionSummary(
        profile=UserProfile(
            preferences=_texts(profile.get("preferences")), constraints=_texts(profile.get("constraints"))
        ),
        key_facts=_texts(answer.get("key_facts")),
        decisions=_texts(answer.get("decisions")),
        open_questions=_texts(answer.get("open_questions")),
        todos=_texts(answer.get("todos")),
    )


def _decoded(text: str) -> Any:
    """Decode the outermost JSON object of a text: models like to wrap it in prose or a fence."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return msgspec.json.decode(_encodable(text[start : end + 1]))
    except msgspec.DecodeError:
        return None


def _texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list, stripped, without empty ones and repetitions; one text is a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return ()
    stripped = (_encodable(item).strip() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(text for text in stripped if text))


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which a decoded value may hold and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
