"""Every operation of the API, in the order in which it is described."""

from __future__ import annotations

from collections.abc import Sequence

from streams.api.operations import Operation
from streams.api.routes import (
    context,
    conversations,
    description,
    facts,
    graph,
    letters,
    live,
    search,
    session,
    understanding,
)

OPERATIONS: Sequence[Operation] = (
    search.search,
    facts.list_facts,
    facts.get_fact,
    graph.get_graph,
    context.get_context,
    conversations.get_window,
    understanding.get_understanding,
    letters.list_groups,
    letters.list_letters,
    letters.get_letter,
    letters.retry_letters,
    letters.drop_letters,
    live.get_log,
    live.get_events,
    live.get_status,
    session.get_session,
    session.sign_in,
    session.sign_out,
    description.get_openapi,
)
