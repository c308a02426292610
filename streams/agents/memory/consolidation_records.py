"""Records of consolidation: steps, and questions that no rule decides."""

from __future__ import annotations

from datetime import datetime

from models import ids
from models.consolidation import ConsolidationStep, MergeCluster, MergeQuestion, Step
from processors.facts.merging.plan import Pair
from streams.agents.emitting import emit
from streams.agents.memory.fact_vectors import Person
from streams.runtime.effects import Effects

CONSOLIDATION = "memory.consolidation.v1"
QUESTIONS = "memory.merge-questions.v1"
REPORTS = "memory.consolidation-reports.v1"


def ask(person: Person, at: datetime, by: str, effects: Effects, *, dry_run: bool = False) -> None:
    """Write that a person's facts are to be looked at."""
    step = ConsolidationStep(
        step_id=ids.deterministic_id(
            "consolidate", person.tenant_id, person.user_id, by, at.isoformat(), int(dry_run)
        ),
        step=Step.CONSOLIDATE,
        at=at,
        by=by,
        user_id=person.user_id,
        dry_run=dry_run,
        tenant_id=person.tenant_id,
    )
    emit(effects, step)


def step_about(pair: Pair, kind: Step, asked: ConsolidationStep, at: datetime) -> ConsolidationStep:
    """Return the rules' step about two facts."""
    return ConsolidationStep(
        step_id=ids.deterministic_id("step", kind, pair.fact_id, pair.other_id, at.isoformat()),
        step=kind,
        at=at,
        by="rules",
        user_id=asked.user_id,
        fact_id=pair.fact_id,
        other_id=pair.other_id,
        similarity=round(pair.similarity, 4),
        tenant_id=asked.tenant_id,
    )


def emit_question(
    step: ConsolidationStep, at: datetime, clusters: tuple[MergeCluster, ...], effects: Effects
) -> None:
    """Ask about clusters of one person's facts."""
    question = MergeQuestion(
        question_id=ids.deterministic_id("merge-question", step.step_id),
        user_id=step.user_id,
        tenant_id=step.tenant_id,
        at=at,
        clusters=clusters,
    )
    emit(effects, question)
