"""``switchboard conversations``: what the ingest service remembers of a conversation.

Reads the changelog of the stage's table: the same records that a restarted worker recovers from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer
from aiokafka import TopicPartition

from models.errors import NotFound
from processors.conversations import token_table
from processors.conversations.state import ID_HASH_BYTES, ConversationPolicy, ConversationState
from streams.agents.ingest.conversations import MESSAGES, STATE, SUMMARIES
from streams.cli import broker
from streams.cli.output import count, moment, print_json, print_table, printable
from streams.runtime.partitioner import partition_of
from streams.runtime.stored import StoredPartition
from streams.settings import Settings, load_settings
from streams.topics import catalog_for

CHANGELOG = "switchboard-ingest-conversations-changelog"

#: The sources of the stage.
_SOURCES = (MESSAGES, SUMMARIES)

app = typer.Typer(no_args_is_help=True, help="Look at the state of conversations.")


class Stored(NamedTuple):
    """A conversation's latest state: where its messages lie, and the next offset of each source."""

    partition: int
    next_offsets: Sequence[int]
    state: ConversationState


@app.callback()
def _group() -> None:
    """Keeps `show` a subcommand while it is the only one."""


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


async def find(settings: Settings, conversation_id: str) -> Stored | None:
    """Return the latest state of a conversation, ``None`` if there is none.

    Raises :class:`NotFound` when the changelog does not exist.
    """
    topic = catalog_for(settings).name(CHANGELOG)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic)
    if partitions is None:
        raise NotFound(
            f"{topic} does not exist at {settings.bootstrap_servers} yet: `switchboard topics apply` creates it"
        )
    key = conversation_id.encode()
    place = TopicPartition(topic, partition_of(key, partitions))
    found = StoredPartition(_SOURCES)
    async with broker.reading(settings) as consumer:
        consumer.assign([place])
        ends = await broker.ends_of(consumer, [place])
        async for record in broker.until(consumer, ends):
            if record.key == key:
                found.fold([record])
    latest = found.values.get(key)
    payload = None if latest is None else found.layout.payload(latest)
    if latest is None or payload is None:
        return None
    offsets = [found.layout.next_offset(latest, number) for number in range(len(_SOURCES))]
    return Stored(place.partition, offsets, STATE.decode(payload, key))


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
    policy = ConversationPolicy(
        idle_seconds=settings.idle_seconds, idle_grace_seconds=settings.idle_grace_seconds
    )
    closes = moment(policy.idle_at(state.sent_at, state.arrived_at))
    return (
        f"{state.cursor.from_index}-{state.next_index - 1}: {count(new, 'new message')}, "
        f"{state.cursor.overlap} repeated; {new + state.cursor.overlap} of {settings.window_size}, closes at "
        f"{closes} unless more comes"
    )
