"""The validator that asks Gemini, against the local model server: once, in one call, nothing made up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from memo_rig import Rig, rig

from models.consolidation import (
    ConsolidationStep,
    Likeness,
    MergeCluster,
    MergeQuestion,
)
from models.statements import Kind
from processors.prompts import fence
from streams.agents.memory.consolidation_records import CONSOLIDATION
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
