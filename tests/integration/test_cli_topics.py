"""``switchboard topics`` against a real broker: what it prints, and its exit statuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.cli import main

pytestmark = pytest.mark.kafka

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    kafka: LocalKafka, topic_prefix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run ``switchboard topics ARGUMENTS``; return exit status, stdout and stderr."""
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", kafka.bootstrap_servers)
    monkeypatch.setenv("SWITCHBOARD_TOPIC_PREFIX", topic_prefix)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main.run(["topics", *arguments])
        return status, *capsys.readouterr()

    return run


def make(kafka: LocalKafka, name: str, partitions: int, **config: str) -> None:
    async def create() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
        await admin.start()
        try:
            settings = {key.replace("_", "."): value for key, value in config.items()}
            await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
            while name not in await admin.list_topics():
                await asyncio.sleep(0.05)
        finally:
            await admin.close()

    asyncio.run(create())


def test_a_topic_that_exists_is_changed_when_told_and_loses_only_what_was_accepted(run, kafka, topic_prefix):
    facts = f"{topic_prefix}memory.facts.v1"
    make(kafka, facts, 8, cleanup_policy="delete", retention_ms="-1")

    status, out, _ = run("apply")
    assert status == 1  # under that policy no service may start
    assert f"left     {facts}  cleanup.policy: delete -> compact  (--execute --accept-loss changes it)" in out
    assert "loses of each key, all records but the latest" in out
    assert f"left     {facts}  max.compaction.lag.ms: for ever -> 1 day  (--execute changes it)" in out
    assert f"created  {topic_prefix}memory.windows.v1" in out

    status, out, _ = run("apply", "--execute")
    assert status == 1
    assert f"altered  {facts}  max.compaction.lag.ms: for ever -> 1 day" in out
    assert f"left     {facts}  cleanup.policy: delete -> compact" in out

    status, out, _ = run("apply", "--execute", "--accept-loss", "--json")
    assert status == 0
    answer = json.loads(out)
    assert [(d["topic"], d["what"]) for d in answer["altered"]] == [(facts, "cleanup.policy")]
    assert answer["remaining"] == []
    assert run("check")[0] == 0
