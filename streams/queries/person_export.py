"""All that is kept of a person, as lines: what is known of them, and what they said and were told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import msgspec

from models.facts import Fact
from models.index import FactFilter
from streams.queries.conversations.exporting import ExportedMessage, ExportedSummary
from streams.queries.conversations.listing import Conversations
from streams.stores.remembered.ports import Facts

_PAGE = 500


class ExportedFact(msgspec.Struct, frozen=True, kw_only=True, tag="fact"):
    """A fact about the person, of whatever status, with its history and evidence."""

    fact: Fact


Line = ExportedFact | ExportedMessage | ExportedSummary


async def person_lines(
    facts: Facts, conversations: Conversations, names: Sequence[str], tenant_id: str, user_id: str
) -> AsyncGenerator[Line]:
    """Yield the facts about a person and then conversation by conversation what is theirs.

    Of a conversation with others it is their own messages, and no summary: that tells of everybody.

    Raises:
        DependencyUnavailable: Kafka, or what holds the facts, does not answer.
    """
    where = FactFilter(user_id=user_id, tenant_id=tenant_id, statuses=())
    page, start = await facts.page(where, _PAGE)
    while True:
        for fact in page:
            yield ExportedFact(fact=fact)
        if start is None:
            break
        page, start = await facts.page(where, _PAGE, start)
    for name in names:
        lines = await conversations.exported(tenant_id, name)
        messages = [line for line in lines if isinstance(line, ExportedMessage)]
        alone = all(message.user_id == user_id for message in messages)
        for line in lines:
            if alone or (isinstance(line, ExportedMessage) and line.user_id == user_id):
                yield line
