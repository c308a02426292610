"""``switchboard window``: the messages around a match.

The recall service answers while it runs; when nobody listens on the API's port, the topic is read here.
"""

from __future__ import annotations

import asyncio
from typing import Annotated
from urllib.parse import quote

import typer

from models.errors import ConfigurationError
from models.messages import DEFAULT_TENANT
from processors.retrieval.recall.window import DEFAULT_TURNS, InvalidWindow, MessageWindow, bounds
from streams.cli import recall_api
from streams.cli.output import moment, print_json, printable
from streams.config.settings import Settings, load_settings
from streams.queries.conversations.windows import WindowRetriever
from streams.stores.turn_topic import TurnTopic

app = typer.Typer(add_completion=False)


# An index below 0 is no option: what is wrong with it is said in the words of all faces.
@app.command(context_settings={"ignore_unknown_options": True})
def window(
    conversation: Annotated[str, typer.Argument(help="The conversation.", show_default=False)],
    first: Annotated[int, typer.Argument(help="Index of the first message that matched.", show_default=False)],
    last: Annotated[int, typer.Argument(help="Index of the last one.", show_default=False)],
    user: Annotated[str, typer.Option("--user", "-u", help="Who takes part in it.", show_default=False)],
    turns: Annotated[
        int, typer.Option("--turns", "-n", help="Turns (of two messages) to each side.")
    ] = DEFAULT_TURNS,
    tenant: Annotated[
        str, typer.Option("--tenant", help="The tenant that the conversation belongs to.")
    ] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, as the HTTP API answers.")] = False,
) -> None:
    """Show the messages around a match, by their place in the conversation."""
    settings = load_settings()
    if 0 <= last < first:  # the API would name its own parameters
        raise ConfigurationError(f"LAST is {last} and FIRST is {first}: give the smaller first")
    try:
        bounds(conversation, first, last, turns)
    except InvalidWindow as error:
        raise ConfigurationError(str(error)) from error
    found = asyncio.run(_find(settings, tenant, user, conversation, first, last, turns))
    if json:
        print_json(found)
        return
    if not found.messages:
        print(printable(found.note))
    for turn in found.messages:
        mark = ">" if first <= turn.index <= last else " "
        who = turn.speaker or (turn.user_id if turn.role == "user" else turn.role.value)
        print(
            f"{mark} {turn.index:>5}  {moment(turn.sent_at.timestamp())}  "
            f"{printable(who)}: {printable(turn.text)}"
        )


async def _find(
    settings: Settings, tenant: str, user: str, conversation: str, first: int, last: int, turns: int
) -> MessageWindow:
    parameters: dict[str, str | int] = {
        "user_id": user,
        "tenant_id": tenant,
        "first": first,
        "last": last,
        "turns": turns,
    }
    path = f"/v1/conversations/{quote(conversation, safe='')}/window"
    found = await recall_api.get(settings, path, parameters, MessageWindow)
    if found is not None:
        return found
    retriever = WindowRetriever(None, TurnTopic(settings))
    return await retriever.window(tenant, user, conversation, first, last, turns)
