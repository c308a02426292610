"""Statements about people, pets, places, organizations and dates, read from what a person says plainly.

Precision over recall: what is asked, wished or supposed is passed over, and so is a name that could be two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from models import ids
from models.graph import GraphSource, GraphStatement, Mention
from models.messages import Role
from processors.conversations.episodes.state import KeptTurn
from processors.extraction.graph.telling import Reader, ToldRelation
from processors.text.authorship import own_words

#: Statements of one message that are read.
STATEMENTS_LIMIT = 50


def read(conversation_id: str, turns: Iterable[KeptTurn], first: int = 0) -> Iterator[GraphStatement]:
    """Yield what people say in the turns of an episode from the ``first``-th on; those before are only context.

    What the assistant says is no statement of anybody's, nor is text that somebody only passes on.
    """
    spoken: dict[str, Reader] = {}
    for number, turn in enumerate(turns):
        if turn.role != Role.USER:
            continue
        reader = spoken[turn.user_id] = Reader(spoken.get(turn.user_id))
        own = own_words(turn.text)
        found = dict.fromkeys(
            each._replace(quote=_whole(each.quote, own, turn.text)) for each in reader.read(own)
        )
        if number < first:
            continue
        for statement in [*found][:STATEMENTS_LIMIT]:
            yield statement_of(statement, turn, conversation_id)


def _whole(quote: str, own: str, text: str) -> str:
    """Return a quote as it was written: a sentence that holds a quotation has blanks in its place."""
    at = own.find(quote)
    return text[at : at + len(quote)] if at >= 0 else quote


def statement_of(said: ToldRelation, turn: KeptTurn, conversation_id: str) -> GraphStatement:
    """Return the statement of what was said in a turn: its id depends on both alone."""
    made_of = (*_fields(said.subject), said.relation, *_fields(said.object), int(said.ended))
    return GraphStatement(
        statement_id=ids.deterministic_id(
            "graph-statement", turn.tenant_id, turn.user_id, turn.turn_id, *made_of
        ),
        tenant_id=turn.tenant_id,
        user_id=turn.user_id,
        subject=said.subject,
        relation=said.relation,
        object=said.object,
        ended=said.ended,
        source=GraphSource(
            conversation_id=conversation_id,
            message_id=turn.message_id,
            turn_id=turn.turn_id,
            quote=said.quote,
            topic=turn.topic,
            partition=turn.partition,
            offset=turn.offset,
            sent_at=datetime.fromtimestamp(turn.sent_at, UTC),
            arrived_at=datetime.fromtimestamp(turn.arrived_at, UTC),
        ),
    )


def _fields(mention: Mention) -> tuple[str, str, str]:
    return mention.type.value, mention.name, mention.role
