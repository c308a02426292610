"""What made a record: the headers, the commit that they name, and the settings that they stand for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.memory_records import MemoryRecords

from streams import version
from streams.agents.ingest import conversations
from streams.agents.ingest.conversations import Conversations
from streams.agents.respond import responses
from streams.agents.respond.responses import Responses
from streams.runtime.effects import Output
from streams.runtime.publisher import Packed, Publisher, TopicLayout
from streams.runtime.stamp import CODE, CONFIG, config_hash, stamp
from streams.settings import Settings

LIMIT = 1000


@pytest.fixture
async def publisher() -> Publisher:
    layout = TopicLayout(lambda topic: topic, lambda topic: 1, lambda topic: LIMIT)
    return Publisher(AIOKafkaProducer(), layout, submit_timeout=1)


def records(packed: Packed) -> list[tuple[bytes, Sequence[tuple[str, bytes]]]]:
    """Read packed batches as the broker would get them."""
    found = []
    for _, _, builder in packed:
        builder.close()
        memory = MemoryRecords(bytes(builder._build()))
        while memory.has_next():
            found += [(record.value, record.headers) for record in memory.next_batch()]
    return found


async def test_outputs_carry_the_stamp_behind_their_own_headers_and_copies_do_not(publisher: Publisher) -> None:
    made = stamp({"window_size": 10})
    outputs = [
        Output("t", b"k", b"made", [("ce_id", b"1")]),
        Output("t", b"k", b"bare"),
        Output("t", b"k", b"copy", (("ce_id", b"1"),), copy=True),
    ]
    assert records(publisher.pack(outputs, made)) == [
        (b"made", [("ce_id", b"1"), *made]),
        (b"bare", [*made]),
        (b"copy", [("ce_id", b"1")]),
    ]
    assert [*outputs[0].headers] == [("ce_id", b"1")], "what the stage made is not touched"


def test_the_headers_name_version_commit_and_configuration() -> None:
    headers = dict(stamp({"extractor": "builtin-1"}))
    assert [*headers] == [CODE, CONFIG]
    assert headers[CODE].decode() == version.code_version()
    assert headers[CONFIG].decode() == config_hash({"extractor": "builtin-1"})
    number, _, commit = version.code_version().partition("+")
    assert number[0].isdigit()
    assert commit


def other(value: Any) -> Any:
    """Another value of a setting that is allowed as well."""
    match value:
        case "response":
            return "conversation"
        case "off":
            return "on"
        case "cl100k_base":
            return "o200k_base"
        case bool() | str() | None:
            return value
        case float() if value <= 1:
            return value / 2
        case int() | float():
            return value + 1
    return value


@pytest.mark.parametrize(
    "policy_of, deciding",
    [(conversations.policy_of, conversations.DECIDING), (responses.policy_of, responses.DECIDING)],
)
def test_every_setting_that_a_policy_is_made_of_is_named(
    policy_of: Callable[[Settings], object], deciding: Sequence[str]
) -> None:
    settings = Settings()
    for name in Settings.model_fields:
        changed = settings.model_copy(update={name: other(getattr(settings, name))})
        if policy_of(changed) != policy_of(settings):
            assert name in deciding
    stages = Conversations(settings, len).stage(), Responses(settings, lambda seconds: None).stage()
    assert settings.chosen(*deciding) in [stage.decided_by for stage in stages]
    changed = settings.model_copy(update={name: other(getattr(settings, name)) for name in deciding})
    assert all(changed.chosen(name) != settings.chosen(name) for name in deciding)


class TestCommit:
    def test_the_build_says_it(self, tmp_path: Path) -> None:
        file = tmp_path / "COMMIT"
        assert version._built_commit(file) == ""
        file.write_text("")
        assert version._built_commit(file) == "", "an image that was built without saying its commit"
        file.write_text("7008eb1d5007c036378a02f295593e2ba81c7c48\n")
        assert version._built_commit(file) == "7008eb1d5007"

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
