"""``switchboard replay``: run the services once more over the log, beside the live ones, and compare."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer

from models.errors import ConfigurationError
from streams.admin.topics.groups import Member
from streams.cli import progress
from streams.cli.output import Json, count, print_json, print_table
from streams.cli.replay_options import AcceptLoss, MaxCost, MaxRate, Name, Partitions, UntilCaughtUp, With
from streams.cli.replay_shown import print_comparison, print_plan, status_row
from streams.cli.replay_switch import back, switch
from streams.config.settings import Settings, load_settings
from streams.server.replays import (
    comparison,
    costs,
    dropping,
    plan,
    record,
    running,
    starting,
    switching,
)
from streams.server.replays.growing import grown
from streams.server.replays.log import look
from streams.server.replays.plan import refuse_loss
from streams.server.replays.record import Replay
from streams.telemetry.logs import configure_logging

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Run the services once more over the log, beside the live ones, and compare what comes out.",
)


@app.command("plan")
def make_plan(
    name: Name,
    given: With = None,
    rate: Annotated[
        float, typer.Option("--rate", min=0.0, help="Messages a second to reckon with.", show_default=False)
    ] = 0.0,
    partitions: Partitions = 0,
    accept_loss: AcceptLoss = False,
    json: Json = False,
) -> None:
    """Say what a replay would read, how long it would take and what models would cost. Starts nothing.

    Exit status 78 if the log no longer holds everything from its beginning.
    """
    live, replay = _new(name, given or (), partitions)
    with progress.showing("reading the log") as tell:
        made = asyncio.run(plan.make(live, replay.load(), rate, tell))
    if json:
        print_json(made)
    else:
        print_plan(made)
    if not accept_loss:
        refuse_loss(made.gone)


@app.command("start")
def start(
    name: Name,
    given: With = None,
    max_rate: MaxRate = 0.0,
    max_cost: MaxCost = 0.0,
    partitions: Partitions = 0,
    accept_loss: AcceptLoss = False,
    until_caught_up: UntilCaughtUp = False,
) -> None:
    """Make a generation and run its ingest, memory and recall until Ctrl-C or `replay pause`.

    They read the same messages and commands as the live services, and write
    topics of their own. Settings are kept: `replay resume` goes on with them.
    """
    live, replay = _new(name, given or (), partitions, max_rate, max_cost)
    replayed = replay.load()
    asyncio.run(starting.refuse_existing(replayed))
    with progress.showing("reading the log") as tell:
        held = asyncio.run(look(live, tell))
    if not accept_loss:
        refuse_loss(held.gone)
    lock = asyncio.run(record.take(replayed))
    try:
        asyncio.run(starting.refuse_existing(replayed))  # somebody may have been faster
        replay = msgspec.structs.replace(replay, beginnings=held.beginnings)
        record.write(replayed, replay)
        raise typer.Exit(_run(live, replay, until_caught_up))
    finally:
        lock.release()


@app.command("resume")
def resume(
    name: Name,
    max_rate: Annotated[
        float | None,
        typer.Option("--max-rate", min=0.0, help="Another limit from now on.", show_default=False),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0.0, help="Another limit of its costs in all.", show_default=False),
    ] = None,
    until_caught_up: UntilCaughtUp = False,
) -> None:
    """Go on with a replay that was paused, or whose process or machine ended."""
    live, generation = _of(name)
    replay = record.limited(record.known(generation), max_rate, max_cost)
    replay.load()  # refuses what is no rate before it is recorded
    if replay.max_cost:
        costs.refuse_paid(name, asyncio.run(costs.paid(live, name))[name], replay.max_cost)
    lock = asyncio.run(record.take(generation))
    try:
        record.write(generation, replay)
        raise typer.Exit(_run(live, replay, until_caught_up))
    finally:
        lock.release()


@app.command("pause")
def pause(name: Name, json: Json = False) -> None:
    """Stop the workers of a replay on this machine; what it has made stays."""
    live, generation = _of(name)
    record.known(generation)
    serving = progress.run("asking the broker", switching.serving(live))
    switching.refuse_serving(live, serving, name, "paused")
    stopped = asyncio.run(running.pause(generation))
    if json:
        print_json({"generation": name, "paused": stopped})
    else:
        print(f"paused {name}" if stopped else f"{name} does not run here")


@app.command("status")
def status(
    name: Annotated[str, typer.Argument(help="The generation; all if none is named.", show_default=False)] = "",
    json: Json = False,
) -> None:
    """Show how far replays are, whether they run here, and with which settings they were started."""
    live = load_settings()
    serving = progress.run("asking the broker", switching.serving(live))
    rows = []
    for each in [name] if name else record.names(live):
        generation = record.generation_settings(live, each)
        replay = record.known(generation)
        holder = record.runner(generation)
        far = progress.run("asking the broker", running.progress(generation))
        rows.append(
            {
                "generation": each,
                "state": "runs" if holder else "paused",
                "serves": each == serving.name,
                "caught_up": far.caught_up,
                "messages": far.messages,
                "total": far.total,
                "left": far.left,
                "started_at": replay.started_at,
                "max_rate": replay.max_rate,
                "max_cost": replay.max_cost,
                "with": record.shown(replay),
            }
        )
    if json:
        print_json(rows)
    elif not rows:
        print(f"no replay in {live.folder}: `switchboard replay start NAME` starts one")
    else:
        print_table(
            ("generation", "state", "caught up", "read", "of", "records left", "started", "with"),
            [status_row(row) for row in rows],
            right=(3, 4, 5),
        )


@app.command("compare")
def compare(name: Name, json: Json = False) -> None:
    """Compare the facts, summaries, contexts and costs of a replay with the live ones.

    Fields that differ between logs that say the same (when a record arrived)
    do not count. traced: the same facts, read in other windows or from
    evidence in another order. Exit status 1 if anything else differs.
    """
    live, generation = _of(name)
    with progress.showing("reading") as tell:
        made = asyncio.run(comparison.make(live, generation, tell))
    if json:
        print_json(made)
    else:
        print_comparison(made)
    if not made.same:
        raise typer.Exit(comparison.DIFFERENT)


app.command("switch")(switch)
app.command("back")(back)


@app.command("drop")
def drop(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before anything is removed.")] = False,
    json: Json = False,
) -> None:
    """Remove all that a replay has made: topics, groups, collections, Redis keys and its folder."""
    if name == "live":
        raise ConfigurationError("the live generation reads what all are made of, and cannot be dropped")
    live, generation = _of(name)
    serving = progress.run("asking the broker", switching.serving(live))
    switching.refuse_serving(live, serving, name, "dropped")
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigurationError("nobody is here to be asked, so nothing was removed: add --yes")
        print(
            f"All that generation {name} has made at {live.bootstrap_servers} and in {generation.folder} goes."
        )
        typer.confirm("Go on?", abort=True)
    dropped = progress.run("removing", dropping.drop(generation, _say_waiting))
    if json:
        print_json(dropped)
        return
    keys = f", {count(dropped.keys, 'key')} in Redis" if dropped.keys else ""
    collections = f", {count(len(dropped.collections), 'collection')}" if dropped.collections else ""
    print(
        f"dropped {name}: {count(len(dropped.topics), 'topic')}, {count(len(dropped.groups), 'consumer group')}"
        f"{collections}{keys}, {dropped.folder}"
    )


def _new(
    name: str, given: Sequence[str], partitions: int, max_rate: float = 0.0, max_cost: float = 0.0
) -> tuple[Settings, Replay]:
    live = record.live_settings()
    record.generation_settings(live, name)  # refuses what is no name
    return live, Replay(
        name=name,
        started_at=datetime.now(UTC),
        settings=record.decided(live),
        changed=record.changes_of(given),
        partitions=grown(live, partitions) if partitions else "",
        max_rate=max_rate,
        max_cost=max_cost,
    )


def _of(name: str) -> tuple[Settings, Settings]:
    live = record.live_settings()
    return live, record.generation_settings(live, name)


def _run(live: Settings, replay: Replay, until_caught_up: bool) -> int:
    replayed = replay.load()
    configure_logging(replayed.log_level, replayed.log_format)

    async def main() -> int:
        ready = await starting.prepare(live, replay)
        print(f"generation {replay.name} runs in {replayed.folder}; Ctrl-C pauses it", file=sys.stderr)
        return await running.run(live, replayed, ready, until_caught_up=until_caught_up)

    return asyncio.run(main())


def _say_waiting(members: Sequence[Member], seconds: float) -> None:
    names = ", ".join(map(str, members))
    print(f"waiting up to {seconds:.0f} s for the session of {names} to end ...", file=sys.stderr)
