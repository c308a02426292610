"""``switchboard correct``: say what holds instead of a fact."""

from __future__ import annotations

import asyncio
import getpass
from typing import Annotated

import typer

from models.commands import CORRECTION_LIMIT
from models.errors import ConfigurationError, InvalidRecord
from models.messages import DEFAULT_TENANT
from streams.agents.masking import mask_of
from streams.cli import facts
from streams.cli.output import Json, print_json, printable
from streams.clients import commands
from streams.config.settings import load_settings
from streams.queries import correcting


def correct(
    fact_id: Annotated[
        str, typer.Argument(help="Its id, as `switchboard facts` shows it.", show_default=False)
    ],
    text: Annotated[
        str, typer.Argument(help='What holds instead: "Munich", or "I live in Munich."', show_default=False)
    ],
    user: facts.User,
    tenant: facts.Tenant = DEFAULT_TENANT,
    json: Json = False,
) -> None:
    """Put something else in the place of a fact that is wrong; its history names both, and who did it.

    It is done by the service `memory`.
    """
    if not text.strip() or len(text) > CORRECTION_LIMIT:
        raise ConfigurationError(f"TEXT says what holds instead, in up to {CORRECTION_LIMIT:,} characters")
    settings = load_settings()
    fact = asyncio.run(facts.one(settings, fact_id, user, tenant))
    try:
        asked = correcting.correcting(fact, text, _who(), mask_of(settings))
    except InvalidRecord as error:
        raise ConfigurationError(f"{error}") from error
    asyncio.run(commands.send(settings, [asked.command]))
    if json:
        instead = "" if asked.ends else asked.fact_id
        told = {"fact_id": fact.fact_id, "instead": instead, "statement": asked.statement, "ends": asked.ends}
        print_json(told | {"command_id": asked.command.command_id})
        return
    print(f"asked to correct “{printable(fact.statement)}”: {printable(asked.statement)}")
    print(f"what became of it: switchboard explain {asked.fact_id} --user {printable(user)}")


def _who() -> str:
    try:
        return getpass.getuser()[:256]
    except (OSError, KeyError):  # no such user, as in some containers
        return "switchboard correct"
