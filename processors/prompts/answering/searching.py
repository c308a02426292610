"""Searches of the answering model; it is not trusted to ask well."""

from __future__ import annotations

from typing import NamedTuple

from models.answers import ToolCall
from processors.prompts.answer import MOST_RESULTS, SEARCH_TYPES, TOOL_NAME
from processors.retrieval.recall.question import InvalidQuestion, cleaned

_LIMIT = 5


class Search(NamedTuple):
    """A search; ``problem``: why it cannot be made, as the model is told."""

    query: str
    search_type: str = "both"
    limit: int = _LIMIT
    problem: str = ""


def search_of(call: ToolCall) -> Search:
    """Return the search of a call.  The person whose memory is searched is not the model's choice."""
    if call.name != TOOL_NAME:
        return Search("", problem=f"There is no tool {call.name[:60]!r}; {TOOL_NAME} is the only one.")
    query, kind = call.arguments.get("query"), call.arguments.get("search_type", "both")
    limit = call.arguments.get("limit", _LIMIT)
    if not isinstance(query, str):
        return Search("", problem="The query is missing: say what to look for, in words.")
    try:
        text = cleaned(query)
    except InvalidQuestion as error:
        return Search("", problem=f"{error}.")
    number = int(limit) if isinstance(limit, int | float) and 1 <= limit <= MOST_RESULTS else _LIMIT
    return Search(text, kind if kind in SEARCH_TYPES else "both", number)
