"""``switchboard settings``: every setting, its value, its unit and what it does."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.output import print_json, print_table
from streams.config.settings import describe, load_settings


def show(
    changed: Annotated[
        bool, typer.Option("--changed", help="Only those that differ from the default.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON array instead of a table.")] = False,
) -> None:
    """List every setting: its value now, its default, its unit and what it does.

    A setting is an environment variable. They are checked before anything starts.
    """
    rows = [row for row in describe(load_settings()) if row.changed or not changed]
    if json:
        print_json([row._asdict() for row in rows])
        return
    if not rows:
        print("Every setting has its default.")
        return
    print_table(
        ("setting", "value", "default", "unit", "allowed", "what it does"),
        [(row.env, row.value, row.default, row.unit, row.allowed, row.description) for row in rows],
    )
