"""``switchboard conversations``: what the ingest service remembers of a conversation, and how one is closed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from models.commands import Command
from models.errors import ConfigurationError, NotFound
from models.messages import DEFAULT_TENANT
from processors.conversations import token_table
from processors.conversations.message_ids import ID_HASH_BYTES
from processors.conversations.state import ConversationPolicy, ConversationState, silent_at
from streams.cli.output import count, moment, print_json, print_table, printable
from streams.clients import commands
from streams.clients.kafka.lookup import Lookup
from streams.config.settings import Settings, load_settings
from streams.queries.conversations import states as conversation_states

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Look at conversations, and close them.")


@app.command()
def show(
    conversation_id: Annotated[
        str, typer.Argument(metavar="ID", help="The conversation_id.", show_default=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Print what is remembered of a conversation: messages, the open window, tokens, summarized ranges."""
    settings = load_settings()
    stored = asyncio.run(conversation_states.find(Lookup(settings), conversation_id))
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
    known = await conversation_states.find_all(Lookup(settings), [command.conversation_id for command in asked])
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


def _as_dict(conversation_id: str, stored: conversation_states.Stored, settings: Settings) -> dict[str, object]:
    state = stored.state
    return {
        "conversation_id": conversation_id,
        "user_id": state.user_id,
        "tenant_id": state.tenant_id,
        "messages": state.next_index,
        "sent_at": state.sent_at,
        "arrived_at": state.arrived_at,
        "partition": stored.partition,
        "next_offsets": dict(zip(conversation_states.SOURCES, stored.next_offsets, strict=True)),
        "open_window": {
            "from_index": state.cursor.from_index,
            "to_index": state.next_index - 1,
            "overlap": state.cursor.overlap,
        },
        "end_mark": state.end_mark,
        "message_ids": _known_ids(state),
        "tokens": token_table.context_tokens(state.tokens),
        "token_threshold": settings.token_threshold,
        "ranges": token_table.ranges(state.tokens),
    }


def _print(conversation_id: str, stored: conversation_states.Stored, settings: Settings) -> None:
    state = stored.state
    rows = [
        ("conversation", conversation_id),
        ("person", f"{state.user_id} (tenant {state.tenant_id})"),
        ("messages", _messages(state)),
        ("read up to", _read_up_to(stored)),
        ("open window", _open_window(state, settings)),
        ("latest end mark", state.end_mark or "none: no window has ended yet"),
        ("remembered ids", f"{_known_ids(state):,}"),
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


def _known_ids(state: ConversationState) -> int:
    return state.paged_ids + len(state.recent_ids) // ID_HASH_BYTES


def _messages(state: ConversationState) -> str:
    return f"{state.next_index:,}, the latest sent {moment(state.sent_at)}"


def _read_up_to(stored: conversation_states.Stored) -> str:
    parts = [
        f"{source} {stored.partition}:{offset - 1}"
        for source, offset in zip(conversation_states.SOURCES, stored.next_offsets, strict=True)
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
