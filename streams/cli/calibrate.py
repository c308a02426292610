"""``switchboard calibrate``: from which nearness on the vectors of this deployment's model propose one fact."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Annotated

import typer

from models.errors import ConfigurationError
from processors.merging.calibration import PAIRS, Threshold, threshold
from processors.merging.guards import excludes
from streams.adapters.embedders import open_embedder
from streams.cli.output import print_json
from streams.settings import Settings, load_settings
from streams.telemetry.metrics import Metrics


def measure(
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Embed pairs of statements with this deployment's model, and say which SWITCHBOARD_MERGE_SIMILARITY fits.

    Needs nothing that runs; with Gemini it is one small call.
    """
    settings = load_settings()
    model, found = asyncio.run(_measure(settings))
    if found is None:
        raise ConfigurationError(
            f"{model} puts statements that differ as near as those that say the same: merge nothing by it "
            "(SWITCHBOARD_MERGE_SIMILARITY=1)"
        )
    if json:
        print_json({"model": model, "now": settings.merge_similarity, **found._asdict()})
        return
    print(f"{model}: SWITCHBOARD_MERGE_SIMILARITY={found.near_from:g} (now {settings.merge_similarity:g})")
    print(
        f"of {len(PAIRS)} pairs {found.proposed} are as near, {found.right} of them say the same: "
        f"{found.recall:.0%} of all that do"
    )


async def _measure(settings: Settings) -> tuple[str, Threshold | None]:
    async with AsyncExitStack() as resources:
        embedder = await open_embedder(settings, resources, Metrics())
        vectors = await embedder.embed([text for one, other, _ in PAIRS for text in (one, other)])
        measured = [
            (float(vectors[2 * n] @ vectors[2 * n + 1]), is_same)
            for n, (one, other, is_same) in enumerate(PAIRS)
            if not excludes(one, other)
        ]
        return embedder.model, threshold(measured)
