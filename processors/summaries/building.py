"""Summary values: counted, and turned into records (requirement 5.2)."""

from __future__ import annotations

import msgspec

from models.summaries import SessionSummary, Summary, SummaryRequest
from processors.text.tokens import TokenCounter


def context_text(summary: SessionSummary) -> str:
    """Return a summary's text for a model's context: its JSON text without the lists that are empty.

    The names of empty lists say nothing, and would be paid for again with every prompt.  ``""``: nothing to
    say.
    """
    profile = {name: items for name, items in msgspec.structs.asdict(summary.profile).items() if items}
    lists = msgspec.structs.asdict(summary) | {"profile": profile}
    told = {name: items for name, items in lists.items() if items}
    return msgspec.json.encode(told).decode() if told else ""


def summary_tokens(summary: SessionSummary, count: TokenCounter) -> int:
    """Return the tokens of a summary in the context (:func:`context_text`)."""
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
