"""Records of consolidation: steps, and questions that no rule decides."""

from __future__ import annotations

from datetime import datetime

from models import ids
from models.consolidation import ConsolidationStep, MergeCluster, MergeQuestion, Step
from models.facts import Fact, Provenance
from models.vectors import Saying
from processors.facts.evidence import latest
from streams.agents.emitting import emit
from streams.agents.memory.fact_store import Owned
from streams.runtime.effects import Effects

CONSOLIDATION = "memory.consolidation.v1"
QUESTIONS = "memory.merge-questions.v1"
REPORTS = "memory.consolidation-reports.v1"


def ask(person: Owned, at: datetime, by: str, effects: Effects, *, dry_run: bool = False) -> None:
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


def step_about(
    step: Step,
    whose: Owned,
    fact_id: str,
    other_id: str = "",
    *,
    at: datetime,
    occasion: tuple[str, ...] = (),
    by: str = "rules",
    similarity: float | None = None,
    saying: Saying | None = None,
) -> ConsolidationStep:
    """Return a step about one or two facts; ``occasion`` tells it from others of its kind about the same."""
    about = (fact_id, other_id) if other_id else (fact_id,)
    return ConsolidationStep(
        step_id=ids.deterministic_id("step", step, *about, *occasion),
        step=step,
        at=at,
        by=by,
        user_id=whose.user_id,
        fact_id=fact_id,
        other_id=other_id,
        similarity=None if similarity is None else round(similarity, 4),
        saying=saying,
        tenant_id=whose.tenant_id,
    )


def emit_end(
    effects: Effects,
    newer: Fact,
    older: Fact,
    evidence: Provenance,
    step: Step,
    similarity: float | None = None,
    by: str = "",
) -> None:
    """Write the step that ends ``older`` at the time when ``evidence`` for ``newer`` was said."""
    said = Saying(
        conversation_id=evidence.conversation_id, sent_at=evidence.sent_at, arrived_at=evidence.arrived_at
    )
    found = step_about(
        step,
        newer,
        newer.fact_id,
        older.fact_id,
        at=max(evidence.arrived_at, latest(older).arrived_at),
        occasion=(evidence.conversation_id, evidence.sent_at.isoformat()),
        by=by or ("rules" if similarity is None else "endings"),
        similarity=similarity,
        saying=said,
    )
    emit(effects, found)


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
