"""The wheel, installed where no checkout is: the commands find their data there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from deploy.local.kafka import LocalKafka
from deploy.local.ports import free_ports

ROOT = Path(__file__).parents[2]
PATIENCE = 300

pytestmark = pytest.mark.long


@pytest.fixture
def switchboard(tmp_path: Path) -> Path:
    """The installed command, in an environment that has the wheel and what it depends on."""
    source = tmp_path / "source"  # building writes beside the sources
    for package in ("models", "processors", "streams", "schemas", "deploy"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, source], check=True, timeout=PATIENCE)
    [wheel] = tmp_path.glob("switchboard-*.whl")
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, timeout=PATIENCE)
    python = environment / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True, timeout=PATIENCE
    )
    # A path in a .pth file: packages are found there, but not the checkout, which another .pth file names.
    [packages] = environment.glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return environment / "bin" / "switchboard"


def test_the_demo_runs_from_the_wheel(
    switchboard: Path, kafka: LocalKafka, topic_prefix: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    given = {
        "SWITCHBOARD_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "SWITCHBOARD_TOPIC_PREFIX": topic_prefix,
        "SWITCHBOARD_DATA_DIR": str(tmp_path / "data"),
        "SWITCHBOARD_METRICS_PORT": "0",
        "SWITCHBOARD_API_PORT": str(free_ports(1)[0]),
    }
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKELEVEL")}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [switchboard, *arguments],
            cwd=elsewhere,
            env=clean | given,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("--version").startswith("switchboard 0.")
    printed = run("demo")
    assert "531 messages of 6 people in 37 conversations (examples)" in printed
    assert "I'm allergic to peanuts" in printed
    assert "peanuts" in run("facts", "--user", "amara")
