"""``switchboard conversations``: what the ingest service remembers of a conversation, and how one is closed.

Reads the changelog of the stage's table: the same records that a restarted worker recovers from.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import typer
from aiokafka import TopicPartition

from models.commands import Command
from models.errors import ConfigurationError, NotFound
from models.messages import DEFAULT_TENANT
from processors.conversations import token_table
from processors.conversations.sequence import ID_HASH_BYTES
from processors.conversations.state import ConversationPolicy, ConversationState, is_page, silent_at
from streams.agents.ingest.conversations import COMMANDS, STATE
from streams.agents.ingest.summary_ledger import SUMMARIES
from streams.agents.message_log import MESSAGES
from streams.cli import broker, commands
from streams.cli.output import count, moment, print_json, print_table, printable
from streams.runtime.partitioner import partition_of
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState
from streams.settings import Settings, load_settings
from streams.topics import catalog_for

CHANGELOG = "switchboard-ingest-conversations-changelog"

#: The sources of the stage.
_SOURCES = (MESSAGES, SUMMARIES, COMMANDS)

app = typer.Typer(no_args_is_help=True, help="Look at conversations, and close them.")


class Stored(NamedTuple):
    """A conversation's latest state: where its messages lie, and the next offset of each source."""

    partition: int
    next_offsets: Sequence[int]
    state: ConversationState


@app.command()
def show(
    conversation_id: Annotated[
        str, typer.Argument(metavar="ID", help="The conversation_id.", show_default=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Print what is remembered of a conversation: messages, the open window, tokens, summarized ranges."""
    settings = load_settings()
    stored = asyncio.run(find(settings, conversation_id))
    if stored is None:
        raise NotFound(
            f"no conversation {printable(conversation_id)!r} is known at {settings.bootstrap_servers}: ids are "
            "case-sensitive, and the ingest service learns of one with its first message"
        )
    if json:
        print_json(_as_dict(conversation_id, stored, settings))
    else:
        _print(conversation_id, stored, settings)


@app.command()
def close(
    conversation_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="The conversation_id of each.", show_default=False)
    ],
    tenant: Annotated[str, typer.Option("--tenant", help="Whose conversations they are.")] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """End the open window of conversations that are over, instead of waiting until they count as silent."""
    settings = load_settings()
    asked = [commands.closing(conversation_id, tenant) for conversation_id in dict.fromkeys(conversation_ids)]
    asyncio.run(_close(settings, tenant, asked))
    if json:
        print_json({"asked_to_close": [command.conversation_id for command in asked], "tenant_id": tenant})
        return
    print(f"asked to close {count(len(asked), 'conversation')}, after all messages that are there by now")


async def _close(settings: Settings, tenant: str, asked: Sequence[Command]) -> None:
    known = await find_all(settings, [command.conversation_id for command in asked])
    for command in asked:
        name, stored = printable(command.conversation_id), known.get(command.conversation_id)
        if stored is None:
            advice = "it closes if some are there by now; ids are case-sensitive"
            print(f"no message of {name!r} has been processed yet: {advice}", file=sys.stderr)
        elif stored.state.tenant_id != tenant:
            raise ConfigurationError(
                f"conversation {name!r} belongs to another tenant than {printable(tenant)!r}: nothing was "
                "closed; give its own with --tenant"
            )
    await commands.send(settings, asked)


async def find(settings: Settings, conversation_id: str) -> Stored | None:
    """Return the latest state of a conversation, ``None`` if there is none; see :func:`find_all`."""
    return (await find_all(settings, [conversation_id])).get(conversation_id)


async def find_all(settings: Settings, conversation_ids: Iterable[str]) -> dict[str, Stored]:
    """Return the latest state of those of the conversations that there is one of.

    Raises :class:`NotFound` when the changelog does not exist.
    """
    topic = catalog_for(settings).name(CHANGELOG)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic)
    if partitions is None:
        raise NotFound(
            f"{topic} does not exist at {settings.bootstrap_servers} yet: `switchboard topics apply` creates it"
        )
    partition_by_key = {name.encode(): partition_of(name.encode(), partitions) for name in conversation_ids}
    places = [TopicPartition(topic, number) for number in sorted(set(partition_by_key.values()))]
    stored = StoredPartition(_SOURCES)  # keys of several partitions do not mix
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        async for record in broker.until(consumer, ends):
            if record.key in partition_by_key:
                stored.fold([record])
    found = {}
    for key, value in stored.values.items():
        payload = stored.layout.payload(value)
        state = STATE.decode(payload, key) if payload is not None else None
        # Of some that were closed before they began it is known that they were.
        if state is not None and state.next_index:
            offsets = [stored.layout.next_offset(value, number) for number in range(len(_SOURCES))]
            found[key.decode()] = Stored(partition_by_key[key], offsets, state)
    return found


async def of_person(settings: Settings, tenant_id: str, user_id: str) -> list[str]:
    """Return the conversations that a person began, as far as they are remembered."""
    topic = catalog_for(settings).name(CHANGELOG)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic, 0)
    places = [TopicPartition(topic, number) for number in range(partitions)]
    stored = StoredPartition(_SOURCES)  # a conversation is in one partition
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        async for record in broker.until(consumer, ends):
            if record.key is not None and not is_page(record.key):
                stored.fold([record])
    states = ((key, STATE.decode(payload, key)) for key, payload in PartitionState(stored).items())
    return sorted(
        key.decode()
        for key, state in states
        if state.next_index and (state.tenant_id, state.user_id) == (tenant_id, user_id)
    )


def _as_dict(conversation_id: str, stored: Stored, settings: Settings) -> dict[str, object]:
    state = stored.state
    return {
        "conversation_id": conversation_id,
        "user_id": state.user_id,
        "tenant_id": state.tenant_id,
        "messages": state.next_index,
        "sent_at": state.sent_at,
        "arrived_at": state.arrived_at,
        "partition": stored.partition,
        "next_offsets": dict(zip(_SOURCES, stored.next_offsets, strict=True)),
        "open_window": {
            "from_index": state.cursor.from_index,
            "to_index": state.next_index - 1,
            "overlap": state.cursor.overlap,
        },
        "end_mark": state.end_mark,
        "recent_message_ids": len(state.recent_ids) // ID_HASH_BYTES,
        "tokens": token_table.context_tokens(state.tokens),
        "token_threshold": settings.token_threshold,
        "ranges": token_table.ranges(state.tokens),
    }


def _print(conversation_id: str, stored: Stored, settings: Settings) -> None:
    state = stored.state
    rows = [
        ("conversation", conversation_id),
        ("person", f"{state.user_id} (tenant {state.tenant_id})"),
        ("messages", _messages(state)),
        ("read up to", _read_up_to(stored)),
        ("open window", _open_window(state, settings)),
        ("latest end mark", state.end_mark or "none: no window has ended yet"),
        ("remembered ids", str(len(state.recent_ids) // ID_HASH_BYTES)),
        ("tokens", f"{token_table.context_tokens(state.tokens):,} of {settings.token_threshold:,}"),
    ]
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"{label.ljust(width)}  {printable(value)}")
    print()
    print_table(
        ("messages", "state", "tokens", "summary"),
        [
            (f"{row.from_index}-{row.to_index}", row.state.value, f"{row.tokens:,}", row.summary_id or "-")
            for row in token_table.ranges(state.tokens)
        ],
        right=(2,),
    )


def _messages(state: ConversationState) -> str:
    return f"{state.next_index:,}, the latest sent {moment(state.sent_at)}"


def _read_up_to(stored: Stored) -> str:
    parts = [
        f"{source} {stored.partition}:{offset - 1}"
        for source, offset in zip(_SOURCES, stored.next_offsets, strict=True)
        if offset
    ]
    return ", ".join(parts) or "nothing"


def _open_window(state: ConversationState, settings: Settings) -> str:
    new = state.next_index - state.cursor.from_index - state.cursor.overlap
    if new <= 0:
        return f"empty; the next repeats {count(state.cursor.overlap, 'message')}"
    closes = moment(silent_at(state, ConversationPolicy(idle_seconds=settings.idle_seconds)))
    return (
        f"{state.cursor.from_index}-{state.next_index - 1}: {count(new, 'new message')}, "
        f"{state.cursor.overlap} repeated; {new + state.cursor.overlap} of {settings.window_size}, closes at "
        f"{closes} unless more comes"
    )
