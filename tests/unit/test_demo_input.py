"""What the demo sends is checked first, and every mistake in it says what to do."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from deploy.local.demo_input import EXAMPLES, input_files, read_messages
from models.errors import InvalidRecord, NotFound
from processors.conversations.token_table import TokenTable, add, due
from processors.text.tokens import message_tokens
from streams.adapters.tokenizer import cl100k_counter
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


def test_the_examples_lie_in_order_within_each_conversation(settings: Settings) -> None:
    latest = {}
    for sent in read_messages(input_files(""), settings):
        message = sent.message
        assert latest.get(message.conversation_id, message.sent_at) <= message.sent_at
        latest[message.conversation_id] = message.sent_at


def test_one_conversation_of_the_examples_is_long_enough_to_be_summarized(settings: Settings) -> None:
    count = cl100k_counter()
    tables: dict[str, TokenTable] = defaultdict(TokenTable)
    for sent in read_messages(input_files(""), settings):
        message = sent.message
        tokens = message_tokens(message.role, message.content, count)
        tables[message.conversation_id] = add(tables[message.conversation_id], [tokens])
    assert any(due(table, settings.token_threshold) for table in tables.values())


def test_a_file_and_a_folder_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(line())
    (tmp_path / "a.jsonl").write_text(line())
    (tmp_path / "notes.txt").write_text("not to be sent")
    assert [file.name for file in input_files(str(tmp_path))] == ["a.jsonl", "b.jsonl"]
    assert input_files(str(tmp_path / "b.jsonl")) == [tmp_path / "b.jsonl"]
    assert len(input_files("")) == len(list(EXAMPLES.glob("*.jsonl")))


@pytest.mark.parametrize("given", ["missing.jsonl", "empty-folder"])
def test_nothing_to_send_says_what_to_give(tmp_path: Path, given: str) -> None:
    (tmp_path / "empty-folder").mkdir()
    with pytest.raises(NotFound, match=r"make demo INPUT=file") as refused:
        input_files(str(tmp_path / given))
    assert given in str(refused.value)


def test_no_examples_say_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"INPUT=file"):
        input_files("", tmp_path)


def test_a_file_without_messages_says_so(tmp_path: Path, settings: Settings) -> None:
    file = tmp_path / "blank.jsonl"
    file.write_text("\n  \n")
    with pytest.raises(NotFound, match="no message is in"):
        read_messages([file], settings)


def test_blank_lines_line_ends_and_a_byte_order_mark_are_no_mistakes(
    tmp_path: Path, settings: Settings
) -> None:
    file = tmp_path / "windows.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + line().encode() + b"\r\n\r\n" + line(message_id="m-2").encode())
    messages = read_messages([file], settings)
    assert [sent.message.message_id for sent in messages] == ["m-1", "m-2"]
    assert messages[0].value == line().encode()


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


def test_many_broken_lines_are_counted_and_the_first_named(tmp_path: Path, settings: Settings) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("nonsense\n" * 2000)
    with pytest.raises(InvalidRecord) as refused:
        read_messages([file], settings)
    text = str(refused.value)
    assert "2,000 lines" in text
    assert "line 5:" in text
    assert "line 6:" not in text
    assert "1,995 more" in text


def test_a_file_that_cannot_be_read_says_why(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="Is a directory"):
        read_messages([tmp_path], settings)
