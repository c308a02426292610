"""memory/merge-validation: whether facts that are near each other say the same, where no rule can tell.

What somebody decides becomes steps on ``memory.consolidation.v1``, which the facts stage does if its own rules
allow it; a report says what it was, and what it took.  All clusters of a person are one call; several people's
are asked about at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from models import ids
from models.consolidation import (
    ConsolidationReport,
    Decision,
    FactPair,
    MergeCluster,
    MergeQuestion,
    Step,
)
from models.errors import InvalidRecord
from models.ports import MergeValidator, MergeVerdict, Validated
from models.vectors import Saying
from processors.text.validation import decode
from streams.agents.emitting import emit
from streams.agents.memory.consolidation_records import QUESTIONS, step_about
from streams.agents.tenants import tenant_of
from streams.clients.records import RecordBatch
from streams.config.settings import Settings
from streams.llm.tenant_turns import TenantTurns
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader

_STEPS = {
    Decision.MERGE: Step.MERGE,
    Decision.CONTRADICTION: Step.CONTRADICTION,
    Decision.SUPERSEDES: Step.REPLACES,
}


class MergeValidation:
    """The step around a validator."""

    def __init__(self, settings: Settings, validator: MergeValidator) -> None:
        self._settings = settings
        self._validator = validator
        self._calls = TenantTurns(settings.calls_in_flight)

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="merge-validation",
            sources=(QUESTIONS,),
            async_step=self.step,
            batch_records=self._settings.call_batch_records,
            tenant_of=tenant_of,
            decided_by={"merge_validator": self._validator.name},
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Have the batch's questions answered, some at a time; write what follows in their order."""
        effects = Effects()
        questions: list[MergeQuestion] = []
        for record in batch.records:
            try:
                questions.append(decode(MergeQuestion, record.value))
            except InvalidRecord as error:
                effects.dead_letter(record, error)
        try:
            async with asyncio.TaskGroup() as group:
                answers = [group.create_task(self._answer(question)) for question in questions]
        except ExceptionGroup as failed:
            # As itself: the runtime waits for a dependency, and takes any other error for a bad record.
            raise failed.exceptions[0] from None
        for question, answer in zip(questions, answers, strict=True):
            self._follow(question, answer.result(), effects)
        return effects

    async def _answer(self, question: MergeQuestion) -> Validated:
        async with self._calls.turn(question.tenant_id):
            return await self._validator.validate(question.user_id, question.tenant_id, question.clusters)

    def _follow(self, question: MergeQuestion, answer: Validated, effects: Effects) -> None:
        clusters = {cluster.cluster_id: cluster for cluster in question.clusters}
        by = answer.by or self._validator.name
        done: dict[Step, list[FactPair]] = {step: [] for step in (*_STEPS.values(), Step.KEEP)}
        for verdict in answer.verdicts:
            # Each cluster once: of two verdicts about one the first counts.
            cluster = clusters.pop(verdict.cluster_id, None)
            step = _STEPS.get(verdict.decision)
            if cluster is not None and cluster.contradictory and step is not Step.REPLACES:
                # It was decided already: only what takes it back, or says which it is, is news.
                step = Step.KEEP if verdict.decision is Decision.KEEP_BOTH else None
            if cluster is None:
                effects.count("skipped_records_total", "merge-validation", "not_asked")
                continue
            said = _said_last(cluster, verdict) if step is Step.REPLACES else None
            if step is Step.REPLACES and said is None:
                continue
            for pair in _pairs(cluster, verdict):
                about = partial(step_about, at=question.at, occasion=(question.at.isoformat(),), by=by)
                if cluster.contradictory and step is Step.REPLACES:
                    emit(effects, about(Step.KEEP, question, pair.fact_id, pair.other_id))
                if step is not None:
                    emit(effects, about(step, question, pair.fact_id, pair.other_id, saying=said))
                if step is not None or verdict.decision is Decision.KEEP_BOTH:
                    done[step or Step.KEEP].append(pair)
        report = ConsolidationReport(
            report_id=ids.deterministic_id("report", question.question_id),
            user_id=question.user_id,
            tenant_id=question.tenant_id,
            at=question.at,
            by=by,
            facts=len({fact.fact_id for cluster in question.clusters for fact in cluster.facts}),
            changed=0,
            merged=tuple(done[Step.MERGE]),
            contradicted=tuple(done[Step.CONTRADICTION]),
            kept=tuple(done[Step.KEEP]),
            superseded=tuple(done[Step.REPLACES]),
            asked=len(question.clusters),
            calls=answer.calls,
            cost_usd=answer.cost_usd,
        )
        emit(effects, report)


def _pairs(cluster: MergeCluster, verdict: MergeVerdict) -> Iterator[FactPair]:
    """Yield the surest fact of a verdict, or what holds now, with each of the others."""
    named = [fact.fact_id for fact in cluster.facts if not verdict.fact_ids or fact.fact_id in verdict.fact_ids]
    first = verdict.fact_ids[0] if verdict.decision is Decision.SUPERSEDES else next(iter(named), "")
    for other_id in named:
        if other_id != first:
            yield FactPair(first, other_id)


def _said_last(cluster: MergeCluster, verdict: MergeVerdict) -> Saying | None:
    """Return where the fact was said that is to hold now; ``None`` if another of them was said later."""
    named = {fact.fact_id: fact.said for fact in cluster.facts if fact.fact_id in verdict.fact_ids}
    if len(named) < 2 or len(named) != len({*verdict.fact_ids}):
        return None
    first, *others = (named[fact_id] for fact_id in dict.fromkeys(verdict.fact_ids))
    if first is None or any(each is None or each.sent_at >= first.sent_at for each in others):
        return None
    return first
