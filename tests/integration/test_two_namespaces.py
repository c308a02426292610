"""Workers of two Kubernetes namespaces in one consumer group: `switchboard doctor` names both."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from deploy.local.kafka import LocalKafka
from streams.admin.topics import cluster
from streams.cli.doctor import namespaces
from streams.clients import kafka as clients
from streams.clients.catalog import catalog_for
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings, load_settings

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(("other", "found"), [("blue", 0), ("green", 1), ("", 0)])
async def test_doctor_names_namespaces_that_share_a_group(
    kafka: LocalKafka, topic_prefix: str, other: str, found: int
) -> None:
    def worker(namespace: str) -> Settings:
        return load_settings(
            bootstrap_servers=kafka.bootstrap_servers,
            topic_prefix=topic_prefix,
            kubernetes_namespace=namespace,
        )

    nobody = worker("")
    messages = catalog_for(nobody).get(MESSAGES)
    async with cluster.connected(nobody, 60) as admin:
        await cluster.create_missing(admin, [messages], 1)
    async with AsyncExitStack() as stack:
        for pod, settings in (("ingest-0", worker("blue")), ("other-ingest-0", worker(other))):
            member = clients.make_consumer(
                settings,
                clients.client_id("ingest", settings),
                messages.name,
                group_id=settings.group("ingest"),
                group_instance_id=pod,
            )
            await member.start()
            stack.push_async_callback(member.stop)
        findings = await namespaces(nobody)
    assert len(findings) == found
    for finding in findings:
        assert finding.state == "wrong"
        assert "blue and green share the consumer group" in finding.what
        assert "SWITCHBOARD_TOPIC_PREFIX" in finding.advice
