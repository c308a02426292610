"""The record of a replay: which settings it keeps, who may run it, and what is refused."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

from models.control import Control, Generation
from models.errors import ConfigurationError, NotFound
from streams.clients.kafka.broker import GroupLag
from streams.clients.serving import KEY, LIVE, following, of_command
from streams.config.service_registry import ServiceAddress, register
from streams.config.settings import Settings, load_settings
from streams.server.process.supervisor import Supervisor
from streams.server.replays import dropping, plan, record, running, switching
from streams.server.replays.log import Gone
from streams.server.replays.record import Replay


@pytest.fixture
def live(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path, window_size=12)


def replay_of(live: Settings, *given: str, **more: object) -> Replay:
    return Replay(
        name="b",
        started_at=datetime(2026, 11, 27, tzinfo=UTC),
        settings=record.decided(live),
        changed=record.changes_of(given),
        **more,  # type: ignore[arg-type]
    )


def test_workers_have_the_settings_of_the_start(live: Settings) -> None:
    replay = replay_of(live, "SWITCHBOARD_TOKEN_THRESHOLD=500", max_rate=20.0)
    later = {
        "PATH": "/bin",
        "SWITCHBOARD_WINDOW_SIZE": "30",
        "SWITCHBOARD_EPISODE_SIZE": "40",
        "SWITCHBOARD_GENERATION": "",
        "SWITCHBOARD_BOOTSTRAP_SERVERS": "moved:9092",
        "GEMINI_API_KEY": "a new key",
    }
    environment = replay.environment(later)
    assert environment == {
        "PATH": "/bin",
        "SWITCHBOARD_WINDOW_SIZE": "12",
        "SWITCHBOARD_TOKEN_THRESHOLD": "500",
        "SWITCHBOARD_GENERATION": "b",
        "SWITCHBOARD_MAX_RATE": "20",
        "SWITCHBOARD_METRICS_PORT": "0",
        "SWITCHBOARD_BOOTSTRAP_SERVERS": "moved:9092",
        "GEMINI_API_KEY": "a new key",
    }


def test_no_secret_and_no_address_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    monkeypatch.setenv("SWITCHBOARD_REDIS_URL", "redis://:secret@here")
    assert record.decided(load_settings()) == {}


@pytest.mark.parametrize(
    "given",
    [
        "WINDOW_SIZE=4",
        "SWITCHBOARD_WINDOW_SIZE",
        "SWITCHBOARD_DATA_DIR=/tmp",
        "SWITCHBOARD_TOPIC_PREFIX=x",
        "SWITCHBOARD_GENERATION=c",
        "GEMINI_API_KEY=x",
        "SWITCHBOARD_MODEL_URL=http://me:secret@host/v1",
    ],
)
def test_settings_that_a_replay_cannot_change_are_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="--with") as refused:
        record.changes_of([given])
    assert "secret@" not in str(refused.value)


def test_a_record_is_read_as_written_and_listed(live: Settings) -> None:
    generation = record.generation_settings(live, "b")
    with pytest.raises(NotFound, match="replay start b"):
        record.known(generation)
    replay = replay_of(live, measured_rate=300.0)
    record.write(generation, replay)
    assert record.known(generation) == replay
    assert record.names(live) == ["b"]
    assert record.last_measured(live) == 300.0


def fill_the_disk(generation: Settings) -> None:
    """Let the next write of the record find the disk full."""
    generation.folder.mkdir(parents=True, exist_ok=True)
    (generation.folder / f"replay.{os.getpid()}").symlink_to("/dev/full")


def test_a_full_disk_keeps_the_old_record_and_advises(live: Settings) -> None:
    generation, replay = record.generation_settings(live, "b"), replay_of(live)
    record.write(generation, replay)
    fill_the_disk(generation)
    with pytest.raises(ConfigurationError, match=r"No space left.*free some of the disk and repeat this"):
        record.write(generation, record.limited(replay, 5.0, None))
    assert record.known(generation) == replay
    record.write(generation, record.limited(replay, 5.0, None))
    assert record.known(generation).max_rate == 5.0


@pytest.mark.parametrize("until_caught_up", [True, False])
async def test_a_full_disk_does_not_hold_a_finished_replay(
    live: Settings, monkeypatch: pytest.MonkeyPatch, until_caught_up: bool
) -> None:
    generation, replay = record.generation_settings(live, "b"), replay_of(live)
    record.write(generation, replay)
    fill_the_disk(generation)
    left = iter([5, 0, 0])

    async def progress(_: Settings) -> running.Progress:
        lag = next(left)
        return running.Progress(9 - lag, 9, [GroupLag("g", "chat.messages.v1", 1, 9 - lag, 9, lag, True, [])])

    monkeypatch.setattr(running, "progress", progress)
    monkeypatch.setattr(running, "_POLL_SECONDS", 0)
    told = Mock(spec=Supervisor)
    await running._follow(generation, replay, told, until_caught_up)
    assert told.stop.called == until_caught_up and told.restart.called != until_caught_up
    assert record.known(generation) == replay


async def test_beside_steady_traffic_a_replay_catches_up_once_it_keeps_pace(
    live: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation, replay = record.generation_settings(live, "b"), replay_of(live)
    seen: list[tuple[int, int]] = []
    ends_and_lags = iter([(100, 60), (120, 30), (140, 20), (160, 20), (180, 20)])  # 20 arrive between two looks

    async def progress(_: Settings) -> running.Progress:
        end, lag = next(ends_and_lags)
        seen.append((end, lag))
        lags = [GroupLag("g", "chat.messages.v1", 1, end - lag, end, lag, True, [])]
        return running.Progress(end - lag, end, lags)

    monkeypatch.setattr(running, "progress", progress)
    monkeypatch.setattr(running, "_POLL_SECONDS", 0)
    told = Mock(spec=Supervisor)
    await running._follow(generation, replay, told, False)
    assert told.restart.called and seen[-1] == (160, 20)


async def test_one_process_runs_a_replay(live: Settings) -> None:
    generation = record.generation_settings(live, "b")
    assert record.runner(generation) is None
    lock = await record.take(generation)
    holder = record.runner(generation)
    assert holder is not None
    assert holder.pid == str(os.getpid())
    with pytest.raises(ConfigurationError, match=r"replay b runs .*replay pause b"):
        await record.take(generation)
    lock.release()
    (await record.take(generation)).release()


def test_the_generation_that_serves_is_not_dropped(live: Settings) -> None:
    with pytest.raises(ConfigurationError, match="b serves, so it cannot be dropped"):
        switching.refuse_serving(live, Generation(name="b"), "b", "dropped")
    switching.refuse_serving(live, LIVE, "b", "dropped")
    here = ServiceAddress("serve", "a", os.getpid(), "127.0.0.1", 1)
    stop = register(record.generation_settings(live, "b"), here)
    with pytest.raises(ConfigurationError, match="generation b serves"):
        switching.refuse_serving(live, LIVE, "b", "dropped")
    stop()
    switching.refuse_serving(live, LIVE, "b", "dropped")


async def test_commands_read_the_generation_that_serves_with_its_settings(live: Settings) -> None:
    assert await of_command(live) is live
    serves = Generation(name="b", settings={"embedder": "onnx:/models/other", "window_size": "6"})
    known = Control(control_id=KEY, serves=serves, before=LIVE, switched_at=datetime(2026, 11, 27, tzinfo=UTC))
    following(live, lambda _: None).keep({KEY: known})
    reading = await of_command(live)
    assert (reading.generation, reading.embedder, reading.window_size) == ("b", "onnx:/models/other", 6)
    assert reading.data_dir == live.data_dir
    named = load_settings(data_dir=live.data_dir, generation="c")
    assert await of_command(named) is named, "SWITCHBOARD_GENERATION decides"


async def test_live_settings_are_never_dropped(live: Settings) -> None:
    with pytest.raises(ConfigurationError, match="cannot be dropped"):
        await dropping.drop(live)


def test_a_loss_is_refused_and_named() -> None:
    plan.refuse_loss(Gone(0, 0, 0))
    with pytest.raises(ConfigurationError, match=r"12 records of 3 conversations.*--accept-loss"):
        plan.refuse_loss(Gone(12, 0, 3))
    with pytest.raises(ConfigurationError, match="2 commands, corrections"):
        plan.refuse_loss(Gone(0, 2, 0))
