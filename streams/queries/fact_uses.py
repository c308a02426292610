"""Where a fact was used: in the contexts that lie ready, and in answers that were given.

Looked for where it can matter: in a person's latest conversations, and in those that the fact comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec

from models.answers import AnswerItem
from models.context import ContextItem
from models.errors import InvalidRecord, NotFound
from models.facts import Fact
from models.messages import Role
from streams.agents.message_log import read_message
from streams.clients.kafka.lookup import Lookup
from streams.clients.topics import MESSAGES
from streams.queries.contexts.reading import ContextReader
from streams.stores.remembered.ports import Log

Item = TypeVar("Item", bound=ContextItem)


#: Conversations that are looked through, and of each so many of the newest messages.
_CONVERSATIONS, _MESSAGES = 10, 200

#: Uses that are told, the latest first.
_MOST = 100


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that a fact was in.

    ``context``: the one that lies ready for the conversation's next turn; ``answer``: the one of an answer,
    which is the message ``message_id``, and names it (``quoted``) or not.
    """

    kind: Literal["context", "answer"]
    conversation_id: str
    at: datetime
    message_id: str = ""
    quoted: bool = False


class _Prompt(msgspec.Struct, frozen=True):
    items: tuple[AnswerItem, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    prompt: _Prompt = _Prompt()


class FactUses:
    """Looks uses up."""

    def __init__(self, contexts: ContextReader, log: Log, lookup: Lookup) -> None:
        self._contexts = contexts
        self._log = log
        self._lookup = lookup

    async def of(self, fact: Fact) -> list[Use]:
        """Return where a fact was used lately, the latest first, as far as conversations and messages are kept.

        Raises:
            DependencyUnavailable: Kafka, or what holds conversations and contexts, does not answer.
        """
        latest = await self._log.conversations(fact.tenant_id, fact.user_id, _CONVERSATIONS)
        sources = [each.conversation_id for each in reversed(fact.provenance)]
        names = list(dict.fromkeys([*sources[: _CONVERSATIONS // 2], *latest]))[:_CONVERSATIONS]
        found = await asyncio.gather(*(self._in(fact, name) for name in names))
        uses = [use for each in found for use in each]
        return sorted(uses, key=lambda use: use.at, reverse=True)[:_MOST]

    async def _in(self, fact: Fact, conversation_id: str) -> list[Use]:
        uses = []
        try:
            context = (await self._contexts.read(fact.tenant_id, fact.user_id, conversation_id)).context
        except NotFound:  # others' only, by now
            return []
        if context is not None and _item_of(fact, context.items) is not None:
            uses.append(Use(kind="context", conversation_id=conversation_id, at=context.made_at))
        found = await self._lookup.find(MESSAGES, conversation_id.encode(), newest=_MESSAGES)
        for record in found.records if found is not None else ():
            try:
                message = read_message(record)
            except InvalidRecord:
                continue  # no message: a punctuation, or what the services dead-letter
            if (message.tenant_id, message.user_id, message.role) == (
                fact.tenant_id,
                fact.user_id,
                Role.ASSISTANT,
            ) and (item := _item_of(fact, _prompt_of(message.metadata))) is not None:
                uses.append(
                    Use(
                        kind="answer",
                        conversation_id=conversation_id,
                        at=message.sent_at,
                        message_id=message.message_id,
                        quoted=item.quoted,
                    )
                )
        return uses


def _prompt_of(metadata: dict[str, Any]) -> tuple[AnswerItem, ...]:
    """Return the items in the prompt of an answer; metadata comes from anybody and may be something else."""
    try:
        return msgspec.convert(metadata.get("answer", {}), _Answer).prompt.items
    except msgspec.ValidationError:
        return ()


def _item_of(fact: Fact, items: Sequence[Item]) -> Item | None:
    return next((item for item in items if item.id == fact.fact_id and item.left_out is None), None)
