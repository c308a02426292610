"""``switchboard replay switch`` and ``back``: which generation serves."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from models.control import Control
from models.errors import DependencyUnavailable
from streams.cli import progress
from streams.cli.output import Json, count, print_json
from streams.cli.replay_options import WebhooksStay
from streams.clients.serving import shown
from streams.config.settings import Settings
from streams.server.replays import record, switching


def switch(
    name: Annotated[
        str, typer.Argument(help="The generation that is to serve, or `live`.", show_default=False)
    ],
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="SWITCHBOARD_NAME=VALUE",
            help="A setting of a generation that was not started from this folder.",
        ),
    ] = None,
    webhooks_stay: WebhooksStay = False,
    json: Json = False,
) -> None:
    """Answer searches, facts, contexts, the API and MCP from another generation.

    Every `switchboard serve` follows within a second, without a restart. Refused
    if the generation has read less than the one that serves, or does not run.
    """
    live = record.live_settings()
    changes = record.changes_of(given or ())
    known = progress.run(
        "looking how far it is", switching.switch(live, name, changes, webhooks_stay=webhooks_stay)
    )
    _tell_switched(live, known, name, json=json)


def back(webhooks_stay: WebhooksStay = False, json: Json = False) -> None:
    """Answer from the generation again that served before the last `replay switch`."""
    live = record.live_settings()
    known = progress.run("looking how far it is", switching.back(live, webhooks_stay=webhooks_stay))
    _tell_switched(live, known, known.serves.name, json=json)


def _tell_switched(live: Settings, known: Control | None, name: str, *, json: bool) -> None:
    name = known.serves.name if known else name.removeprefix("live")
    follow, lag = asyncio.run(switching.wait_followed(live, name))
    if json:
        print_json({"serves": shown(name), "switched": bool(known), "follow": follow, "do_not_follow": lag})
    else:
        already = "" if known else " already"
        print(f"{shown(name)} serves{already}; {count(len(follow), 'serve process', 'serve processes')} here")
    if lag:
        raise DependencyUnavailable(
            "serve",
            f"process {', '.join(str(each.pid) for each in lag)} still answers from another generation; its "
            "log says why. It goes on trying; `switchboard replay back` undoes the switch",
        )
