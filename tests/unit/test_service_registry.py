"""Who asks the services finds them: by a setting, by the workers' notes, by the defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from models.errors import ConfigurationError
from streams.config.service_registry import ServiceAddress, folder_id, notes, register
from streams.config.settings import Settings, load_settings
from streams.queries import services
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.metrics import Metrics


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("SWITCHBOARD_METRICS_PORT", "1")  # where nobody answers
    return load_settings(data_dir=tmp_path / "data")


@pytest.fixture
def server() -> Iterator[HealthServer]:
    state = HealthState(30)
    state.clear("starting")
    state.describe("service", "respond")
    with HealthServer(0, Metrics().registry, state) as running:
        yield running


def note(port: int, **changes: object) -> ServiceAddress:
    return msgspec.structs.replace(ServiceAddress("respond", "a", os.getpid(), "127.0.0.1", port), **changes)


async def running(settings: Settings) -> list[tuple[str, int]]:
    return [(each.service, each.port) for each in await services.ask_services(settings) if each.running]


async def test_a_worker_is_found_by_its_note_while_it_runs(settings: Settings, server: HealthServer) -> None:
    assert await running(settings) == []
    take_away = register(settings, note(server.port))
    assert await running(settings) == [("respond", server.port)]
    reports = await services.ask_services(settings)
    assert [report.service for report in reports] == ["ingest", "memory", "recall", "respond", "serve"]
    take_away()
    assert await running(settings) == []
    take_away()


def test_the_note_of_a_killed_worker_is_skipped(settings: Settings) -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    register(settings, note(1, pid=int(child.stdout)))
    assert notes(settings) == []
    (settings.folder / "services" / "broken.json").write_text("{")
    assert notes(settings) == []


@pytest.mark.parametrize(
    "text", ["ingest", "ingest=9464", "ingest=a:0", "ingest=a:99999", "ingest:a=1", "=a:1,"]
)
def test_a_wrong_entry_says_what_to_write(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"SWITCHBOARD_SERVICES.*service=host:port"):
        services.stated_places(load_settings(services=text))


class TestOtherDeployments:
    @pytest.fixture
    def port(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
        """The default port, where a worker of another data folder and of cluster "east" answers."""
        state = HealthState(30)
        state.clear("starting")
        state.describe("service", "respond")
        state.describe("data_folder", folder_id(load_settings(data_dir=tmp_path / "other")))
        state.describe("cluster", "east")
        with HealthServer(0, Metrics().registry, state) as server:
            monkeypatch.setenv("SWITCHBOARD_METRICS_PORT", str(server.port))
            yield server.port

    async def respond(self, folder: Path, ports: dict[str, int] | None = None) -> services.Report:
        reports = await services.ask_services(load_settings(data_dir=folder), ports)
        (found,) = [report for report in reports if report.service == "respond"]
        return found

    async def test_a_worker_of_another_data_folder_does_not_run(self, port: int, tmp_path: Path) -> None:
        report = await self.respond(tmp_path / "empty")
        assert (report.running, report.ready) == (False, False)
        assert report.reasons == ["that of another data folder answers on this port"]
        assert (await self.respond(tmp_path / "other")).ready

    async def test_a_worker_of_another_cluster_does_not_run(self, port: int, tmp_path: Path) -> None:
        report = await self.respond(tmp_path / "other")
        assert services.of_cluster([report], "east") == [report]
        [other] = services.of_cluster([report], "west")
        assert (other.running, other.ready, other.port) == (False, False, port)
        assert other.reasons == ["that of another Kafka cluster answers on this port"]
