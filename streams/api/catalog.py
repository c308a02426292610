"""Every operation of the API, in the order in which it is described."""

from __future__ import annotations

from collections.abc import Sequence

from streams.api.operations import Operation
from streams.api.routes import (
    context,
    conversation_changes,
    conversations,
    description,
    facts,
    graph,
    letters,
    live,
    messages,
    people,
    search,
    session,
    turns,
    understanding,
)

OPERATIONS: Sequence[Operation] = (
    messages.send_messages,
    messages.get_progress,
    search.search,
    search.post_search,
    facts.list_facts,
    facts.get_fact,
    graph.get_graph,
    facts.forget_fact,
    facts.correct_fact,
    context.get_context,
    conversations.list_conversations,
    conversation_changes.new_conversation,
    conversations.get_conversation,
    conversations.get_window,
    conversations.get_summaries,
    conversations.export_conversation,
    conversation_changes.close_conversation,
    conversation_changes.delete_conversation,
    people.list_people,
    people.get_person,
    people.export_person,
    people.delete_person,
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
    turns.post_turn,
    turns.get_turn_events,
    turns.stop_turn,
    description.get_openapi,
)
