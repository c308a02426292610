"""``switchboard costs``: what language models were asked for, and what it cost."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from models.errors import ConfigurationError
from models.memo import Memo, Outcome
from streams.cli import progress
from streams.cli.output import print_json, print_table
from streams.config.settings import Settings, load_settings
from streams.llm.memo.topic import MemoTopic, read

_AGO = re.compile(r"^(\d{1,4})([mhdw])$")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_HEADERS = ("asked", "calls", "answered", "refused", "over budget", "tokens in", "tokens out", "US$")


class By(StrEnum):
    """Grouping of costs."""

    PURPOSE = "purpose"
    DAY = "day"
    PERSON = "person"
    TENANT = "tenant"


_NAMES: Mapping[By, Callable[[Memo], tuple[str, ...]]] = {
    By.PURPOSE: lambda memo: (memo.purpose, memo.model),
    By.DAY: lambda memo: (memo.asked_at.astimezone(UTC).date().isoformat(),),
    By.PERSON: lambda memo: (memo.tenant_id, memo.user_id),
    By.TENANT: lambda memo: (memo.tenant_id,),
}
_COLUMNS: Mapping[By, tuple[str, ...]] = {
    By.PURPOSE: ("purpose", "model"),
    By.DAY: ("day",),
    By.PERSON: ("tenant", "person"),
    By.TENANT: ("tenant",),
}


class Costs(msgspec.Struct):
    """Requests and their cost; ``calls`` of the API, ``cost_usd`` by the prices of their time."""

    asked: int = 0
    calls: int = 0
    answered: int = 0
    refused: int = 0
    over_budget: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


def show(
    since: Annotated[
        str,
        typer.Option("--since", help="Asked at this time or later: 7d, 12h, 2026-03-01.", show_default=False),
    ] = "",
    by: Annotated[By, typer.Option("--by", help="How to group the costs.")] = By.PURPOSE,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON each.")] = False,
) -> None:
    """Show the requests to language models and their cost, without erased ones."""
    settings, start = load_settings(), since_of(since, datetime.now(UTC))
    found = progress.run("reading what was paid", costs(settings, by, start))
    if as_json:
        for names, row in found.items():
            print_json(dict(zip(_COLUMNS[by], names, strict=True)) | msgspec.structs.asdict(row))
        return
    print_costs(found, by)


def print_costs(found: Mapping[tuple[str, ...], Costs], by: By = By.PURPOSE) -> None:
    """Print a row for each name, and their sum."""
    if not found:
        print("no language model was asked for anything")
        return
    rows = [(*names, *_cells(row)) for names, row in sorted(found.items())]
    if len(rows) > 1:
        total = Costs()
        for row in found.values():
            for name in Costs.__struct_fields__:
                setattr(total, name, getattr(total, name) + getattr(row, name))
        rows.append(("all", *("" for _ in _COLUMNS[by][1:]), *_cells(total)))
    first = len(_COLUMNS[by])
    print_table((*_COLUMNS[by], *_HEADERS), rows, right=range(first, first + len(_HEADERS)))


def _cells(row: Costs) -> tuple[str, ...]:
    counts = (row.asked, row.calls, row.answered, row.refused, row.over_budget)
    has_price = row.cost_usd or not row.calls
    cost = f"{row.cost_usd:.4f}" if has_price else "no price"
    return (*(f"{n:,}" for n in (*counts, row.input_tokens, row.output_tokens)), cost)


async def costs(settings: Settings, by: By, start: datetime | None) -> dict[tuple[str, ...], Costs]:
    """Return the costs since ``start``, by name."""
    latest: dict[bytes, Memo | None] = {}
    topic = MemoTopic(settings, "switchboard-cli")
    try:
        async for entry in topic.all():
            latest[entry.key] = read(entry.value)
    finally:
        await topic.close()
    found: defaultdict[tuple[str, ...], Costs] = defaultdict(Costs)
    calls: set[str] = set()
    for memo in latest.values():
        if memo is None or (start is not None and memo.asked_at < start):
            continue
        row = found[_NAMES[by](memo)]
        row.asked += 1
        row.answered += memo.outcome is Outcome.ANSWERED
        row.refused += memo.outcome is Outcome.REFUSED
        row.over_budget += memo.outcome is Outcome.OVER_BUDGET
        row.calls += bool(memo.call) and memo.call not in calls
        row.input_tokens += memo.input_tokens
        row.output_tokens += memo.output_tokens
        row.cost_usd += memo.cost_usd
        calls.add(memo.call)
    return dict(found)


def since_of(text: str, now: datetime) -> datetime | None:
    """Return the moment that a text names: so long ago, a date or a time; ``None`` for the empty one.

    Raises:
        ConfigurationError: it names none.
    """
    if not text:
        return None
    if ago := _AGO.match(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(
            f"--since {text}: give how long ago (7d, 12h, 30m, 2w), a date (2026-03-01) or a time"
        ) from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
