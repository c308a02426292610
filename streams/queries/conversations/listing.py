"""A person's conversations, as they are listed, looked at, closed and forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from aiokafka import TopicPartition

from models.errors import DependencyUnavailable, InvalidRecord, NotFound, NotReadYet
from models.messages import Role
from models.summaries import Summary
from processors.conversations import token_table
from processors.conversations.state import ConversationPolicy, silent_at
from processors.text.tokens import message_tokens
from streams.agents.message_log import read_message
from streams.clients import commands
from streams.clients.kafka.lookup import Lookup
from streams.clients.sending import Outgoing, Sender
from streams.clients.topics import COMMANDS, MESSAGES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.queries.conversations import exporting
from streams.queries.conversations import states as conversation_states
from streams.queries.conversations.summary_topic import summaries_of
from streams.stores.remembered.ports import Log, somebody_elses

#: Among these there is one that was not erased, unless all were.
_LATEST_TURNS = 50

_TITLE_CHARACTERS = 60

#: Conversations of which whose they are is asked at the same time.
_ASKED_AT_ONCE = 50

#: How long it may take to tell whose conversations are that anybody may write into (seconds).
_BEGINS_SECONDS = 1.0

#: How long it may take to tell what is not read yet from what is not there.
_WAITS_SECONDS = 3.0


class ListedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in a list.  ``title``: how the first thing begins that the person said in it."""

    conversation_id: str
    user_id: str
    title: str
    messages: int
    first_at: datetime | None
    last_at: datetime | None


class LoggedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message, as the log has it: ``masked`` passages of ``content`` are not kept verbatim."""

    message_id: str
    user_id: str
    role: Role
    content: str
    sent_at: datetime
    index: int
    token_count: int
    is_summarized: bool
    partition: int
    offset: int
    masked: int = 0


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Token use of a conversation, and the index from which messages are summarized."""

    messages: int
    summaries: int
    total: int
    threshold: int


class OpenWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The window that is not extracted yet: it ends with ``size`` messages, when it is closed, or then."""

    from_index: int
    messages: int
    overlap: int
    size: int
    closes_at: datetime


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Overview of a conversation without its messages; ``messages``: as many as ingest has read."""

    messages: int
    tokens: Tokens | None
    open_window: OpenWindow | None
    ranges: list[token_table.TableRange]


class Conversations:
    """The conversations of a deployment."""

    def __init__(self, settings: Settings, log: Log, sender: Sender, lookup: Lookup) -> None:
        self._settings = settings
        self._lookup = lookup
        self._log = log
        self._sender = sender

    async def names(self, tenant_id: str, user_id: str) -> list[str]:
        """Return all conversations of a person, the one with the latest turn first."""
        return await self._log.conversations(tenant_id, user_id, None)

    async def page(self, tenant_id: str, user_id: str, limit: int, after: str = "") -> list[str]:
        """Return the names of as many, those after another one; of one that is gone, from the first one on."""
        return await self._log.conversations(tenant_id, user_id, limit, after)

    async def listed(self, tenant_id: str, user_id: str, conversation_id: str) -> ListedConversation:
        """Return a conversation as a list shows it."""
        length = await self._log.length(tenant_id, conversation_id)
        indices = {conversation_id: sorted({*range(min(length, 10)), length - 1} - {-1})}
        turns = sorted(await self._log.at(tenant_id, indices), key=lambda turn: turn.index)
        said = next((turn.text for turn in turns if turn.role is Role.USER), turns[0].text if turns else "")
        title = " ".join(said.split())
        return ListedConversation(
            conversation_id=conversation_id,
            user_id=user_id,
            title=title if len(title) <= _TITLE_CHARACTERS else title[: _TITLE_CHARACTERS - 1] + "…",
            messages=length,
            first_at=turns[0].sent_at if turns else None,
            last_at=turns[-1].sent_at if turns else None,
        )

    async def check(self, tenant_id: str, user_id: str | None, conversation_id: str) -> int:
        """Return how many messages a conversation has.

        Raises:
            NotFound: there is no such conversation, or the person takes no part in it.
            NotReadYet: it began a moment ago.
        """
        length = await self._log.length(tenant_id, conversation_id)
        # Of one that was erased the log still knows how long it was.
        there = length and await self._log.last_turns(tenant_id, conversation_id, _LATEST_TURNS)
        takes_part = user_id is None or await self._log.takes_part(tenant_id, user_id, conversation_id)
        if not length and await self.waits(tenant_id, user_id, conversation_id):
            raise NotReadYet(f"what was said in conversation {conversation_id} is not read yet: a moment")
        if not there or not takes_part:
            whose = f"{user_id} takes part in no" if user_id is not None else "there is no"
            raise NotFound(f"{whose} conversation {conversation_id} of tenant {tenant_id} that is still kept")
        return length

    async def check_writable(self, tenant_id: str, people: Mapping[str, str], *, alone: bool) -> None:
        """Refuse what ingest would put aside, and what would let a person take part in others' conversations.

        ``people``: who writes, by conversation.  One that nothing is known of is begun, and its id is the
        tenant's from then on.  ``alone``: they may write into none that others have begun, for who takes part
        in a conversation reads it.

        Raises:
            NotFound: a conversation is another tenant's; or, ``alone``, others talk there.
            DependencyUnavailable: ``alone``, and it cannot be told.  What anybody may write is taken all the
                same: ingest says whose it is.
        """
        try:
            async with asyncio.timeout(None if alone else _BEGINS_SECONDS):
                others = await self._log.begin(tenant_id, people)
        except (DependencyUnavailable, TimeoutError):
            if alone:
                raise
            return
        for name, is_ours in others.items():
            if not is_ours:
                raise NotFound(
                    f"the id {name} belongs to a conversation of others: ids of conversations differ between "
                    "tenants, so take another one (POST /v1/conversations makes one)"
                )
        if not alone:
            return
        names = sorted(people)
        for start in range(0, len(names), _ASKED_AT_ONCE):
            some = names[start : start + _ASKED_AT_ONCE]
            asked = (self._is_own(tenant_id, people[name], name, begun=name not in others) for name in some)
            own = await asyncio.gather(*asked)
            if False in own:
                name = some[own.index(False)]
                raise somebody_elses(people[name], name)

    async def _is_own(self, tenant_id: str, user_id: str, conversation_id: str, *, begun: bool) -> bool:
        # In this order: a first message that is written meanwhile makes both true at once.
        if await self._log.extent(tenant_id, conversation_id) is None:
            return begun
        return await self._log.takes_part(tenant_id, user_id, conversation_id)

    async def waits(self, tenant_id: str, user_id: str | None, conversation_id: str) -> bool:
        """Tell whether something was said there, to this person, that the recall service has not read."""
        try:
            async with asyncio.timeout(_WAITS_SECONDS):
                found = await self._lookup.find(MESSAGES, conversation_id.encode(), newest=1)
                if found is None or not found.records:
                    return False
                record = found.records[-1]
                message = read_message(record)
                read = await self._lookup.committed(self._settings.group("recall"))
        except (DependencyUnavailable, InvalidRecord, TimeoutError):
            return False  # then it is as unknown as any other
        theirs = message.tenant_id == tenant_id and user_id in (None, message.user_id)
        return theirs and record.offset >= read.get(TopicPartition(record.topic, record.partition), 0)

    async def overview(self, tenant_id: str, conversation_id: str) -> Overview:
        """Return how far a conversation has come.

        Raises:
            DependencyUnavailable: Kafka does not answer.
        """
        stored = await conversation_states.find(self._lookup, conversation_id)
        if stored is None or stored.state.tenant_id != tenant_id:
            return Overview(messages=0, tokens=None, open_window=None, ranges=[])
        state, settings = stored.state, self._settings
        total, summaries = token_table.context_tokens(state.tokens), token_table.summary_tokens(state.tokens)
        held = state.next_index - state.cursor.from_index
        window = None
        if held > state.cursor.overlap:
            at = silent_at(state, ConversationPolicy(idle_seconds=settings.idle_seconds))
            window = OpenWindow(
                from_index=state.cursor.from_index,
                messages=held,
                overlap=state.cursor.overlap,
                size=settings.window_size,
                closes_at=datetime.fromtimestamp(at, UTC),
            )
        return Overview(
            messages=state.next_index,
            tokens=Tokens(
                messages=total - summaries,
                summaries=summaries,
                total=total,
                threshold=settings.token_threshold,
            ),
            open_window=window,
            ranges=token_table.ranges(state.tokens),
        )

    async def said(
        self, tenant_id: str, conversation_id: str, first: int, limit: int, overview: Overview
    ) -> list[LoggedMessage]:
        """Return messages of a conversation from an index on."""
        turns = await self._log.turns(tenant_id, conversation_id, first, first + limit - 1)
        count = await asyncio.to_thread(cl100k_counter)
        summarized = [
            range(each.from_index, each.to_index + 1)
            for each in overview.ranges
            if each.state is token_table.RangeState.SUMMARIZED
        ]
        return [
            LoggedMessage(
                message_id=turn.message_id,
                user_id=turn.user_id,
                role=turn.role,
                content=turn.text,
                sent_at=turn.sent_at,
                index=turn.index,
                token_count=message_tokens(turn.role, turn.text, count),
                is_summarized=any(turn.index in each for each in summarized),
                partition=turn.source.partition,
                offset=turn.source.offset,
                masked=turn.masked,
            )
            for turn in turns
        ]

    async def summaries(self, tenant_id: str, conversation_id: str) -> list[Summary]:
        """Return the summaries of a conversation, in the order in which they were made.

        Raises:
            DependencyUnavailable: Kafka does not answer.
        """
        return await summaries_of(self._lookup, tenant_id, conversation_id)

    async def exported(self, tenant_id: str, conversation_id: str) -> list[exporting.Exported]:
        """Return a conversation as the lines of an export.

        Raises:
            DependencyUnavailable: Kafka does not answer.
        """
        return await exporting.export_conversation(self._settings, self._lookup, tenant_id, conversation_id)

    async def close(self, tenant_id: str, conversation_id: str) -> None:
        """Have the open window end after all that is there by now.

        Raises:
            DependencyUnavailable: Kafka has not confirmed it.
        """
        command = commands.closing(conversation_id, tenant_id)
        key, value = conversation_id.encode(), msgspec.json.encode(command)
        await self._sender.send([Outgoing(COMMANDS, key, value, command.command_id)])
