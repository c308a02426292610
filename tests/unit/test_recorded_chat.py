"""Recorded answers to every other prompt about one chat of the Notebook: read whole; a weak model's are not."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from benchmarks.notebook.labels import HERE
from benchmarks.notebook.recorded import recordings
from models.summaries import SessionSummary
from models.understanding import QuestionAsked
from processors.prompts import summary, understanding
from tests import prompt_examples as examples

CHAT: dict[str, Any] = json.loads((HERE / "chat.json").read_text(encoding="utf-8"))
WINDOW = dict(recordings())[CHAT["conversation_id"]].window
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


def test_a_summary_is_kept_whole() -> None:
    assert msgspec.to_builtins(summary.read(said("summary"), REQUEST)) == {
        "profile": {each: (*told,) for each, told in CHAT["summary"]["answer"]["profile"].items()},
        **{each: (*told,) for each, told in CHAT["summary"]["answer"].items() if each != "profile"},
    }


@mistakes("summary")
def test_an_unsaid_sentence_is_left_out_of_a_summary(name: str) -> None:
    assert summary.read(mistake("summary", name), REQUEST) == SessionSummary()


def test_a_question_is_understood() -> None:
    found = understanding.read(said("understanding"), ASKED)
    assert found is not None and found.rewritten_query == CHAT["understanding"]["answer"]["rewritten_query"]
    assert found.needed_context_from_memory == ASKED.remembered[:2]
    assert len(found.references) == 3


@mistakes("understanding")
def test_no_understanding_is_taken_for_one(name: str) -> None:
    assert understanding.read(mistake("understanding", name), ASKED) is None
