"""What the demo sends is checked first, and every mistake in it says what to do."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from deploy.local.demo_input import EXAMPLES, input_files, read_messages
from models.errors import InvalidRecord
from streams.settings import Settings, load_settings


@pytest.fixture
def settings() -> Settings:
    return load_settings()


def line(**changes: object) -> str:
    body = {
        "message_id": "m-1",
        "conversation_id": "c-1",
        "user_id": "amara",
        "role": "user",
        "content": "I like blueberries",
        "sent_at": "2026-01-05T07:12:00Z",
    }
    return json.dumps(body | changes)


def test_without_input_the_examples_are_sent(settings: Settings) -> None:
    messages = [sent.message for sent in read_messages(input_files(""), settings)]
    people = Counter(message.user_id for message in messages)
    conversations: dict[str, set[str]] = defaultdict(set)
    for message in messages:
        conversations[message.user_id].add(message.conversation_id)
    assert len(messages) >= 400
    assert len(people) >= 4
    assert sum(len(of_person) >= 6 for of_person in conversations.values()) >= 4
    assert len({message.message_id for message in messages}) == len(messages)
    days = [message.sent_at for message in messages]
    assert (max(days) - min(days)).days > 60


def test_a_file_and_a_folder_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(line())
    (tmp_path / "a.jsonl").write_text(line())
    (tmp_path / "notes.txt").write_text("not to be sent")
    assert [file.name for file in input_files(str(tmp_path))] == ["a.jsonl", "b.jsonl"]
    assert input_files(str(tmp_path / "b.jsonl")) == [tmp_path / "b.jsonl"]
    assert len(input_files("")) == len(list(EXAMPLES.glob("*.jsonl")))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("{", "invalid_json"),
        ('"text"', ""),
        (line(role="wizard"), ""),
        (line(sent_at="yesterday"), ""),
        (line(sent_at="2999-01-01T00:00:00Z"), "absurd_time"),
        (line(content="x" * 70_000), "content_too_large"),
        (line(message_id=""), ""),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_sent(
    tmp_path: Path, settings: Settings, broken: str, reason: str
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(f"{line()}\n{line()}\n{broken}\n{line()}\n")
    with pytest.raises(InvalidRecord) as refused:
        read_messages([file], settings)
    assert f"{file}, line 3: " in str(refused.value)
    assert "nothing was sent" in str(refused.value)
    assert "I like blueberries" not in str(refused.value)
    assert reason in ("", refused.value.reason)
