"""One deployment with ``switchboard serve``, for all tests of a process that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from serve_rig import ServeRig

from deploy.local.kafka import LocalKafka


@pytest.fixture(scope="session")
def deployment(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeRig]:
    """Its serve runs; leave it running."""
    rig = ServeRig(kafka.bootstrap_servers, tmp_path_factory.mktemp("serve"))
    yield rig
    rig.close()
