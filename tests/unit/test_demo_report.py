"""What the demo prints, and what it makes of the topics."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from deploy.local import demo_report
from deploy.local.demo_watch import View
from models.facts import Fact, FactChange, FactStatus, Provenance
from models.messages import ChatMessage, Role
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.statements import Kind
from streams.runtime.records import Record

NOW = datetime(2026, 1, 5, tzinfo=UTC)

MESSAGE = ChatMessage(
    message_id="m-1", conversation_id="c-1", user_id="amara", role=Role.USER, content="hello", sent_at=NOW
)


def fact(statement: str, user: str = "amara", **changes: object) -> Fact:
    source = Provenance(
        conversation_id="c-1",
        window_id="w-1",
        window_end_id="m-9",
        message_ids=("m-1",),
        quote=f"quote of {statement}\nin two messages",
        topic="chat.messages.v1",
        partition=0,
        offsets=(0,),
        sent_at=datetime(2026, 3, 1, tzinfo=UTC),
        arrived_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    made = Fact(
        fact_id=f"{user}-{statement}",
        slot_id="s-1",
        user_id=user,
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=0.9,
        status=FactStatus.ACTIVE,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(source,),
        valid_from=NOW,
        learned_at=NOW,
        changed_at=NOW,
        last_evidence_at=NOW,
    )
    return msgspec.structs.replace(made, **changes)


def view_of(*facts: Fact, people: tuple[str, ...] = ("amara",)) -> View:
    messages = [msgspec.structs.replace(MESSAGE, user_id=person) for person in people]
    view = View(messages, "r-1")
    for one in facts:
        view.take(Record(msgspec.json.encode(one), one.fact_id.encode()), "memory.facts.v1")
    return view


def test_a_fact_is_shown_with_its_sentence_and_day(capsys: pytest.CaptureFixture[str]) -> None:
    view = view_of(fact("likes tea", "yuki"), fact("likes oats"), people=("amara", "yuki"))
    demo_report.print_facts(view, "yuki")
    out = capsys.readouterr().out
    assert out.index("yuki: 1 fact") < out.index("likes tea") < out.index("amara: 1 fact")
    assert "likes oats “quote of likes oats … in two messages” (c-1, 01 Mar 2026)" in out


def test_a_quotation_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    known = fact("Any pets? – A cat.")
    source = msgspec.structs.replace(known.provenance[0], quote="A cat.")
    demo_report.print_facts(view_of(msgspec.structs.replace(known, provenance=(source,))))
    assert "  Any pets? – “A cat.” (c-1" in capsys.readouterr().out


def test_the_most_important_facts_that_hold_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    gone = fact("hates tea", status=FactStatus.MERGED_INTO)
    many = [fact(f"likes number {n:02}") for n in range(15)]
    demo_report.print_facts(view_of(gone, *many, fact("allergic to nuts", importance=3)))
    out = capsys.readouterr().out
    assert "hates tea" not in out
    assert "amara: 16 facts" in out
    assert out.count("likes number") // 2 == 11
    assert out.index("allergic to nuts") < out.index("likes number")


def test_what_changed_names_what_took_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    munich = fact("lives in Munich")
    ends = {"valid_to": datetime(2026, 3, 18, tzinfo=UTC), "superseded_by": munich.fact_id}
    berlin = fact("lives in Berlin", status=FactStatus.SUPERSEDED, **ends)
    espresso = fact("likes espresso", status=FactStatus.ENDED, valid_to=datetime(2026, 3, 18, tzinfo=UTC))
    demo_report.print_changes(view_of(espresso, berlin, munich))
    out = capsys.readouterr().out
    assert "lives in Berlin (superseded, 05 Jan to 18 Mar 2026), then: lives in Munich" in out
    assert out.index("lives in Berlin") < out.index("likes espresso (ended, 05 Jan to 18 Mar 2026)\n")


def test_where_nothing_changed_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    demo_report.print_changes(view_of(fact("likes tea")))
    assert capsys.readouterr().out == ""


def test_nothing_known_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    demo_report.print_facts(view_of())
    assert "Nothing" in capsys.readouterr().out


def test_repetitions_are_struck_where_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Buy bread today. Then rest. Buy bread today. Good night."
    event = ContentDuplicationEvent(
        event_id="e-1",
        session_id="s-1",
        response_id="r-1",
        timestamp=NOW,
        duplicate_sentence="Buy bread today.",
        similar_sentence="Buy bread today.",
        similarity_score=1.0,
        position_in_response=28,
    )
    demo_report.print_response(text, [event])
    out = capsys.readouterr().out
    assert "with 1 repetition struck out" in out
    assert "Buy bread today. Then rest. ~~Buy bread today.~~ Good night." in out


def test_rates_of_a_run_that_had_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    demo_report.print_rates(demo_report.Rates(0, 515, 0.0, 0, 0, 0, 0, 3.2))
    out = capsys.readouterr().out
    assert "0 messages, 515 were there already" in out
    assert "0 windows, 0 episodes, 0 facts, 0 summaries" in out


def test_many_people_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    people = tuple(f"person-{n:02}" for n in range(12))
    demo_report.print_facts(view_of(*(fact("likes oats", person) for person in people), people=people))
    out = capsys.readouterr().out
    assert "person-09: 1 fact" in out
    assert "person-10" not in out
    assert "and 2 more people" in out


def test_progress_in_a_pipe_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    progress = demo_report.Progress()
    for number in range(1000):
        progress.update(f"sent {number}")
    progress.say("done")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sent 0"
    assert lines[-1] == "done"
    assert len(lines) < 20
    assert not any("\x1b" in line for line in lines)


def test_the_view_keeps_the_latest_version_and_forgets_what_was_erased() -> None:
    view = view_of(fact("likes oats"))
    view.take(
        Record(msgspec.json.encode(fact("likes oats", version=2)), b"amara-likes oats"), "memory.facts.v1"
    )
    assert [known.version for known in view.known] == [2]
    view.take(Record(None, b"amara-likes oats"), "memory.facts.v1")
    assert view.known == []


def test_the_view_ignores_strangers_and_what_it_cannot_decode() -> None:
    view = view_of(fact("likes oats", "stranger"))
    topics = ("chat.messages.v1", "memory.windows.v1", "memory.episodes.v1", "memory.facts.v1")
    for topic in (*topics, "chat.responses.v1"):
        view.take(Record(b"\xff nonsense"), topic)
        view.take(Record(b"{}"), topic)
    other = msgspec.structs.replace(MESSAGE, conversation_id="c-9")
    view.take(Record(msgspec.json.encode(other)), "chat.messages.v1")
    assert (view.known, view.messages) == ([], set())
    view.take(Record(msgspec.json.encode(MESSAGE)), "chat.messages.v1")
    assert view.messages == {("c-1", "m-1")}


def test_a_response_is_complete_with_its_final_chunk() -> None:
    view = view_of()
    for number, final in enumerate((False, True)):
        assert not view.response_is_complete
        chunk = ResponseChunk(response_id="r-1", conversation_id="c-1", sequence=number, text="x", final=final)
        view.take(Record(msgspec.json.encode(chunk)), "chat.responses.v1")
    assert view.response_is_complete
