"""Who each of several processes of a service is, and which numbers of them are refused."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from streams.process.processes import Place, check_count
from streams.settings import load_settings
from streams.settings.services import SERVICES, health_port
from streams.topics.catalog import catalog_for


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_INSTANCE_ID", "host")
    monkeypatch.delenv("SWITCHBOARD_METRICS_PORT", raising=False)


def test_each_process_has_a_name_and_ports_of_its_own() -> None:
    settings = [Place(index, 3).settings("memory", load_settings()) for index in range(3)]
    assert [each.instance_id for each in settings] == ["host-0", "host-1", "host-2"]
    assert [each.static_member("memory") for each in settings] == [
        "memory-host-0",
        "memory-host-1",
        "memory-host-2",
    ]
    assert [health_port(each, "memory") for each in settings] == [9465, 9475, 9485]


def test_no_two_processes_of_any_services_share_a_default_port() -> None:
    settings = load_settings()
    ports = [
        health_port(Place(index, 8).settings(service, settings), service)
        for service in SERVICES
        for index in range(8)
    ]
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("service", SERVICES)
def test_a_process_without_a_partition_is_refused(service: str) -> None:
    settings = load_settings(qdrant_url="http://127.0.0.1:6333", redis_url="redis://127.0.0.1")
    most = catalog_for(settings).most_processes(service)
    check_count(service, settings, most)
    with pytest.raises(ConfigurationError, match=f"at most {most}"):
        check_count(service, settings, most + 1)
