"""``switchboard graph``: whom and what a person speaks of, and what ties them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from models.errors import ConfigurationError
from models.graph import Entity, Relation
from models.messages import DEFAULT_TENANT
from streams.cli import recall_api
from streams.cli.output import UNKNOWN, UNREAD, print_json, printable
from streams.config.settings import load_settings
from streams.stores.search.graph import NEIGHBOURS_LIMIT, STEPS_LIMIT, GraphAnswer


def show(
    query: Annotated[
        str, typer.Argument(help="Whom or what it names; left out: anybody.", show_default=False)
    ] = "",
    user: Annotated[str, typer.Option("--user", "-u", help="Who speaks of them.", show_default=False)] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant of the person.")] = DEFAULT_TENANT,
    steps: Annotated[int, typer.Option("--steps", min=1, max=STEPS_LIMIT, help="How far to walk.")] = 1,
    limit: Annotated[int, typer.Option("--limit", min=1, max=NEIGHBOURS_LIMIT, help="Most relations.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, as the HTTP API answers.")] = False,
) -> None:
    """Show the people, pets, places, organizations and dates that a person speaks of.  Needs `recall`."""
    if not user.strip():
        raise ConfigurationError("say whose graph: --user USER")
    settings = load_settings()
    parameters: dict[str, str | int] = {
        "user_id": user, "tenant_id": tenant, "q": query, "steps": steps, "limit": limit
    }  # fmt: skip
    answer = asyncio.run(recall_api.get(settings, "/v1/graph", parameters, GraphAnswer))
    found = recall_api.required(answer)
    if json:
        print_json(found)
        return
    if not found.entities:
        print(_nothing(found, query))
    for entity in found.entities:
        print(_entity(entity))
    for relation in found.relations:
        print(f"  {_relation(relation)}")
    if found.is_cut:
        print("there is more: raise --limit, or name whom you mean")


def _nothing(found: GraphAnswer, query: str) -> str:
    """Say why there is nothing: nobody is called so, or nothing was read yet, or learned, or of this name."""
    who = printable(found.user_id)
    if found.unread:
        return UNREAD.format(user=who)
    if not found.known:
        return UNKNOWN.format(user=who, tenant=printable(found.tenant_id))
    return f"{who} speaks of nothing of this name." if query else f"{who} is known, and speaks of nobody yet."


def _entity(entity: Entity) -> str:
    also = f", also: {', '.join(map(printable, entity.aliases))}" if entity.aliases else ""
    return f"{printable(entity.name)} ({entity.type}{also})"


def _relation(relation: Relation) -> str:
    until = f" until {relation.valid_to:%Y-%m-%d}" if relation.valid_to is not None else ""
    said = printable(relation.text)
    return f"{said}, since {relation.valid_from:%Y-%m-%d}{until} ({relation.evidence_count}x said)"
