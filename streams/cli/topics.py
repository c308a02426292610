"""``switchboard topics``: make the broker's topics as ``schemas/topics`` says, or say where they differ."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from models.errors import ConfigurationError
from streams.admin.topics import admin
from streams.admin.topics.differences import Difference, in_units
from streams.admin.topics.rights import ROLES, rights_of
from streams.cli.output import Json, count, print_json, print_table
from streams.clients.catalog import catalog_for
from streams.config.settings import load_settings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Create and verify the topics; schemas/topics has one file for each.",
)


@app.command()
def apply(
    execute: Annotated[
        bool, typer.Option("--execute", help="Also change settings of topics that exist.")
    ] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="With --execute: also where records may be lost by it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing: only say what would be.")] = False,
    json: Json = False,
) -> None:
    """Create the topics that are missing. Safe to repeat.

    Topics that exist are left as they are: where their settings differ, it says what --execute would change,
    and what would be lost by it. A number of partitions is never changed, and while one does not fit, nothing
    is created either.

    Exit status: 0 the services may start; 1 something must be mended first, or was to be executed and is left.
    """
    if accept_loss and not execute:
        raise ConfigurationError("--accept-loss goes with --execute: alone it changes nothing")
    if execute and dry_run:
        raise ConfigurationError("--dry-run changes nothing and --execute changes: leave one of them out")
    settings = load_settings()
    catalog = catalog_for(settings)
    applied = asyncio.run(
        admin.apply(catalog, settings, execute=execute, accept_loss=accept_loss, dry_run=dry_run)
    )
    if json:
        print_json(
            {
                "created": applied.created,
                "altered": [difference._asdict() for difference in applied.altered],
                "remaining": [difference._asdict() for difference in applied.remaining],
            }
        )
    else:
        for name in applied.created:
            print(f"created  {name}")
        for difference in applied.altered:
            print(f"altered  {_change(difference)}")
        _print_left(applied.remaining, dry_run)
        print(
            f"{count(len(catalog.all()), 'topic')} at {settings.bootstrap_servers}: "
            f"{len(applied.created)} created, {count(len(applied.altered), 'setting')} altered, "
            f"{count(len(applied.remaining), 'difference')} left"
        )
    must_be_mended = any(difference.blocking for difference in applied.remaining)
    if not dry_run and (must_be_mended or (execute and applied.remaining)):
        raise typer.Exit(1)


@app.command()
def check(json: Json = False) -> None:
    """Compare the broker's topics with the contract and explain each difference. Changes nothing.

    Exit status: 0 nothing differs, 1 something does.
    """
    settings = load_settings()
    differences = asyncio.run(admin.check(catalog_for(settings), settings))
    if json:
        print_json([difference._asdict() for difference in differences])
    elif differences:
        _print_differences(differences)
    else:
        print(f"The topics at {settings.bootstrap_servers} are as the contract says.")
    if differences:
        raise typer.Exit(1)


@app.command()
def acls(
    role: Annotated[
        str | None, typer.Argument(help=f"One of {', '.join(ROLES)}; all if none is named.", show_default=False)
    ] = None,
    user: Annotated[
        str,
        typer.Option("--user", help="Who gets them (default: switchboard-<role>).", show_default=False),
    ] = "",
    json: Json = False,
) -> None:
    """Print the least rights of each role, as commands of Kafka's own kafka-acls.sh. Asks no broker."""
    settings = load_settings()
    catalog = catalog_for(settings)
    rights = {name: rights_of(name, catalog) for name in ([role] if role else ROLES)}
    if json:
        print_json({name: [right._asdict() for right in found] for name, found in rights.items()})
        return
    for name, found in rights.items():
        print(f"# {name}: {ROLES[name]}")
        operations: dict[tuple[str, str], list[str]] = {}
        for right in found:
            operations.setdefault((right.kind, right.name), []).append(f"--operation {right.operation}")
        add = f"kafka-acls.sh --bootstrap-server {settings.bootstrap_servers} --command-config admin.conf --add"
        who = f"--allow-principal User:{user or f'switchboard-{name}'}"
        for (kind, resource), wanted in operations.items():
            print(f"{add} {who} {' '.join(wanted)} --{kind} {resource}")


@app.command("list")
def list_topics(json: Json = False) -> None:
    """List the topics: what each is for, its key, who writes and who reads it, and what the broker has."""
    settings = load_settings()
    states = asyncio.run(admin.list_topics(catalog_for(settings), settings))
    if json:
        print_json(
            [
                {
                    "name": state.spec.name,
                    "description": state.spec.description,
                    "key": state.spec.key,
                    "routed_by": state.spec.routed_by,
                    "owner": state.spec.owner,
                    "readers": state.spec.readers,
                    "partitions": state.partitions,
                    "replicas": state.replicas,
                    "config": state.config,
                }
                for state in states
            ]
        )
        return
    print_table(
        ("topic", "on the broker", "key", "owner", "readers", "kept"),
        [
            (
                state.spec.name,
                f"{state.partitions} × {state.replicas}" if state.partitions else "missing",
                state.spec.key,
                state.spec.owner,
                ", ".join(state.spec.readers),
                _kept(state.spec.cleanup_policy, state.spec.retention_ms),
            )
            for state in states
        ],
    )


def _kept(policy: str, retention_ms: int | None) -> str:
    if policy == "compact":
        return "the latest per key"
    if retention_ms is None:
        return "as long as the broker's default"
    days = retention_ms / 86_400_000
    kept = count(int(days), "day") if days >= 1 else count(round(retention_ms / 3_600_000), "hour")
    return f"the latest per key, {kept}" if policy == "compact,delete" else kept


def in_words(difference: Difference) -> str:
    """Return a difference as a clause: "chat.messages.v1 is missing", "... should be 8"."""
    if difference.what == "missing":
        return f"{difference.topic} is missing"
    found, expected = _values(difference)
    return f"{difference.topic}: {difference.what} is {found}, should be {expected}"


def _values(difference: Difference) -> tuple[str, str]:
    return in_units(difference.what, difference.found), in_units(difference.what, difference.expected)


def _change(difference: Difference) -> str:
    found, expected = _values(difference)
    return f"{difference.topic}  {difference.what}: {found} -> {expected}"


def _print_left(differences: Sequence[Difference], dry_run: bool) -> None:
    """Print what was not done: as a plan what could be, with its price, and what stands in the way."""
    if any(difference.what == "partitions" for difference in differences):
        print("Nothing was done, since a number of partitions does not fit:")
    for difference in differences:
        if difference.is_setting:
            flags = "--execute --accept-loss" if difference.loses else "--execute"
            print(f"left     {_change(difference)}  ({flags} changes it)")
            if difference.loses:
                print(f"         loses {difference.loses}")
        elif difference.what == "missing":
            print(f"{'create' if dry_run else 'missing':7}  {difference.topic}  ({difference.expected})")
        else:
            _print_differences([difference])


def _print_differences(differences: Sequence[Difference]) -> None:
    for difference in differences:
        weight = "must be mended" if difference.blocking else "differs"
        print(f"{weight}: {in_words(difference)}\n    {difference.advice}")
