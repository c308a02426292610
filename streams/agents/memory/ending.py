"""memory/facts, what it does when a new fact ends an older one (:mod:`processors.facts.merging.endings`).

The first vector of a fact is compared with the person's other vectors; which was said earlier is decided by
``sent_at``, whichever came first.  As with every step of consolidation: written into the log first, and done
when it is read there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.consolidation import ConsolidationStep, Step
from models.facts import Fact, Provenance
from processors.facts.claims import normalized_subject
from processors.facts.evidence import first_after, is_erased, latest
from processors.facts.lines import Line, cause_of, ended, with_ended
from processors.facts.marks import MarkKind, Moment
from processors.facts.merging.endings import NEAREST, Verdict, decide
from processors.facts.merging.statement_features import ComparedStatement
from processors.retrieval.embedding.vectors import unpacked
from processors.retrieval.embedding.wording import text_of
from streams.agents.memory.consolidation_records import emit_end
from streams.agents.memory.fact_store import FactStore, is_of
from streams.agents.memory.fact_vectors import VECTOR, Person, Vector, latest_listed, vector_key

#: Vectors of a person that a new one is compared with: the latest.
COMPARED_MOST = 2_048

_STEPS = {Verdict.ENDS: Step.ENDS, Verdict.REPLACES: Step.REPLACES}
_KINDS = {Step.ENDS: MarkKind.ENDED, Step.REPLACES: MarkKind.REPLACED}


class _Near(NamedTuple):
    """A fact near the new one, the id of its line, and its vector."""

    fact: Fact
    line_id: str
    vector: NDArray[np.float32]


def compare(fact_id: str, vector: Vector, person: Person, store: FactStore) -> None:
    """Write what a fact whose first vector came ends, and which fact that was said later ends it."""
    new = _near(fact_id, unpacked(vector.vector), store)
    if new is None:
        return
    others = [each for each in _nearest(new, vector, person, store) if _may_end(new, each)]
    for newer in (new, *(each for each in others if first_after(each.fact, new.fact) is not None)):
        _write(newer, [each for each in (new, *others) if each is not newer], new, store)


def _write(newer: _Near, others: list[_Near], new: _Near, store: FactStore) -> None:
    """Write which of the others a fact ends that was said after them: of a pair without the new one nothing."""
    earlier = [
        (each, evidence)
        for each in others
        if each.fact.holds and (evidence := first_after(newer.fact, each.fact)) is not None
    ]
    if not earlier:
        return
    last = max((evidence for _, evidence in earlier), key=lambda each: each.sent_at)
    found = decide(_said(newer, last), [_said(each, latest(each.fact)) for each, _ in earlier])
    for (old, evidence), ending in zip(earlier, found, strict=True):
        if ending.verdict in _STEPS and (newer is new or old is new):
            step = _STEPS[ending.verdict]
            emit_end(store.work, newer.fact, old.fact, evidence, step, ending.cosine)


def fold(step: ConsolidationStep, store: FactStore) -> None:
    """End a fact, or the one that stands for it by now, unless what ends it was erased or taken back."""
    said = step.saying
    assert said is not None  # or it is no step
    by_id = store.line_of(step.fact_id)
    by_line, ends = store.line(by_id), store.standing(step.other_id, step)
    evidence = None if by_line is None else _evidence(by_line, step)
    if by_line is None or evidence is None or ends is None or ends.line_id == by_id:
        store.work.skip("nothing_to_end")
        return
    if is_erased(evidence, store.erasure(step.fact_id)) or store.is_erased(
        said.conversation_id, said.arrived_at, step
    ):
        store.work.skip("nothing_to_end")
        return
    at = Moment(said.sent_at, said.arrived_at)
    done = ended(ends.line, ends.fact, _KINDS[step.step], at, cause_of(step.fact_id, evidence, store.position))
    if done is None:
        store.work.skip("nothing_new")
        return
    store.put(by_id, with_ended(by_line, ends.line_id))
    # An erasure of what ends the fact must find where the end is.
    store.write_behind(ends.line_id, by_id)
    store.change(ends.line_id, *done)


def _evidence(line: Line, step: ConsolidationStep) -> Provenance | None:
    """Return the evidence of the fact that ends another, if it still rests on that."""
    stub = line.stub(step.fact_id)
    fact = line.fact(step.fact_id) or (None if stub is None or not stub.into else stub.fact)
    if fact is None or not is_of(fact, step) or step.saying is None:
        return None
    where = step.saying.conversation_id, step.saying.sent_at
    return next((each for each in fact.provenance if (each.conversation_id, each.sent_at) == where), None)


def _nearest(new: _Near, vector: Vector, person: Person, store: FactStore) -> Iterator[_Near]:
    """Yield the facts nearest to the new one that may be compared, the nearest first."""
    listed = latest_listed(person, COMPARED_MOST, store.work)
    stored = ((fact_id, store.work.get(vector_key(fact_id), VECTOR)) for fact_id in listed)
    known = [(fact_id, each) for fact_id, each in stored if each is not None and _is_comparable(each, vector)]
    if not known:
        return
    vectors = unpacked(b"".join(each.vector for _, each in known)).reshape(len(known), -1)
    left = NEAREST
    for at in np.argsort(-(vectors @ new.vector), kind="stable"):
        fact_id = known[int(at)][0]
        near = None if fact_id == new.fact.fact_id else _near(fact_id, vectors[int(at)], store)
        if near is None or near.line_id == new.line_id:
            continue
        if not near.fact.holds and first_after(near.fact, new.fact) is None:
            continue
        yield near
        left -= 1
        if not left:
            return


def _is_comparable(one: Vector, other: Vector) -> bool:
    return (one.model, one.dimensions) == (other.model, other.dimensions)


def _near(fact_id: str, vector: NDArray[np.float32], store: FactStore) -> _Near | None:
    found = store.find(fact_id)
    if found is None or found.fact.is_void or not found.fact.provenance:
        return None
    return _Near(found.fact, found.line_id, vector)


def _may_end(one: _Near, other: _Near) -> bool:
    """Say whether two facts may be compared: what is said unsurely ends nothing.

    Only quotations are.  What a language model says in words of its own is unlike all that the comparison was
    trained on, and the model, which was shown what is known, has said itself what ends.
    """
    if not (_is_quotation(one.fact) and _is_quotation(other.fact)):
        return False
    subjects = {normalized_subject(each.fact.subject) for each in (one, other)}
    return len(subjects) == 1 and not (one.fact.tentative or other.fact.tentative)


def _is_quotation(fact: Fact) -> bool:
    return any(each.quote in fact.statement or fact.statement in each.quote for each in fact.provenance)


def _said(near: _Near, evidence: Provenance) -> ComparedStatement:
    fact = near.fact
    norm = float(np.linalg.norm(near.vector)) or 1.0
    slot = fact.slot_id if fact.attribute else ""
    return ComparedStatement(
        text_of(fact.statement),
        near.vector / norm,
        fact.kind,
        fact.importance,
        evidence.sent_at,
        slot,
        evidence.conversation_id,
    )
