"""``switchboard consolidate``: have facts that say the same made one, now and not at night."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from models.errors import ConfigurationError, InvalidRecord
from models.messages import DEFAULT_TENANT
from streams.cli import facts
from streams.cli.output import Json, print_json, printable
from streams.clients import commands
from streams.clients.catalog import catalog_for
from streams.config.settings import load_settings

REPORTS = "memory.consolidation-reports.v1"


def ask(
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="The user_id; left out: everybody.", show_default=False)
    ] = None,
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant.")] = DEFAULT_TENANT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be done.")] = False,
    separate: Annotated[
        str | None,
        typer.Option(
            "--separate",
            help="Bring back this fact of --user, which was merged into another.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Look at what changed of the facts about a person, and make those one that say the same.

    It is done by the service `memory`; what was done about each person stands in
    memory.consolidation-reports.v1.
    """
    if user is not None and not user.strip():
        raise InvalidRecord("blank_user", "--user is blank: say whose facts, or leave it out for everybody's")
    settings = load_settings()
    if separate is not None:
        if user is None:
            raise ConfigurationError("say whose fact it is: --user")
        fact = asyncio.run(facts.one(settings, separate, user, tenant))
        asked = commands.separating(fact)
        asyncio.run(commands.send(settings, [asked]))
        if json:
            print_json(
                {"command_id": asked.command_id, "tenant_id": tenant, "user_id": user, "separate": fact.fact_id}
            )
            return
        print(f"asked to bring back “{printable(fact.statement)}” about {printable(user)}")
        print(f"what became of it: switchboard explain {fact.fact_id} --user {printable(user)}")
        return
    command = commands.consolidating(tenant, user or "", dry_run=dry_run)
    asyncio.run(commands.send(settings, [command]))
    reports = catalog_for(settings).name(REPORTS)
    if json:
        told = {"command_id": command.command_id, "tenant_id": tenant, "user_id": user, "dry_run": dry_run}
        print_json(told | {"reports": reports})
        return
    whose = "everybody" if user is None else printable(user)
    print(f"asked to {'look at' if dry_run else 'consolidate'} the facts about {whose}")
    print(f"what follows: switchboard tail {reports} --from-beginning")
