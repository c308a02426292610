"""memory/facts, what it does about facts that say the same (requirement 3.4).

Vectors of facts come by ``memory.embeddings.v1``: a vector that is new says that its fact changed.  When
somebody says so on ``memory.consolidation.v1`` (a schedule or a command), what changed of a person is compared
with the rest (:mod:`processors.facts.merging.plan`).  What follows is written to the same topic first, a step
for each two facts, and done when it is read there: so it depends on the log alone, and a crash leaves no merge
half done.  What no rule decides is asked on ``memory.merge-questions.v1``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from models import ids
from models.consolidation import (
    ConsolidationReport,
    ConsolidationStep,
    FactPair,
    Step,
)
from models.facts import FactCandidate, FactStatus
from models.vectors import EmbeddingResult, VectorKind
from processors.extraction.policies.never import texts_of
from processors.facts.confidence import FOREVER, active_until
from processors.facts.merging.plan import Known, plan
from processors.facts.merging.support import is_faint, supported
from streams.agents.emitting import emit
from streams.agents.memory import ending, passing, recurring, sentence_vectors, steps
from streams.agents.memory.consolidation_records import ask, emit_question, step_about
from streams.agents.memory.extraction import emit_candidate
from streams.agents.memory.fact_store import FactStore
from streams.agents.memory.fact_vectors import (
    PERSON,
    PERSON_SUFFIX,
    SPOKEN,
    VECTOR,
    Arrived,
    Person,
    Spoken,
    Vector,
    changed_people,
    known,
    listed,
    looked_at,
    person_key,
    said_by,
    spoken_key,
    to_look_at,
    vector_key,
    with_changed,
    with_said,
)
from streams.agents.policy_stamping import PolicyStamps
from streams.clients.policies.known import Policies
from streams.clients.records import SourceRecord
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.keyed import Work
from streams.runtime.stage import TimerContext

#: So many changed facts of a person do not wait for the schedule.
CHANGED_LIMIT = 1_000

#: So many pairs of facts are compared at a time, if all of them are near: half a minute of a slow core.
PAIRS_LIMIT = 3_000_000

#: Nor do so many turns.
SAID_LIMIT = 256

#: Hexadecimal digits of a person's key, a hash, that say when it is their turn, and how many numbers they make.
_DIGITS, _SHARES = 8, 0x1_0000_0000


#: The key under which a vector of a kind is kept, and its codec.
_KEPT: Mapping[VectorKind, tuple[Callable[[str], bytes], Codec[Any]]] = {
    VectorKind.FACT: (vector_key, VECTOR),
    VectorKind.TURN: (spoken_key, SPOKEN),
    VectorKind.SENTENCE: (sentence_vectors.sentence_key, sentence_vectors.SENTENCE),
}


class Consolidating:
    """Handlers of vectors and consolidation steps in the facts stage."""

    def __init__(self, settings: Settings, policies: Policies, stamps: PolicyStamps) -> None:
        self._policies = policies
        self._stamps = stamps
        self._near_from = settings.merge_similarity
        self._support_from = settings.support_similarity
        self._recur_from = settings.recurring_fact_similarity
        self._rates = settings.decay_rates
        self._at = settings.consolidation_time
        self._within = timedelta(minutes=settings.consolidate_within_minutes)

    def fold_vector(self, arrived: Arrived, store: FactStore) -> None:
        """Keep a vector: a fact's, which changed; that of a turn or sentence until somebody looks at it."""
        kind, thing_id, result = arrived
        if result is None:
            self._forget(kind, thing_id, store)
        elif kind is VectorKind.FACT:
            self._fold_fact(thing_id, result, store)
        elif kind is VectorKind.TURN:
            self._fold_turn(thing_id, result, store)
        elif kind is VectorKind.SENTENCE:
            self._fold_sentence(thing_id, result, store)

    @staticmethod
    def _forget(kind: VectorKind, thing_id: str, store: FactStore) -> None:
        if kind in _KEPT:
            key_of_kind, codec = _KEPT[kind]
            if store.work.get(key_of_kind(thing_id), codec) is not None:
                store.work.remove(key_of_kind(thing_id))
        if kind is VectorKind.TURN:
            sentence_vectors.forget_turn(thing_id, store.partition, store.work)

    def _fold_fact(self, fact_id: str, result: EmbeddingResult, store: FactStore) -> None:
        work = store.work
        before = work.get(vector_key(fact_id), VECTOR)
        new = Vector(result.model, result.dimensions, result.text_hash, result.vector)
        if before is not None and (before.model, before.text_hash) == (new.model, new.text_hash):
            work.skip("replayed")
            return
        person = _person_of(result, work)
        if before is None:
            ending.compare(fact_id, new, person, store)
            passing.look_ahead(fact_id, person, store)
            person = listed(person, fact_id, work)
        after = with_changed(person, fact_id)
        if len(after.changed) == CHANGED_LIMIT and len(person.changed) < CHANGED_LIMIT:
            ask(person, _moment(store.record), "backlog", work)
        self._wait(msgspec.structs.replace(after, model=result.model), store)
        # Last: that the vector is known says that the person is.
        work.put(vector_key(fact_id), new, VECTOR)

    def _fold_turn(self, turn_id: str, result: EmbeddingResult, store: FactStore) -> None:
        work = store.work
        person = work.get(person_key(result.tenant_id, result.user_id), PERSON)
        if person is None or result.saying is None:
            return  # nothing is known of them that it could bear out
        after = with_said(person, turn_id, work)
        if len(after.said) == SAID_LIMIT and len(person.said) < SAID_LIMIT:
            ask(person, _moment(store.record), "backlog", work)
        self._wait(after, store)
        spoken = Spoken(result.tenant_id, result.user_id, result.model, result.saying, result.vector)
        work.put(spoken_key(turn_id), spoken, SPOKEN, first=True)

    def _fold_sentence(self, sentence_id: str, result: EmbeddingResult, store: FactStore) -> None:
        if not recurring.keep(sentence_id, result, store, is_wanted=self._recur_from < 1.0):
            return
        person = _person_of(result, store.work)
        if not person.told:
            self._wait(msgspec.structs.replace(person, told=True), store)

    def _wait(self, person: Person, store: FactStore) -> None:
        """Store a person of whom there is something to look at, at the next time that the clock says so."""
        soon = self._next(_moment(store.record), person.key)
        due = soon if person.due is None or soon is None else min(person.due, soon)
        store.work.put(person.key, msgspec.structs.replace(person, due=due), PERSON, first=True)
        store.work.wake(person.key, None if due is None else due.timestamp())

    def _next(self, at: datetime, key: bytes) -> datetime | None:
        """Return when what is so ``at`` a time is looked at: the next time that the clock says so (UTC).

        A day's changes of ten thousand people take a core for a quarter of a minute: each has their own time.
        """
        if self._at is None:
            return None
        own = self._within * (int(key[:_DIGITS], 16) / _SHARES)
        due = datetime.combine(at.date() - timedelta(days=1), self._at, UTC) + own
        while due <= at:
            due += timedelta(days=1)
        return due

    @staticmethod
    def on_timer(key: bytes, context: TimerContext, work: Work) -> None:
        """Write into the log that a person's facts are to be looked at."""
        person = work.get(key, PERSON) if key.endswith(PERSON_SUFFIX) else None
        if person is None or person.due is None:
            return
        ask(person, person.due, "schedule", work)
        work.put(key, msgspec.structs.replace(person, due=None), PERSON)

    def fold_step(self, step: ConsolidationStep, store: FactStore) -> None:
        """Do a step, or have a person's facts looked at, or those of everybody of whom something changed."""
        at = _moment(store.record)
        if step.step is not Step.CONSOLIDATE:
            steps.fold(step, store, self._rates)
        elif step.user_id:
            self._consolidate(step, at, store)
        else:
            for person in changed_people(step.tenant_id, store.work):
                ask(person, at, step.by, store.work, dry_run=step.dry_run)

    def _consolidate(self, step: ConsolidationStep, at: datetime, store: FactStore) -> None:
        work = store.work
        person = work.get(person_key(step.tenant_id, step.user_id), PERSON)
        if person is None:
            work.skip("unknown_person")
            person = Person(step.tenant_id, step.user_id, "")
        facts, gone = known(person, store)
        # So many at a time: whatever else is in the partition does not wait for a person of whom more changed.
        most = min(CHANGED_LIMIT, max(1, PAIRS_LIMIT // max(1, len(facts))))
        some, left = to_look_at(person, most, work)
        found = plan(facts, some, self._near_from)
        said = said_by(person, work)
        borne_out = supported(facts, said, self._support_from)
        merged_away = {pair.other_id for pair in found.merges}
        faint = sorted(each.fact.fact_id for each in facts if is_faint(each.fact, at, self._rates))
        policy = self._policies.of(step.tenant_id)
        found_anew, later = list[FactCandidate](), person.told
        if person.told and self._recur_from < 1.0:
            found_anew, later = recurring.found_in(step, at, facts, self._recur_from, store)
            found_anew = [each for each in found_anew if not policy.never_kept.mentioned(texts_of(each))]
        report = ConsolidationReport(
            report_id=ids.deterministic_id("report", step.step_id),
            user_id=step.user_id,
            tenant_id=step.tenant_id,
            at=at,
            by=step.by,
            facts=len(facts),
            changed=len(some),
            merged=tuple(FactPair(pair.fact_id, pair.other_id) for pair in found.merges),
            contradicted=tuple(FactPair(pair.fact_id, pair.other_id) for pair in found.contradictions),
            asked=len(found.questions),
            said=len(said),
            supported=tuple(FactPair(each.fact_id, each.said.turn_id) for each in borne_out),
            deprecated=tuple(sorted(set(faint) - merged_away - {each.fact_id for each in borne_out})),
            support_from=self._support_from,
            created=tuple(each.candidate_id for each in found_anew),
            dry_run=step.dry_run,
        )
        emit(work, report)
        if step.dry_run or not (person.pages or person.told):
            return
        once = (at.isoformat(),)
        for candidate in found_anew:
            emit_candidate(candidate, work, self._stamps.of(policy))
        for each in borne_out:
            fact_id, (turn_id, saying, _), near = each
            emit(work, step_about(Step.SUPPORT, step, fact_id, turn_id, at=at, similarity=near, saying=saying))
        for kind, pairs in ((Step.MERGE, found.merges), (Step.CONTRADICTION, found.contradictions)):
            for fact_id, other_id, near in pairs:
                emit(work, step_about(kind, step, fact_id, other_id, at=at, occasion=once, similarity=near))
        # One that shall be merged as well: if that is refused, it has faded all the same.
        for fact_id in faint:
            emit(work, step_about(Step.DEPRECATE, step, fact_id, at=at, occasion=once))
        if found.questions:
            emit_question(step, at, found.questions, work)
        # First what somebody is still to be asked about: a step of its own comes to it, with a call of its own.
        left = msgspec.structs.replace(left, told=later, changed=(*found.left, *left.changed))
        again = self._next(at, person.key) if later else self._fades_at(facts, at, person.key)
        looked_at(person, gone, work, left, again)
        if left.waits:
            ask(person, at, step.by, work)

    def _fades_at(self, facts: Sequence[Known], at: datetime, key: bytes) -> datetime | None:
        """Return when to look at a person of whom nothing changes: after the next fact has faded."""
        standing = (each.fact for each in facts if each.fact.status is FactStatus.ACTIVE)
        times = [until for fact in standing if (until := active_until(fact, self._rates)) > at]
        first = min(times, default=FOREVER)
        return None if first >= FOREVER - timedelta(days=1) else self._next(first, key)


def _person_of(result: EmbeddingResult, work: Work) -> Person:
    person = work.get(person_key(result.tenant_id, result.user_id), PERSON)
    return person or Person(result.tenant_id, result.user_id, result.model)


def _moment(record: SourceRecord) -> datetime:
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)
