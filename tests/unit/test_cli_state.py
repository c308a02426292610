"""``switchboard state`` without a broker: what it names, what it refuses, and when it asks."""

from __future__ import annotations

import io
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from models.errors import ConfigurationError
from streams.cli import main, state
from streams.runtime.stage import Stage
from streams.services import open_service
from streams.settings import load_settings
from streams.settings.services import SERVICES
from streams.telemetry.metrics import process_metrics
from streams.topics import reset
from streams.topics.catalog import load_catalog
from streams.topics.groups import Member, Rewound
from streams.topics.reset_facts import Kept

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
async def test_every_topic_that_a_stage_reads_is_reset_and_only_those_without_a_table_are_rewound(
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


async def test_chunks_that_were_routed_first_are_state_as_well() -> None:
    stages = await stages_of("respond", response_memory="conversation")
    folded = {source for stage in stages if stage.table for source in stage.sources}
    assert folded
    assert not any(is_rewindable("respond", source) for source in folded)


def test_refusals_name_the_way_out() -> None:
    with pytest.raises(ConfigurationError, match=r"switchboard state reset memory"):
        reset.rewindable(CATALOG, "memory", "memory.facts.v1")
    with pytest.raises(ConfigurationError, match=r"does not read.*memory\.facts\.v1"):
        reset.rewindable(CATALOG, "recall", "memory.windows.v1")
    with pytest.raises(ConfigurationError, match=r"read again: nothing"):
        reset.rewindable(CATALOG, "ingest", "memory.facts.v1")


def test_only_recall_has_an_index_and_it_is_a_folder_or_a_collection(tmp_path: Path) -> None:
    here, there = load_settings(), load_settings(qdrant_url="http://qdrant:6333/")
    assert reset.index_folder(here, "recall") == tmp_path / "qdrant"
    assert reset.index_collection(here, "recall") is None
    assert reset.index_folder(there, "recall") is None
    assert reset.index_collection(there, "recall") == "http://qdrant:6333/collections/switchboard_facts"
    assert (reset.index_folder(here, "ingest"), reset.index_collection(there, "ingest")) == (None, None)


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


def test_what_will_happen_is_said_before_and_what_happened_after(calls, capsys, tmp_path) -> None:
    assert main.run([*RESET, "--yes"]) == 0
    planned, done = capsys.readouterr().out.split("forgot ")
    for name in ("switchboard-memory-facts-changelog", "memory.windows.v1"):
        assert name in planned
    assert "chat.messages.v1" not in planned
    assert str(tmp_path / "qdrant") not in planned
    for text in ("a-changelog", "a-topic: 1,200 records", "3 facts", "1 record that", "/an/index"):
        assert text in done
    assert main.run(["state", "reset", "recall", "--yes"]) == 0
    assert f"empties     {tmp_path / 'qdrant'}" in capsys.readouterr().out


def test_a_collection_on_a_server_is_named_before_and_after(calls, capsys, monkeypatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_QDRANT_URL", "http://qdrant:6333")
    assert main.run(["state", "reset", "recall", "--yes"]) == 0
    assert capsys.readouterr().out.count("http://qdrant:6333/collections/switchboard_facts") == 2


def test_what_cannot_be_rewound_is_refused_before_anybody_is_asked(calls, capsys) -> None:
    assert main.run(["state", "rewind", "memory", "memory.windows.v1"]) == 78
    assert "switchboard state reset memory" in capsys.readouterr().err
    assert calls.made == []


def test_waiting_says_for_whom_and_how_long(capsys) -> None:
    state._say_waiting([Member("ingest-here", "10.0.0.1")], 15.0)
    assert "up to 15 s" in (err := capsys.readouterr().err)
    assert "ingest-here (10.0.0.1)" in err


@pytest.mark.parametrize("command", [["state"], ["state", "reset"], ["state", "rewind"]])
def test_help_explains_itself(command, capsys) -> None:
    assert main.run([*command, "--help"]) == 0
    assert "Usage:" in capsys.readouterr().out
