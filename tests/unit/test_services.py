"""What makes up a service can run together."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from streams.runtime.faust_app import bind
from streams.services import SERVICES, open_service
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.topics.catalog import load_catalog


@pytest.mark.parametrize("name", SERVICES)
async def test_no_two_stages_of_a_service_are_in_each_others_way(name: str, tmp_path: Path) -> None:
    """No source, table or name twice, and topics whose partitions line up, or no worker would start."""
    async with AsyncExitStack() as resources:
        service = await open_service(name, Settings(data_dir=tmp_path), Metrics(), resources)
        bound = bind(service.stages, name, load_catalog())
        catalog = load_catalog()
        for each in bound:
            for source in each.stage.sources:
                assert name in catalog.get(source).readers, f"schemas/topics says that {name} reads {source}"
