"""Exports of other chats: what is taken, what is left out and why, in whatever pieces the file comes."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from models.errors import InvalidRecord
from processors.conversations.importing import chatgpt, claude, jsonl, whatsapp
from processors.conversations.importing.drafts import Draft, Owner, Skipped, make_message
from streams.admin.importing.chats import Chats, Continued, Exported
from streams.admin.importing.publishing import Count, Importer
from streams.admin.importing.scratch import Repeats
from streams.config.settings import Settings

NOW = datetime(2026, 11, 1, tzinfo=UTC)
OWNER = Owner("chatgpt", "ada")


def pieces(data: bytes, seed: int = 1) -> Iterator[bytes]:
    sizes, at = random.Random(seed), 0
    while at < len(data):
        size = sizes.randint(1, 40)
        yield data[at : at + size]
        at += size


def node(
    name: str, parent: str | None, role: str, text: str | None, at: float | None = None, **more: Any
) -> Any:
    message = None
    if text is not None:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": name, "author": {"role": role}, "content": content, "create_time": at} | more
    return {"id": name, "parent": parent, "children": [], "message": message}


def conversation(*nodes: Any, current: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "k-1",
        "title": "Trip",
        "create_time": 1767600000.0,
        "mapping": {each["id"]: each for each in nodes},
        "current_node": current,
    } | more


TREE = conversation(
    node("root", None, "", None),
    node("sys", "root", "system", "You are helpful."),
    node("q1", "sys", "user", "I live in Lisbon.", 1767600001.5),
    node("a1-old", "q1", "assistant", "Nice!", 1767600002),
    node("a1", "q1", "assistant", "Lovely.", 1767600003),
    node("gone", "a1", "user", "Forget this", 1767600004, weight=0),
    node("call", "gone", "assistant", "search()", 1767600004, recipient="browser"),
    node("tool", "call", "tool", "a page", 1767600004),
    node("q2", "tool", "user", 'I have "two" cats: [a, b] {c}\n', None),
    current="q2",
)


def drafts_of(found: Any) -> list[Draft]:
    return [each for each in found if isinstance(each, Draft)]


def reasons_of(found: Any) -> dict[str, str]:
    return {each.reason: each.where for each in found if isinstance(each, Skipped)}


class TestChatGpt:
    def read(self, *conversations: Any, **options: Any) -> list[Draft | Skipped]:
        return list(chatgpt.read(pieces(json.dumps(conversations, indent=1).encode()), **options))

    def test_the_branch_that_a_person_sees_with_its_times(self) -> None:
        found = self.read(TREE)
        assert [(each.role, each.content) for each in drafts_of(found)] == [
            ("user", "I live in Lisbon."),
            ("assistant", "Lovely."),
            ("user", 'I have "two" cats: [a, b] {c}\n'),
        ]
        first, _, last = drafts_of(found)
        assert first.sent_at == datetime(2026, 1, 5, 8, 0, 1, 500000, UTC)
        assert last.sent_at == datetime(2026, 1, 5, 8, 0, 4, tzinfo=UTC)  # that of the one before
        assert first.metadata == {"title": "Trip"}
        assert reasons_of(found).keys() == {"other_branch", "deleted", "to_a_tool", "not_said"}
        assert reasons_of(found)["other_branch"] == "line 2, conversation 1, message a1-old"

    @pytest.mark.parametrize(
        "broken",
        [
            {"mapping": []},
            {"mapping": {"a": 7, "b": {"message": 7}, "c": {"message": {"author": 7, "content": 7}}}},
            {"mapping": {"a": {"parent": ["x"], "message": {"author": {"role": {}}, "create_time": "soon"}}}},
            {"id": 7},
            {"current_node": {}},
        ],
    )
    def test_what_is_of_another_shape_costs_nothing_else(self, broken: Any) -> None:
        found = self.read(TREE | broken, TREE)
        assert len(drafts_of(found)) >= 3


def claude_tree(*messages: tuple[str, str | None], **more: Any) -> dict[str, Any]:
    return {
        "uuid": "k-1",
        "chat_messages": [
            {
                "uuid": name,
                "text": name,
                "sender": "human",
                "created_at": f"2026-01-05T08:00:{number:02}Z",
                "parent_message_uuid": parent,
            }
            for number, (name, parent) in enumerate(messages)
        ],
    } | more


ROOT = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("exported", "shown"),
    [
        (claude_tree(("a", ROOT), ("b", ROOT), ("c", "b"), current_leaf_message_uuid="a"), ["a"]),
        (claude_tree(("a", ROOT), ("b", ROOT), ("c", "a")), ["a", "c"]),  # the latest, where none is named
        (claude_tree(("a", ROOT), ("b", "gone"), ("c", "b"), current_leaf_message_uuid="c"), ["a", "b", "c"]),
        (claude_tree(("a", None), ("b", None)), ["a", "b"]),
    ],
)
def test_the_branch_of_claude_that_a_person_sees(exported: dict[str, Any], shown: list[str]) -> None:
    data = json.dumps([exported]).encode()
    assert [each.content for each in drafts_of(claude.read(pieces(data)))] == shown
    every = drafts_of(claude.read(pieces(data), branches=True))
    assert {each.content for each in every} == {each["uuid"] for each in exported["chat_messages"]}


def test_claude() -> None:
    exported = [
        {
            "uuid": "k-1",
            "name": "Bread",
            "created_at": "2026-01-05T08:00:00.123456Z",
            "chat_messages": [
                {"uuid": "m1", "text": "old form", "sender": "human", "created_at": "2026-01-05T08:00:01Z"},
                {
                    "uuid": "m2",
                    "text": "",
                    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "new form"}],
                    "sender": "assistant",
                    "created_at": "2026-01-05T08:00:02Z",
                },
                {"uuid": "m3", "text": "", "sender": "human", "files": [{"file_name": "a.pdf"}]},
                {"uuid": "m4", "text": "?", "sender": ["human"]},
                "nonsense",
            ],
        },
        7,
        {"uuid": "k-2", "chat_messages": [{"uuid": "m1", "text": "no time", "sender": "human"}]},
    ]
    found = list(claude.read(pieces(json.dumps(exported).encode())))
    assert [(each.role, each.content) for each in drafts_of(found)] == [
        ("user", "old form"),
        ("assistant", "new form"),
    ]
    assert reasons_of(found).keys() == {"no_text", "not_said", "no_message", "invalid_json", "no_time"}


IPHONE = """\u200e[13.01.26, 07:12:33] Flat 4: \u200eMessages and calls are end-to-end encrypted.
[13.01.26, 07:12:33] Ada Lovelace: I'm allergic to nuts
really: badly
[13.01.26, 07:12:40] ~\u202fBob: ok
\u200e[13.01.26, 07:12:41] ~\u202fBob: \u200eimage omitted
[13.01.26, 07:12:42] ~\u202fBob: This message was deleted.
[13.01.26, 07:12:50] Ada Lovelace: bye \u200e<This message was edited>
"""


class TestWhatsApp:
    def read(self, text: str, people: dict[str, str] | None = None, zone: str = "UTC") -> list[Draft | Skipped]:
        data = text.encode()
        found, people = whatsapp.survey(pieces(data)), people or {}
        speaking = found.people(people)
        return list(
            whatsapp.read(pieces(data), people, speaking=speaking, order=found.order(), zone=ZoneInfo(zone))
        )

    def test_the_form_of_iphones(self) -> None:
        found = self.read(IPHONE, {"Ada Lovelace": "ada"}, "Europe/Berlin")
        assert [(each.user_id, each.speaker, each.content) for each in drafts_of(found)] == [
            ("ada", "Ada Lovelace", "I'm allergic to nuts\nreally: badly"),
            ("Bob", "Bob", "ok"),
            ("ada", "Ada Lovelace", "bye"),
        ]
        assert drafts_of(found)[0].sent_at.astimezone(UTC) == datetime(2026, 1, 13, 6, 12, 33, tzinfo=UTC)
        assert [each.reason for each in found if isinstance(each, Skipped)] == ["no_text", "no_text", "deleted"]

    @pytest.mark.parametrize(
        ("line", "hour"),
        [
            ("2026/3/28 下午9:30 - 小明: {}", 21),
            ("28/3/26, 9:30 μ.μ. - Ίρις: {}", 21),
            ("28/3/2569 หลังเที่ยง 9:30 - มาลี: {}", 21),
            ("21:30, 28/3/26 - Nam: {}", 21),
        ],
    )
    def test_dates_and_half_days_of_locales(self, line: str, hour: int) -> None:
        [draft] = drafts_of(self.read(line.format("I ski.") + "\n"))
        assert (draft.content, draft.sent_at.date().isoformat()) == ("I ski.", "2026-03-28")
        assert draft.sent_at.hour == hour

    @pytest.mark.parametrize(
        "notice",
        [
            'Ann created group "Trip: Rome"',
            "Ann hat den Betreff von „Urlaub: Rom“ zu „Urlaub: Bari“ geändert.",
            "Ann pinned a message: see above",
        ],
    )
    def test_notices_with_a_colon_make_no_people(self, notice: str) -> None:
        said = "28/03/2026, 21:30 - {}\n"
        found = self.read(said.format("Ann: hi") + said.format(notice) + said.format("Ann Lee: hello"))
        assert [each.user_id for each in drafts_of(found)] == ["Ann", "Ann Lee"]
        assert reasons_of(found).keys() == {"notice"}

    @pytest.mark.parametrize(
        ("typed", "left"),
        [
            ("<Médias omis>", ""),
            ("Diese Nachricht wurde gelöscht.", ""),
            ("POLL:\nWhere to?\nOPTION: Rome (2 votes)", ""),
            ("see report.pdf (the new one)", "see report.pdf (the new one)"),
        ],
    )
    def test_placeholders_are_no_speech(self, typed: str, left: str) -> None:
        found = self.read(f"28/03/2026, 21:30 - Ann: {typed}\n")
        assert [each.content for each in drafts_of(found)] == ([left] if left else [])


def test_lines_of_messages() -> None:
    good = {"role": "user", "content": "hi", "sent_at": "2026-01-05T08:00:00Z"}
    whole = good | {"message_id": "m-1", "conversation_id": "c-1", "user_id": "bea", "metadata": {"a": 1}}
    rows = [
        json.dumps(whole).encode(),
        b"",
        b"{broken",
        json.dumps({"type": "summary", "summary": {}}).encode(),
        json.dumps(good | {"conversation_id": "c-2"}).encode(),
        json.dumps(good | {"conversation_id": "c-2"}).encode(),
        json.dumps(good | {"role": "robot"}).encode(),
        json.dumps(whole | {"sent_at": "2026-01-05"}).encode(),
        json.dumps(good).encode(),
        b'{"x":' * 100_000,
        b'"' + b"x" * (5 << 20) + b'"',
        json.dumps(whole | {"message_id": "m-2"}).encode(),
    ]
    first = pieces(b"\xef\xbb\xbf" + b"\r\n".join(rows[:10]), 3)
    found = list(jsonl.read(first, met=Repeats().met, user_id="ada"))
    found += list(jsonl.read([b"\n" * 10 + b"\n".join(rows[10:])], met=Repeats().met, user_id="ada"))
    drafts = drafts_of(found)
    assert [(each.message, each.user_id) for each in (drafts[0], drafts[-1])] == [
        ("m-1", "bea"),
        ("m-2", "bea"),
    ]
    assert len({each.message for each in drafts}) == len(drafts) == 4
    broken = [(each.where, each.reason) for each in found if isinstance(each, Skipped)]
    assert broken == [
        ("line 3", "invalid_json"),
        ("line 4", "not_a_message"),
        ("line 7", "invalid_field"),
        ("line 8", "invalid_field"),
        ("line 9", "missing_field"),
        ("line 10", "invalid_json"),
        ("line 11", "line_too_long"),
    ]


class TestMessages:
    def test_ids_are_stable_and_of_one_person(self) -> None:
        [draft, *_] = drafts_of(chatgpt.read([json.dumps([TREE]).encode()]))
        one = make_message(draft, OWNER, max_content_bytes=65536, now=NOW).message
        again = make_message(draft, OWNER, max_content_bytes=65536, now=NOW).message
        other = make_message(draft, Owner("chatgpt", "bea"), max_content_bytes=65536, now=NOW).message
        tenant = make_message(draft, Owner("chatgpt", "ada", "acme"), max_content_bytes=65536, now=NOW).message
        assert one == again
        assert len({one.conversation_id, other.conversation_id, tenant.conversation_id}) == 3
        assert one.user_id == "ada"
        assert one.metadata == {"title": "Trip", "imported_from": "chatgpt"}

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"content": "x" * 70_000}, "content_too_large"),
            ({"sent_at": datetime(1999, 1, 1, tzinfo=UTC)}, "absurd_time"),
            ({"sent_at": datetime(2027, 1, 1, tzinfo=UTC)}, "absurd_time"),
            ({"user_id": "x" * 300}, "invalid_field"),
            ({"user_id": "a\nb"}, "control_characters"),
            ({"metadata": {"x": "\ud800"}}, "invalid_field"),
        ],
    )
    def test_what_the_services_would_refuse_is_refused_here(self, change: dict[str, Any], reason: str) -> None:
        draft = Draft("line 1", "c", "m", "user", "hi", NOW)  # type: ignore[arg-type]
        with pytest.raises(InvalidRecord) as refused:
            make_message(draft._replace(**change), OWNER, max_content_bytes=65536, now=NOW)
        assert refused.value.reason == reason


def test_a_large_file_is_not_held() -> None:
    one = json.dumps(
        conversation(
            *(node(f"m{i}", f"m{i - 1}", "user", "x" * 2000, 1767600000) for i in range(50)), current="m49"
        )
    )

    def large() -> Iterator[bytes]:
        yield b"["
        for _ in range(50):  # 5 MB
            yield one.encode() + b","
        yield b"{}]"

    tracemalloc.start()
    assert sum(1 for each in chatgpt.read(large()) if isinstance(each, Draft)) == 50 * 50
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def chats(**conversations: list[tuple[str, float, str]]) -> Chats:
    held = Chats()
    for conversation, messages in conversations.items():
        for message, at, person in messages:
            held.add("default", conversation, message, person, at)
    return held


FIRST = [("m1", 1.0, "mo"), ("m2", 2.0, "Fay"), ("m3", 3.0, "mo")]


def exported(*numbers: int, fay: str = "Fay") -> list[Exported]:
    return [Exported(f"m{n}", float(n), fay if n == 2 else "Mo") for n in numbers]


def test_an_erased_chat_is_not_continued() -> None:
    held = chats(one=FIRST)
    held.forget("default", "one", "mo")
    assert held.continued("default", exported(2)) == Continued("one", {"Fay": "Fay"})
    held.forget("default", "one")
    assert held.continued("default", exported(1, 2, 3)) is None


async def test_short_lines_by_the_million_are_not_held() -> None:
    """Ten thousand of them are looked at: each in its own conversation, none with an id."""

    def lines() -> Iterator[bytes]:
        for number in range(10_000):
            sent = f"2026-01-05T08:{number // 60 % 60:02}:{number % 60:02}Z"
            yield f'{{"role":"user","content":"ok","sent_at":"{sent}","conversation_id":"{number}"}}\n'.encode()

    counted = Count(lambda _: None)
    importer = Importer(Settings(), Owner("jsonl", "ada"), counted, dry=True, close=True)
    tracemalloc.start()
    await importer.run(lambda: jsonl.read(lines(), met=Repeats().met, user_id="ada"), lambda _: None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (counted.read, len(counted.conversations), counted.skipped) == (10_000, 10_000, {})
    assert peak < 1_200_000
