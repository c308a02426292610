"""``switchboard topics``: make the broker's topics as ``schemas/topics`` says, or say where they differ."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from streams.cli.output import count, print_json, print_table
from streams.settings import load_settings
from streams.topics import admin, load_catalog
from streams.topics.differences import Difference

app = typer.Typer(
    no_args_is_help=True, help="Create and verify the topics; schemas/topics has one file for each."
)

Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]


@app.command()
def apply(json: Json = False) -> None:
    """Create the topics that are missing and correct their configuration. Safe to repeat.

    Never changes how many partitions a topic has. Exit status 1 if such a difference remains.
    """
    settings = load_settings()
    catalog = load_catalog(settings.topic_prefix)
    applied = asyncio.run(
        admin.apply(catalog, settings.bootstrap_servers, replication_factor=settings.replication_factor)
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
            print(
                f"altered  {difference.topic}  {difference.what}: {difference.found} -> {difference.expected}"
            )
        print(
            f"{count(len(catalog.all()), 'topic')} at {settings.bootstrap_servers}: "
            f"{len(applied.created)} created, {count(len(applied.altered), 'setting')} altered"
        )
        _print_differences(applied.remaining)
    if any(difference.blocking for difference in applied.remaining):
        raise typer.Exit(1)


@app.command()
def check(json: Json = False) -> None:
    """Compare the broker's topics with the contract and explain each difference. Changes nothing.

    Exit status 1 if anything differs.
    """
    settings = load_settings()
    differences = asyncio.run(admin.check(load_catalog(settings.topic_prefix), settings.bootstrap_servers))
    if json:
        print_json([difference._asdict() for difference in differences])
    elif differences:
        _print_differences(differences)
    else:
        print(f"The topics at {settings.bootstrap_servers} are as the contract says.")
    if differences:
        raise typer.Exit(1)


@app.command("list")
def list_topics(json: Json = False) -> None:
    """List the topics: what each is for, its key, who writes and who reads it, and what the broker has."""
    settings = load_settings()
    states = asyncio.run(admin.list_topics(load_catalog(settings.topic_prefix), settings.bootstrap_servers))
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
    return count(int(days), "day") if days >= 1 else count(round(retention_ms / 3_600_000), "hour")


def in_words(difference: Difference) -> str:
    """Return a difference as a clause: "chat.messages.v1 is missing", "... should be 8"."""
    if difference.what == "missing":
        return f"{difference.topic} is missing"
    return f"{difference.topic}: {difference.what} is {difference.found}, should be {difference.expected}"


def _print_differences(differences: list[Difference]) -> None:
    for difference in differences:
        weight = "must be mended" if difference.blocking else "differs"
        print(f"{weight}: {in_words(difference)}\n    {difference.advice}")
