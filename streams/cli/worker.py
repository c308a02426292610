"""``switchboard worker``: run one service in the foreground."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from streams.settings import load_settings


class Service(StrEnum):
    """What a worker can be."""

    INGEST = "ingest"
    MEMORY = "memory"
    RESPOND = "respond"


def work(
    service: Annotated[Service, typer.Argument(help="Which service this process runs.", show_default=False)],
) -> None:
    """Run a service until Ctrl-C or SIGTERM. Logs go to stderr, metrics and health to a port.

    ingest: messages become windows and summary requests.
    memory: windows become facts that can be searched; also serves the HTTP API.
    respond: responses lose the sentences that they repeat.
    """
    settings = load_settings()
    # Faust and the models take a second to import: only this command pays for them.
    from streams.worker import run

    raise typer.Exit(run(service.value, settings))
