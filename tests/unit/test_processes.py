"""Who each of several processes of a service is, and which numbers of them are refused."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from streams.cli import main
from streams.clients.catalog import catalog_for
from streams.config.settings import load_settings
from streams.config.settings.services import SERVICES, health_port
from streams.server.process.processes import Place, check_count


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


def test_a_set_port_is_the_first_process_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_METRICS_PORT", "9700")
    settings = load_settings()
    assert [health_port(Place(i, 2).settings("respond", settings), "respond") for i in range(2)] == [9700, 9710]
    monkeypatch.setenv("SWITCHBOARD_METRICS_PORT", "0")
    settings = load_settings()
    assert [health_port(Place(i, 2).settings("respond", settings), "respond") for i in range(2)] == [0, 0]


def test_a_name_that_becomes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_INSTANCE_ID", "h" * 99)
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_INSTANCE_ID"):
        Place(1, 2).settings("ingest", load_settings())


def test_the_embedded_qdrant_belongs_to_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    check_count("recall", load_settings(), 1)
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_QDRANT_URL"):
        check_count("recall", load_settings(), 2)
    monkeypatch.setenv("SWITCHBOARD_QDRANT_URL", "http://127.0.0.1:6333")
    with pytest.raises(ConfigurationError, match=r"a Valkey of its own.*SWITCHBOARD_REDIS_URL"):
        check_count("recall", load_settings(), 2)
    monkeypatch.setenv("SWITCHBOARD_REDIS_URL", "redis://127.0.0.1:6379")
    check_count("recall", load_settings(), 2)


@pytest.mark.parametrize("service", SERVICES)
def test_a_process_without_a_partition_is_refused(service: str) -> None:
    settings = load_settings(qdrant_url="http://127.0.0.1:6333", redis_url="redis://127.0.0.1")
    most = catalog_for(settings).most_processes(service)
    check_count(service, settings, most)
    with pytest.raises(ConfigurationError, match=f"at most {most}"):
        check_count(service, settings, most + 1)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["recall", "--processes", "2"], 78, "SWITCHBOARD_QDRANT_URL"),
        (["ingest", "--processes", "2", "--process", "2"], 78, "the last one is 1"),
        (["ingest", "--processes", "0"], 2, "--processes"),
    ],
)
def test_the_command_refuses_before_anything_starts(
    arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["worker", *arguments]) == status
    assert said in capsys.readouterr().err


def test_several_that_ask_gemini_need_one_redis(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-for-tests")
    check_count("memory", load_settings(), 2)
    monkeypatch.setenv("SWITCHBOARD_EXTRACTOR", "gemini")
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_REDIS_URL"):
        check_count("memory", load_settings(), 2)
    monkeypatch.setenv("SWITCHBOARD_REDIS_URL", "redis://127.0.0.1")
    check_count("memory", load_settings(), 2)
