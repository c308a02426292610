"""``switchboard calibrate``: from which nearness on the vectors of this deployment's model propose one fact, or
that a turn bears a fact out.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Annotated

import typer

from models.errors import ConfigurationError
from processors.facts.merging.calibration import PAIRS, SAYINGS, Threshold, above_chance, threshold
from processors.facts.merging.guards import excludes
from streams.cli import progress
from streams.cli.output import print_json
from streams.config.settings import Settings, load_settings
from streams.llm.embedders import open_embedder
from streams.telemetry.metrics import Metrics


def measure(
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Embed pairs of statements with this deployment's model, and say which SWITCHBOARD_MERGE_SIMILARITY and
    SWITCHBOARD_SUPPORT_SIMILARITY fit.

    Needs nothing that runs; by a model's endpoint it is two small calls.
    """
    settings = load_settings()
    model, merging, support = progress.run("measuring", _measure(settings))
    if merging is None:
        raise ConfigurationError(
            f"{model} puts statements that differ as near as those that say the same: merge nothing by it "
            "(SWITCHBOARD_MERGE_SIMILARITY=1)"
        )
    if support is None:
        raise ConfigurationError(
            f"{model} puts what bears a statement out no nearer than what does not: count nothing by it "
            "(SWITCHBOARD_SUPPORT_SIMILARITY=1)"
        )
    if json:
        now = {"now": settings.merge_similarity, "support_now": settings.support_similarity}
        print_json({"model": model, **now, **merging._asdict(), "support": support._asdict()})
        return
    print(f"{model}: SWITCHBOARD_MERGE_SIMILARITY={merging.near_from:g} (now {settings.merge_similarity:g})")
    print(
        f"of {len(PAIRS)} pairs {merging.proposed} are as near, {merging.right} of them say the same: "
        f"{merging.recall:.0%} of all that do"
    )
    print(f"SWITCHBOARD_SUPPORT_SIMILARITY={support.near_from:g} (now {settings.support_similarity:g})")
    print(
        f"of {len(SAYINGS)} turns {support.right} are as near to the statement that they bear out, "
        f"{support.proposed - support.right} to another"
    )


async def _measure(settings: Settings) -> tuple[str, Threshold | None, Threshold | None]:
    async with AsyncExitStack() as resources:
        embedder = await open_embedder(settings, resources, Metrics())
        vectors = await embedder.embed([text for one, other, _ in PAIRS for text in (one, other)])
        measured = [
            (float(vectors[2 * n] @ vectors[2 * n + 1]), is_same)
            for n, (one, other, is_same) in enumerate(PAIRS)
            if not excludes(one, other)
        ]
        statements = await embedder.embed([statement for statement, _ in SAYINGS])
        turns = await embedder.embed([turn for _, turn in SAYINGS])
        return embedder.model, threshold(measured), above_chance(statements @ turns.T)
