"""What made a record: the headers, the commit that they name, and the settings that they stand for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from streams.runtime.publisher import Publisher, TopicLayout
from streams.runtime.stamp import CODE, CONFIG, config_hash, stamp
from streams.telemetry import version

LIMIT = 1000


@pytest.fixture
async def publisher() -> Publisher:
    layout = TopicLayout(lambda topic: topic, lambda topic: 1, lambda topic: LIMIT)
    return Publisher(AIOKafkaProducer(), layout, submit_timeout=1)


def test_the_headers_name_version_commit_and_configuration() -> None:
    headers = dict(stamp({"extractor": "builtin-1"}))
    assert [*headers] == [CODE, CONFIG]
    assert headers[CODE].decode() == version.code_version()
    assert headers[CONFIG].decode() == config_hash({"extractor": "builtin-1"})
    number, _, commit = version.code_version().partition("+")
    assert number[0].isdigit()
    assert commit


class TestCommit:
    def test_a_checkout_says_it_and_whether_files_were_changed(self, tmp_path: Path) -> None:
        def git(*arguments: str) -> str:
            who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
            done = subprocess.run(
                ["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True, text=True
            )
            return done.stdout.strip()

        assert version._checked_out_commit(tmp_path) == ""
        git("init", "--quiet")
        assert version._checked_out_commit(tmp_path) == "", "no commit yet"
        (tmp_path / "file").write_text("1")
        git("add", "file")
        git("commit", "--quiet", "--message", "first")
        git("tag", "v1")
        commit = git("rev-parse", "--short=12", "HEAD")
        assert version._checked_out_commit(tmp_path) == commit
        (tmp_path / "file").write_text("2")
        assert version._checked_out_commit(tmp_path) == f"{commit}-dirty"
        inside = tmp_path / "site-packages"
        inside.mkdir()
        assert version._checked_out_commit(inside) == "", "installed inside of somebody else's checkout"
