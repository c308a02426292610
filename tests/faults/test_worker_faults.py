"""A worker is killed, told to stop, joined by others, frozen: nothing is lost and nothing invented."""

from __future__ import annotations

import random

import pytest
from chat_load import Shape
from harness import SHORT_SESSION
from workers import eventually

OTHER_TOPICS = "waiting until the workers of this service that read other topics have ended"

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]


@pytest.mark.short
async def test_killed_at_random_times_and_restarted(stream, seed):
    """Also while it starts, and while it recovers what it was killed in the middle of."""
    chance = random.Random(seed)
    # Commits follow acks closely, so that an ack that comes too early is found out.
    worker = stream.worker("a", commit_interval_seconds=0.05)
    load = stream.load(rate=3000)
    await worker.ready()
    for _ in range(4):
        await load.reaches(load.sent + chance.randint(500, 5000))
        worker.kill()
        worker.start()
        if chance.random() < 0.7:
            await worker.ready()
    await load.stop()
    await stream.verdict()


async def test_killed_while_most_of_its_state_lies_in_files(stream, seed):
    """Also while it recovers: then memory is too small as well."""
    chance = random.Random(seed)
    worker = stream.worker("a", commit_interval_seconds=0.05, state_memory_mb=1)
    load = stream.load(rate=3000, records=stream.messages(Shape(conversations=2000, length=15)))

    async def is_in_files() -> bool:
        # What comes in at once is in memory until it is moved, beside the stages.
        in_file = await worker.metric("state_bytes", place="file")
        return in_file > 2_000_000 and await worker.metric("state_bytes", place="memory") < 2_000_000

    for _ in range(2):
        await worker.ready()
        await eventually(is_in_files, "state has outgrown memory, and was moved")
        await load.reaches(load.sent + chance.randint(3000, 8000))
        worker.kill()
        assert [*(stream.folder / "data-a").rglob("state-*")] == [], "a file of state goes with its process"
        worker.start()
    await worker.ready()
    await load.reaches(load.sent + 3000)
    await load.stop()
    await stream.verdict()


async def test_state_without_room_stops_it_without_loss(stream):
    stream.folder.joinpath("file").touch()
    worker = stream.worker("a", data_dir=stream.folder / "file" / "data", state_memory_mb=1)
    load = stream.load(rate=3000, records=stream.messages(Shape(conversations=2000)))
    assert await worker.exits() == 70
    assert "SWITCHBOARD_DATA_DIR" in worker.says("the worker stops")[0]["error"]
    stream.folder.joinpath("file").unlink()
    worker.start()
    await worker.ready()
    await load.reaches(load.sent + 3000)
    await load.stop()
    await stream.verdict()


@pytest.mark.short
async def test_sigterm_hands_over(stream):
    """Alone, then with another worker at hand: exit code 0 within 30 s, and the other one goes on.

    One that reads other topics gets none of the partitions, or state would be torn.
    """
    first = stream.worker("a", **SHORT_SESSION)
    load = stream.load(rate=3000)
    await first.ready()
    await load.reaches(load.sent + 3000)
    other = stream.worker("c", how="fewer", **SHORT_SESSION)
    await eventually(lambda: other.says(OTHER_TOPICS), "who reads other topics waits")
    assert (partitions_of(first), partitions_of(other)) == (32, 0)
    other.kill()
    assert await first.stops() == 0
    first.start()
    second = stream.worker("b", **SHORT_SESSION)
    await first.ready()
    await second.ready()
    await load.reaches(load.sent + 3000)
    assert await first.stops() == 0
    await load.reaches(load.sent + 3000)
    await load.stop()
    await stream.verdict()
    assert await second.stops() == 0


async def test_frozen_past_its_session_and_thawed_after_another_took_over(stream):
    zombie, other = stream.worker("a", **SHORT_SESSION), stream.worker("b", **SHORT_SESSION)
    load = stream.load(rate=3000)
    await zombie.ready()
    await other.ready()
    await load.reaches(load.sent + 3000)
    before = len(zombie.says("partitions assigned"))
    zombie.freeze()
    await eventually(lambda: partitions_of(other) == 32, "the other worker has all partitions")
    await other.ready()
    await load.reaches(load.sent + 3000)
    zombie.thaw()
    await eventually(
        lambda: not zombie.running or len(zombie.says("partitions assigned")) > before,
        "the thawed worker has joined again, or has stopped because of what it could no longer write",
    )
    if not zombie.running:
        assert await zombie.exits() == 70
        assert "given our partitions away" in zombie.says("the worker stops")[0]["error"]
        zombie.start()
    await load.reaches(load.sent + 3000)
    await load.stop()
    expected = await stream.verdict()
    # Late state would be ignored at recovery, but compaction would make it the only one.
    assert expected.stale_writes == 0


def partitions_of(worker) -> int:
    """How many partitions the worker was assigned last: in all 8 each of three sources and the changelog."""
    assigned = worker.says("partitions assigned")
    return assigned[-1]["partitions"] if assigned else 0


async def test_two_workers_under_one_name_do_not_fight_for_it(stream):
    first = stream.worker("a", host="one")
    load = stream.load(rate=2000)
    await first.ready()
    second = stream.worker("a", host="two")
    assert await first.exits() == 78
    assert "FencedInstanceIdError" in first.says("the worker stops")[0]["error"]
    assert "SWITCHBOARD_INSTANCE_ID" in first.says("the worker stops")[0]["error"]
    assert "SWITCHBOARD_TOPIC_PREFIX" in first.says("the worker stops")[0]["error"], (
        "two namespaces, one prefix"
    )
    assert not first.says("where its threads stand")
    assert not first.says("File ")
    await second.ready()
    await load.reaches(load.sent + 4000)
    await load.stop()
    await stream.verdict()
    assert second.running


async def test_a_second_of_a_name_is_refused_on_one_machine(stream):
    first = stream.worker("a")
    load = stream.load(rate=2000)
    await first.ready()
    second = stream.worker("a", metrics_port=first.says("starting")[0]["metrics_port"])
    assert await second.exits() == 78
    (refusal,) = second.says("cannot start")
    assert f"process {first.pid}, since " in refusal["error"]
    assert not second.says("partitions assigned")
    await load.reaches(load.sent + 4000)
    assert not first.says("partitions assigned")[1:], "nobody took anything from it"
    first.kill()
    third = stream.worker("a")
    await third.ready()
    await load.stop()
    await stream.verdict()
    assert third.running


async def test_ingest_needs_no_folder_that_it_can_write(stream):
    stream.folder.joinpath("file").touch()
    worker = stream.worker("a", data_dir=stream.folder / "file" / "data")
    load = stream.load(2000, rate=4000)
    await worker.ready()
    await load.finish()
    await stream.verdict()
    assert await worker.stops() == 0
