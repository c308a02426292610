"""Records of consolidation: steps, questions that no rule decides, and reports of what was found."""

from __future__ import annotations

from datetime import datetime

import msgspec

from models import ids
from models.consolidation import ConsolidationReport, ConsolidationStep, MergeCluster, MergeQuestion, Step
from processors.facts.merging.plan import Pair
from streams.agents.memory.fact_vectors import Person
from streams.clients import cloudevents
from streams.runtime.effects import Effects

CONSOLIDATION = "memory.consolidation.v1"
QUESTIONS = "memory.merge-questions.v1"
REPORTS = "memory.consolidation-reports.v1"

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/memory"


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
    emit_step(step, effects)


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


def emit_step(step: ConsolidationStep, effects: Effects) -> None:
    """Write a step where it is read."""
    headers = cloudevents.outgoing("memory.consolidation.v1", _SOURCE, step.step_id, subject=step.user_id)
    effects.emit(CONSOLIDATION, step.step_id.encode(), _encode(step), headers, route=step.user_id.encode())


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
    headers = cloudevents.outgoing(
        "memory.merge-question.v1", _SOURCE, question.question_id, subject=step.user_id
    )
    effects.emit(
        QUESTIONS, question.question_id.encode(), _encode(question), headers, route=step.user_id.encode()
    )


def emit_report(report: ConsolidationReport, effects: Effects) -> None:
    """Write what was found, and what follows."""
    headers = cloudevents.outgoing(
        "memory.consolidation-report.v1", _SOURCE, report.report_id, subject=report.user_id
    )
    effects.emit(REPORTS, report.report_id.encode(), _encode(report), headers, route=report.user_id.encode())
