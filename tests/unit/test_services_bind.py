"""What each service consists of can be run: its stages and the catalog fit together."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from models.errors import ConfigurationError
from streams.clients.catalog import load_catalog
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES
from streams.runtime.faust_app import bind
from streams.server.process.services import open_service
from streams.telemetry.metrics import Metrics


@pytest.mark.parametrize(
    ("service", "memory"), [*((service, "response") for service in SERVICES), ("respond", "conversation")]
)
async def test_the_services_can_be_bound(service: str, memory: str, tmp_path: Path) -> None:
    """No source, table or name twice, and topics whose partitions line up, or no worker would start."""
    catalog = load_catalog()
    async with AsyncExitStack() as resources:
        settings = Settings(data_dir=tmp_path, response_memory=memory)
        opened = await open_service(service, settings, Metrics(), resources)
        bound = bind(opened.stages, service, catalog)
    assert [each.stage for each in bound] == [*opened.stages]
    for each in bound:
        assert each.hashed.keys() == {*each.stage.sources}
        assert bool(each.changelog) == bool(each.stage.table)
        for source in each.stage.sources:
            assert service in catalog.get(source).readers, f"schemas/topics says that {service} reads {source}"


async def test_respond_is_one_for_all_generations(tmp_path: Path) -> None:
    async with AsyncExitStack() as resources:
        settings = Settings(data_dir=tmp_path, generation="b")
        with pytest.raises(ConfigurationError, match=r"SWITCHBOARD_GENERATION=b.*Unset it for this worker"):
            await open_service("respond", settings, Metrics(), resources)
