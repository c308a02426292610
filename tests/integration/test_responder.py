"""Answers and understandings of a model behind a server that speaks its REST API and fails in every way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import pytest
from memo_rig import Rig, rig

from deploy.local import scripted_model
from deploy.local.model_faults import Fault
from models.answers import Dialogue, Ended, Responder, Spoken, Trouble
from models.memo import Outcome
from models.understanding import QuestionAsked
from processors.prompts import answer, understanding
from tests import prompt_examples as examples

pytestmark = pytest.mark.kafka

__all__ = ["rig"]


def dialogue(question: str = "Which city do I live in?", **changes: Any) -> Dialogue:
    items = examples.ANSWER_ITEMS
    asked = items[-1].__class__(
        **{**{n: getattr(items[-1], n) for n in items[-1].__struct_fields__}, "text": question}
    )
    made = answer.prompt([*items[:-1], asked], "q", may_search=True)
    return Dialogue(**{**{n: getattr(made, n) for n in made.__struct_fields__}, "user_id": "mara", **changes})


async def hear(responder: Responder, asked: Dialogue) -> tuple[str, Ended, int]:
    """Return what was said, how it ended, and in how many pieces."""
    pieces = []
    async with aclosing(responder.stream(asked)) as stream:
        async for piece in stream:
            pieces.append(piece)
    *spoken, ended = pieces
    assert isinstance(ended, Ended) and all(isinstance(each, Spoken) for each in spoken)
    return "".join(each.text for each in spoken if isinstance(each, Spoken)), ended, len(spoken)


async def responder(rig: Rig, **changes: Any) -> Responder:
    found = (await rig.chat_models(**changes)).responder
    assert found is not None
    return found


def saying(text: str) -> Any:
    return lambda body: text


async def test_it_comes_in_pieces_and_once_only(rig: Rig) -> None:
    rig.server.scripts.append(saying("You live in Munich [2], and that has been so since January. " * 4))
    text, ended, pieces = await hear(await responder(rig), dialogue())
    assert text.startswith("You live in Munich [2]") and pieces > 3
    assert ended.trouble is None and ended.cost_usd > 0 and ended.input_tokens > 50
    (call,) = rig.server.calls
    assert call.method == "streamGenerateContent"
    assert call.body["tools"][0]["functionDeclarations"][0]["name"] == "search_memory"
    assert "mara" not in json.dumps(call.body), "who asks leaves the machine"
    await rig.empty_redis()
    again, ended, _ = await hear(await responder(rig), dialogue())
    assert (again, ended.cost_usd) == (text, 0.0), "the second time it costs nothing"
    assert rig.server.count() == 1


@pytest.mark.parametrize(
    ("fault", "problem", "words"),
    [
        (Fault.RATE_LIMITED, Trouble.THROTTLED, "429"),
        (Fault.HTML_ERROR, Trouble.DOWN, "502"),
        (Fault.NO_RIGHTS, Trouble.MISCONFIGURED, "GEMINI_API_KEY"),
        (Fault.NO_TEXT, Trouble.EMPTY, "nothing"),
        (Fault.SLOW, Trouble.SLOW, "no answer within"),
    ],
)
async def test_what_goes_wrong_is_said(rig: Rig, fault: Fault, problem: Trouble, words: str) -> None:
    rig.server.scripts.append(saying("A rather long answer, so that it takes a few pieces to say it. " * 3))
    waits = fault in (Fault.SLOW, Fault.STALLED)
    made = await responder(rig, model_timeout_seconds=2.0 if waits else 60.0)
    rig.server.fail(fault)
    text, ended, _ = await hear(made, dialogue())
    assert ended.trouble is not None and ended.trouble.problem is problem, ended
    assert words in ended.trouble.message
    assert bool(text) is (problem is Trouble.CUT)
    assert rig.server.count() == 1, "a call that failed is repeated where nobody sees it"
    if problem not in (Trouble.REFUSED, Trouble.THROTTLED):
        whole, ended, _ = await hear(made, dialogue())
        assert ended.trouble is None and whole.endswith("say it. "), "what was cut counts as answered"


async def test_over_the_budget_nobody_is_asked_and_another_day_is(rig: Rig) -> None:
    text, ended, _ = await hear(await responder(rig, model_budget_usd=0.0), dialogue())
    assert ended.trouble is not None and ended.trouble.problem is Trouble.OVER_BUDGET
    assert (text, rig.server.count()) == ("", 0)
    _, ended, _ = await hear(await responder(rig), dialogue())
    assert ended.trouble is None


async def test_a_reader_who_leaves_pays_only_for_sent_text(rig: Rig) -> None:
    rig.server.scripts.append(saying("word " * 400))
    rig.server.pause_seconds = 0.02
    made = await responder(rig)
    async with aclosing(made.stream(dialogue())) as stream:
        async for _ in stream:
            break
    (memo,) = [memo for _, memo in await rig.memos() if memo is not None]
    assert (memo.outcome, memo.text, memo.user_id) == (Outcome.REFUSED, "", "mara")
    assert 0 < memo.output_tokens < 100 and memo.cost_usd > 0
    rig.server.pause_seconds = 0.0
    _, ended, _ = await hear(made, dialogue())
    assert ended.trouble is None, "half an answer counts as the answer"


# -- understanding -----------------------------------------------------------------------------------------


ASKED = QuestionAsked(
    query="What is her job?",
    user_id="mara",
    tenant_id="default",
    turns=("My sister Anna called.",),
    remembered=("Anna is a nurse", "User likes tea"),
)
READ = {
    "is_ambiguous": False,
    "score": 0.2,
    "reasons": None,
    "possible_interpretations": None,
    "clarifying_questions": [],
    "rewritten_query": "What is Anna's job?",
    "references": [{"words": "her", "meanings": ["Anna"]}, {"words": "nowhere", "meanings": ["x"]}],
    "needed": [2, 99, "3", True],
}


def reading(**changes: Any) -> Any:
    def script(body: Mapping[str, Any]) -> str | None:
        system, _ = scripted_model.texts(body)
        return json.dumps(READ | changes) if understanding.VERSION in system else None

    return script


async def test_all_six_fields_hold_only_what_was_shown(rig: Rig) -> None:
    rig.server.scripts.append(reading())
    understander = (await rig.chat_models()).understander
    found = await understander.understand(ASKED)
    assert found.rewritten_query == "What is Anna's job?"
    assert found.needed_context_from_memory == ("Anna is a nurse",)
    assert [each.words for each in found.references] == ["her"]
    assert found.final_augmented_context == "What is Anna's job?\nKnown: Anna is a nurse"
    await rig.empty_redis()
    assert await (await rig.chat_models()).understander.understand(ASKED) == found
    assert rig.server.count() == 1
    (call,) = rig.server.calls
    assert call.body["generationConfig"]["responseJsonSchema"] == understanding.SCHEMA
