"""Recorded answers to every other prompt about one chat of the Notebook: read whole; a weak model's are not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from benchmarks.notebook.labels import HERE
from benchmarks.notebook.recorded import recordings
from models.answers import AnswerItem
from models.consolidation import Decision, Likeness, MergeCluster
from models.context import FoundBy, Tier
from models.messages import Role
from models.statements import Kind
from models.summaries import SessionSummary
from models.understanding import QuestionAsked
from processors.prompts import answer, examples, graph, merging, summary, understanding

CHAT: dict[str, Any] = json.loads((HERE / "chat.json").read_text(encoding="utf-8"))
WINDOW = dict(recordings())[CHAT["conversation_id"]].window
AT = datetime(2026, 7, 12, tzinfo=UTC)
REQUEST = msgspec.structs.replace(examples.summary_request(), user_id=WINDOW.user_id, messages=WINDOW.messages)
ASKED = QuestionAsked(
    query=CHAT["understanding"]["query"],
    user_id="mirek",
    tenant_id="default",
    turns=tuple(CHAT["understanding"]["turns"]),
    speakers=tuple(CHAT["understanding"]["speakers"]),
    remembered=tuple(CHAT["understanding"]["known"]),
)


def said(prompt: str) -> str:
    return json.dumps(CHAT[prompt]["answer"], ensure_ascii=False)


def mistakes(prompt: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", CHAT[prompt]["mistakes"])


def mistake(prompt: str, name: str) -> str:
    return json.dumps(CHAT[prompt]["mistakes"][name], ensure_ascii=False)


def clusters() -> list[MergeCluster]:
    return [
        MergeCluster(
            cluster_id=f"c-{number}",
            facts=tuple(
                Likeness(
                    fact_id=f"f-{number}-{n}",
                    statement=text,
                    confidence=0.9,
                    kind=Kind.STATE,
                    last_evidence_at=AT + timedelta(days=n),
                )
                for n, text in enumerate(texts)
            ),
        )
        for number, texts in enumerate(CHAT["merging"]["clusters"])
    ]


def test_a_summary_is_kept_whole() -> None:
    assert msgspec.to_builtins(summary.read(said("summary"), REQUEST)) == {
        "profile": {each: (*told,) for each, told in CHAT["summary"]["answer"]["profile"].items()},
        **{each: (*told,) for each, told in CHAT["summary"]["answer"].items() if each != "profile"},
    }


@mistakes("summary")
def test_a_sentence_that_nobody_said_is_left_out_of_a_summary(name: str) -> None:
    assert summary.read(mistake("summary", name), REQUEST) == SessionSummary()


def test_relations_are_kept() -> None:
    read = graph.read(json.dumps({"relations": CHAT["relations"]["answer"]}), WINDOW)
    assert (len(read.statements), read.dropped) == (2, ())
    assert [each.ended for each in read.statements] == [False, True]


@mistakes("relations")
def test_a_relation_that_nobody_told_is_dropped(name: str) -> None:
    read = graph.read(json.dumps({"relations": [CHAT["relations"]["mistakes"][name]]}), WINDOW)
    assert (len(read.statements), len(read.dropped)) == (0, 1)


def test_a_question_is_understood() -> None:
    found = understanding.read(said("understanding"), ASKED)
    assert found is not None and found.rewritten_query == CHAT["understanding"]["answer"]["rewritten_query"]
    assert found.needed_context_from_memory == ASKED.remembered[:2]
    assert len(found.references) == 3


@mistakes("understanding")
def test_no_understanding_is_taken_for_one(name: str) -> None:
    assert understanding.read(mistake("understanding", name), ASKED) is None


def test_an_answer_names_what_was_in_front_of_the_model() -> None:
    recorded = CHAT["answer"]
    items = [
        AnswerItem(
            tier=Tier(tier),
            id=f"i-{n}",
            text=text,
            tokens=20,
            found_by=FoundBy.KIND if tier == "facts" else FoundBy.RECENT,
            n=n,
            role=Role(role) if role else None,
            at=AT,
        )
        for n, (tier, text, role) in enumerate(recorded["records"], 1)
    ]
    shown = answer.prompt(items, "i-5", may_search=False).user
    assert all(text in shown for _, text, _ in recorded["records"])
    numbers = {each.n for each in items}
    assert answer.cited(recorded["text"]) == set(recorded["cites"]) <= numbers
    for wrong in recorded["mistakes"].values():
        assert not answer.cited(wrong) & numbers


def test_merges_are_decided() -> None:
    found = merging.read(said("merging"), clusters())
    assert [each.decision for each in found] == [Decision.SUPERSEDES, Decision.KEEP_BOTH, Decision.KEEP_BOTH]
    assert found[0].fact_ids == ("f-0-1", "f-0-0")


@mistakes("merging")
def test_a_verdict_on_nothing_is_none(name: str) -> None:
    assert merging.read(mistake("merging", name), clusters()) == ()
