"""``switchboard state`` without a broker: what it names, what it refuses, and when it asks."""

from __future__ import annotations

import io
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from models.errors import ConfigurationError
from streams.admin.topics import reset
from streams.admin.topics.groups import Rewound
from streams.admin.topics.reset_facts import Kept
from streams.cli import main
from streams.clients.catalog import load_catalog
from streams.config.settings import load_settings
from streams.config.settings.services import SERVICES
from streams.runtime.stage import Stage
from streams.server.process.services import open_service
from streams.telemetry.metrics import process_metrics

CATALOG = load_catalog()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    for name in ("SWITCHBOARD_QDRANT_URL", "SWITCHBOARD_TOPIC_PREFIX", "SWITCHBOARD_RESPONSE_MEMORY"):
        monkeypatch.delenv(name, raising=False)


async def stages_of(service: str, **settings: object) -> list[Stage]:
    async with AsyncExitStack() as resources:
        opened = await open_service(service, load_settings(**settings), process_metrics(), resources)
        return list(opened.stages)


def is_rewindable(service: str, topic: str) -> bool:
    try:
        reset.rewindable(CATALOG, service, topic)
    except ConfigurationError:
        return False
    return True


@pytest.mark.parametrize("service", SERVICES)
async def test_every_read_topic_is_reset_and_tableless_ones_rewound(
    service: str,
) -> None:
    sources = {spec.name for spec in reset.sources_of(CATALOG, service)}
    changelogs = {spec.name for spec in reset.changelogs_of(CATALOG, service)}
    for stage in await stages_of(service):
        assert set(stage.sources) <= sources
        # Those two remember what waits, and what was erased, and not how far they have read.
        folds = stage.table is not None and stage.name not in ("embedding", "context")
        assert {is_rewindable(service, source) for source in stage.sources} == {not folds}
        if stage.table:
            assert f"switchboard-{service}-{stage.table}-changelog" in changelogs


class Calls:
    """Stands for the broker: notes what was asked for."""

    def __init__(self) -> None:
        self.made: list[tuple[str, ...]] = []

    async def reset_state(self, catalog, settings, service, on_wait) -> reset.ResetDone:
        self.made.append(("reset", service))
        return reset.ResetDone(["a-changelog"], [Rewound("a-topic", 1200)], Kept(3, 1), Path("/an/index"))

    async def rewind(self, catalog, settings, service, topic, on_wait) -> Rewound:
        self.made.append(("rewind", service, topic))
        return Rewound(topic, 1)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()
    monkeypatch.setattr(reset, "reset_state", calls.reset_state)
    monkeypatch.setattr(reset, "rewind", calls.rewind)
    return calls


class Terminal(io.StringIO):
    """A person at a terminal who types one line."""

    def isatty(self) -> bool:
        return True


RESET, REWIND = ["state", "reset", "memory"], ["state", "rewind", "recall", "memory.facts.v1"]


@pytest.mark.parametrize("command", [RESET, REWIND])
def test_without_a_terminal_nothing_happens_unasked(command, calls, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main.run(command) == 78
    assert "--yes" in capsys.readouterr().err
    assert calls.made == []


@pytest.mark.parametrize("command", [RESET, REWIND])
def test_a_person_is_asked_and_may_decline(command, calls, monkeypatch) -> None:
    for declined in ("n\n", "\n", ""):
        monkeypatch.setattr("sys.stdin", Terminal(declined))
        assert main.run(command) == 1
        assert calls.made == []
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main.run(command) == 0
    assert calls.made == [tuple(command[1:])]
