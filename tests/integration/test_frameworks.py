"""The client's extras with their frameworks, against a real ``serve``: ``make test-frameworks``."""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

import pytest
from serve_rig import ServeRig

REPOSITORY = Path(__file__).parents[2]
PYTHON = os.environ.get("SWITCHBOARD_TEST_FRAMEWORKS", "")

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(
        not PYTHON, reason="make test-frameworks installs the frameworks, and names their Python"
    ),
]


@pytest.mark.parametrize(
    "script", ["langgraph_store", "langchain_chat", "agents_session", "pydantic_ai_memory"]
)
def test_a_framework_has_memory(script: str, deployment: ServeRig) -> None:
    deployment.need("ingest", "memory", "recall")
    done = subprocess.run(
        [PYTHON, str(REPOSITORY / "tests" / "frameworks" / f"{script}.py")],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY / "client"),
            "URL": deployment.url,
            "PERSON": f"rosa-{uuid.uuid4().hex[:6]}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
