"""``switchboard worker``: run one service in the foreground, in one process or in several."""

from __future__ import annotations

import asyncio
import sys
from enum import StrEnum
from typing import Annotated

import typer

from models.errors import ConfigurationError
from streams.config.settings import Settings, load_settings
from streams.server.process.processes import Place, check_count


class Service(StrEnum):
    """Services of a worker."""

    INGEST = "ingest"
    MEMORY = "memory"
    RECALL = "recall"
    RESPOND = "respond"


def work(
    service: Annotated[Service, typer.Argument(help="Which service this process runs.", show_default=False)],
    processes: Annotated[
        int, typer.Option("--processes", "-n", min=1, help="How many processes share the work.")
    ] = 1,
    process: Annotated[
        int | None,
        typer.Option(
            "--process",
            min=0,
            metavar="I",
            help="Be only process I of them (0 is the first): for who supervises them otherwise.",
        ),
    ] = None,
) -> None:
    """Run a service until Ctrl-C or SIGTERM. Logs go to stderr, metrics and health to a port.

    ingest: messages become windows and summary requests.
    memory: windows become facts, episodes, a graph of whom a person speaks of; requests become summaries.
    recall: turns, vectors and contexts are made, and the views kept that a search reads.
    respond: responses lose the sentences that they repeat.

    With --processes N the partitions are shared among N processes, each with a name (INSTANCE-0 to N-1) and
    ports (10 apart) of its own. One that dies is started again; one SIGTERM stops all, a second one kills them.
    """
    settings = load_settings()
    check_count(service.value, settings, processes)
    if process is not None and process >= processes:
        raise ConfigurationError(
            f"--process {process} of --processes {processes}: the last one is {processes - 1}"
        )
    if processes > 1 and process is None:
        raise typer.Exit(_supervise(service.value, processes, settings))
    place = Place(process or 0, processes)
    # Faust and the models take a second to import: only this command pays for them.
    from streams.server.process.worker import run

    raise typer.Exit(run(service.value, place.settings(service.value, settings), place=place))


def _supervise(service: str, count: int, settings: Settings) -> int:
    from streams.server.process.supervisor import Process, Supervisor
    from streams.telemetry.logs import configure_logging

    configure_logging(settings.log_level, settings.log_format)
    command = [sys.executable, "-m", "streams.cli", "worker", service, "--processes", str(count), "--process"]
    processes = [
        Process(Place(i, count).settings(service, settings).instance_id, [*command, str(i)])
        for i in range(count)
    ]

    async def main() -> int:
        return await Supervisor(processes, settings).run()

    return asyncio.run(main())
