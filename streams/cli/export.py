"""``switchboard export``: conversations as JSON lines."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from models.errors import ConfigurationError, NotFound
from models.messages import DEFAULT_TENANT
from streams.cli import progress
from streams.cli.output import count, printable
from streams.clients.kafka.lookup import Lookup
from streams.config.printing import encode_json
from streams.config.settings import Settings, load_settings
from streams.queries.conversations.exporting import ExportedMessage, export_conversation
from streams.stores.turn_topic import TurnTopic


def write(
    conversation_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID...]", help="The conversation_id of each.", show_default=False),
    ] = None,
    user: Annotated[str, typer.Option("--user", "-u", help="All conversations that this person is in.")] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant that they belong to.")] = DEFAULT_TENANT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file, which must not exist yet.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="What it always writes: one JSON object per line.")
    ] = True,
) -> None:
    """Write messages (tokens, summarized or not, metadata) and summaries of conversations, one per line.

    `switchboard import jsonl` reads them again.
    """
    if not conversation_ids and not user:
        raise ConfigurationError("say which conversations: their ids, or a person with --user")
    settings = load_settings()
    with ExitStack() as resources:
        try:
            out = sys.stdout.buffer if output is None else resources.enter_context(output.open("xb"))
        except FileExistsError:
            raise ConfigurationError(f"{printable(str(output))} exists: name a file that does not") from None
        except OSError as error:
            raise NotFound(f"{printable(str(output))} cannot be written: {error.strerror}") from error
        lookup = Lookup(settings)
        names = list(dict.fromkeys(conversation_ids or ()))
        messages = total = 0
        missing = []
        # Lines that come at the terminal itself show how far it is.
        seen = output is None and sys.stdout.isatty()
        tell = _untold if seen else resources.enter_context(progress.showing("exporting"))
        names += [each for each in _theirs(settings, tenant, user) if each not in names]
        for number, name in enumerate(names):
            tell(f"{number:,} of {count(len(names), 'conversation')}, {count(messages, 'message')}")
            lines = asyncio.run(export_conversation(settings, lookup, tenant, name))
            if not lines:
                missing.append(name)
                continue
            total += 1
            messages += sum(isinstance(line, ExportedMessage) for line in lines)
            for line in lines:
                out.write(encode_json(line) + b"\n")
    print(f"{count(messages, 'message')} of {count(total, 'conversation')}", file=sys.stderr)
    if missing:
        raise NotFound(
            f"no turn is kept of {', '.join(map(printable, missing))}: ids are case-sensitive, and the recall "
            "service writes the turns"
        )


def _untold(_: str) -> None:
    """Nobody needs to be told."""


def _theirs(settings: Settings, tenant: str, user: str) -> list[str]:
    return sorted(asyncio.run(TurnTopic(settings).conversations(tenant, user))) if user else []
