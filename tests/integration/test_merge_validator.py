"""The validator that asks Gemini, against the local model server: once, in one call, nothing made up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from memo_rig import Rig, rig

from models.consolidation import (
    ConsolidationReport,
    ConsolidationStep,
    Decision,
    Likeness,
    MergeCluster,
    MergeQuestion,
)
from models.statements import Kind
from processors.prompts import fence
from streams.agents.memory.consolidation_records import CONSOLIDATION, REPORTS
from streams.agents.memory.merge_validation import MergeValidation
from streams.llm.validator import ModelMergeValidator
from streams.runtime.testing import StageHarness

pytestmark = pytest.mark.kafka

__all__ = ["rig"]

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def cluster(name: str, *statements: str, contradictory: bool = False) -> MergeCluster:
    facts = tuple(
        Likeness(
            fact_id=f"{name}-{n}", statement=text, confidence=0.7, kind=Kind.PREFERENCE, last_evidence_at=NOW
        )
        for n, text in enumerate(statements, 1)
    )
    return MergeCluster(cluster_id=name, facts=facts, contradictory=contradictory)


CLUSTERS = (
    cluster("films", "User likes films", "User likes movies"),
    cluster("fair", "User is going to the fair", "User is not going to the fair", contradictory=True),
)


async def validator(rig: Rig, **changes: Any) -> ModelMergeValidator:
    found = (await rig.readers(merge_validator="gemini", **changes)).validator
    assert isinstance(found, ModelMergeValidator)
    return found


async def follows(rig: Rig, made: ModelMergeValidator) -> list[ConsolidationStep]:
    """Return the steps that follow from what is decided about :data:`CLUSTERS`."""
    stage = StageHarness(MergeValidation(rig.settings, made).stage())
    asked = MergeQuestion(question_id="q-1", user_id="ada", at=NOW, clusters=CLUSTERS)
    await stage.call(stage.record(asked))
    assert stage.dead_letters == []
    return stage.values(CONSOLIDATION, ConsolidationStep)


async def test_all_clusters_are_one_call_and_it_is_made_once(rig: Rig) -> None:
    steps = await follows(rig, await validator(rig))
    assert [(step.step, step.fact_id, step.other_id, step.by) for step in steps] == [
        ("merge", "films-1", "films-2", "gemini-2.5-flash-lite/merging-3")
    ]
    assert await follows(rig, await validator(rig)) == steps, "in a worker that has just started"
    await rig.empty_redis()
    assert await follows(rig, await validator(rig)) == steps
    assert rig.server.count() == 1


async def test_what_it_took_is_reported(rig: Rig) -> None:
    stage = StageHarness(MergeValidation(rig.settings, await validator(rig)).stage())
    await stage.call(stage.record(MergeQuestion(question_id="q-1", user_id="ada", at=NOW, clusters=CLUSTERS)))
    (report,) = stage.values(REPORTS, ConsolidationReport)
    ((_, memo),) = await rig.memos()
    assert memo is not None
    assert (report.calls, report.cost_usd, report.asked) == (1, memo.cost_usd, 2)
    assert report.cost_usd > 0


def saying(*clusters: Mapping[str, Any]) -> str:
    return json.dumps({"clusters": [dict(each) for each in clusters]})


def one(number: Any, decision: str, facts: Sequence[Any]) -> dict[str, Any]:
    return {"cluster": number, "decision": decision, "facts": list(facts)}


LIES = {
    "a cluster that nobody asked about": saying(one(3, "MERGE", (1, 2))),
    "a fact that is in none": saying(one(1, "MERGE", (1, 7))),
    "ids instead of numbers": saying(one("films", "MERGE", ("films-1", "films-2"))),
    "a fact of another cluster": saying(one(1, "MERGE", ("films-1", "fair-1"))),
    "one fact twice": saying(one(1, "MERGE", (1, 1))),
    "two things about one cluster": saying(one(1, "MERGE", (1, 2)), one(1, "CONTRADICTION", (1, 2))),
    "a decision that there is not": saying(one(1, "ERASE", (1, 2))),
    "a contradiction merged": saying(one(2, "MERGE", (1, 2))),
    "nothing": saying(),
    "no json": "MERGE all of them",
    "null": '{"clusters": null}',
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_a_model_that_lies_about_ids_writes_nothing(rig: Rig, lie: str) -> None:
    rig.server.scripts.append(lambda body: lie)
    assert await follows(rig, await validator(rig)) == []
    assert rig.server.count() == 1


async def test_a_contradiction_that_a_model_takes_back(rig: Rig) -> None:
    rig.server.scripts.append(lambda body: saying(one(2, Decision.KEEP_BOTH, (1, 2))))
    (step,) = await follows(rig, await validator(rig))
    assert (step.step, step.fact_id, step.other_id) == ("keep", "fair-1", "fair-2")


async def test_what_is_shown_has_no_ids(rig: Rig) -> None:
    await follows(rig, await validator(rig))
    (call,) = [call for call in rig.server.calls if call.method == "generateContent"]
    sent = json.dumps(call.body)
    assert "films-1" not in sent and "ada" not in sent
    shown = fence.opened("".join(part["text"] for part in call.body["contents"][0]["parts"]))
    assert [each.get("denied", False) for each in shown] == [False, False, True, True]


async def test_over_the_budget_everything_stays(rig: Rig) -> None:
    assert await follows(rig, await validator(rig, model_budget_usd=0)) == []
    assert rig.server.count() == 0
