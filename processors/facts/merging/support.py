"""Support of facts by later messages (requirement 3.3: +0.05 · (1 - c)).

The vector of a whole episode tells little of one fact: of 107 facts of LoCoMo, at a nearness that hardly any
episode of other people has (.45 with the built-in model), 30 episodes are left, and .75 is never
reached.  The turns of the person themselves do: at .60 there are 58, and one of 117,000 turns of other people.
So it is those that count, once on each occasion.  A vector does not know "not", nor a question from a
statement: what of a turn's wording says so is noted where the turn is read (:mod:`.sayings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import exp
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.facts import Fact, FactChange, FactStatus, Support
from models.statements import SELF, Kind, Polarity
from models.vectors import Saying
from processors.facts.claims import normalized_subject
from processors.facts.confidence import ACTIVE_FROM, RATES, confidence_at, rate_of, revived
from processors.facts.evidence import EVIDENCE_GAIN
from processors.facts.lines import Cause, Line, recorded, with_fact, with_stub
from processors.facts.merging.guards import denies
from processors.facts.merging.plan import Known

#: Turns of one conversation that are no further apart are one occasion.
OCCASION = timedelta(hours=1)

#: How many of the turns that bear it out a fact names: the latest.
SUPPORT_LIMIT = 20

#: What has faded by so many powers of e has faded altogether: more of them would be no number.
_NOTHING_LEFT = 700.0

#: Turns that are compared with all facts at a time.
_ROWS = 256


class PersonTurn(NamedTuple):
    """A turn of the person, and its vector: of unit length, shape ``(dimensions,)``, float32."""

    turn_id: str
    saying: Saying
    vector: NDArray[np.float32]


class Supported(NamedTuple):
    """A fact, and the turn that bears it out; ``similarity``: the cosine of their vectors."""

    fact_id: str
    said: PersonTurn
    similarity: float


def supported(known: Sequence[Known], said: Sequence[PersonTurn], near_from: float) -> list[Supported]:
    """Return the turns that support facts of the same person, in order of the log.

    Whatever order facts and turns come in.  Of an occasion the nearest turn counts.
    """
    facts = sorted((each for each in known if _may_be_borne_out(each.fact)), key=lambda each: each.fact.fact_id)
    turns = sorted(said, key=lambda each: (each.saying.sent_at, each.turn_id))
    if not facts or not turns:
        return []
    vectors = np.stack([each.vector for each in facts])
    denied = [_denies(each.fact) for each in facts]
    near: dict[str, list[Supported]] = {}
    for start in range(0, len(turns), _ROWS):
        some = turns[start : start + _ROWS]
        cosines = np.stack([each.vector for each in some]) @ vectors.T
        for row, column in zip(*np.nonzero(cosines >= near_from), strict=True):
            turn, fact = some[int(row)], facts[int(column)].fact
            if turn.saying.denies == denied[int(column)]:
                found = Supported(fact.fact_id, turn, float(cosines[row, column]))
                near.setdefault(fact.fact_id, []).append(found)
    by_id = {each.fact.fact_id: each.fact for each in facts}
    chosen = [each for fact_id, found in near.items() for each in _occasions(by_id[fact_id], found)]
    return sorted(chosen, key=lambda each: (each.said.saying.sent_at, each.said.turn_id, each.fact_id))


def _may_be_borne_out(fact: Fact) -> bool:
    """Return whether later turns can support a fact: not an event, which happened once."""
    return fact.holds and fact.kind is not Kind.EVENT and normalized_subject(fact.subject) == SELF


def _denies(fact: Fact) -> bool:
    return fact.polarity is Polarity.NEGATED or denies(fact.statement)


def _occasions(fact: Fact, near: Sequence[Supported]) -> list[Supported]:
    """Return of each occasion that is not known to the fact the nearest turn."""
    chosen: list[Supported] = []
    for each in sorted(near, key=lambda each: (-each.similarity, each.said.turn_id)):
        others = [(other.said.saying.conversation_id, other.said.saying.sent_at) for other in chosen]
        if _is_another(each.said.saying, [*_known_occasions(fact), *others]):
            chosen.append(each)
    return chosen


def _known_occasions(fact: Fact) -> list[tuple[str, datetime]]:
    evidence = [(each.conversation_id, each.sent_at) for each in fact.provenance]
    return [*evidence, *((each.conversation_id, each.sent_at) for each in fact.support)]


def _is_another(saying: Saying, occasions: Sequence[tuple[str, datetime]]) -> bool:
    return not any(
        conversation == saying.conversation_id and abs(sent_at - saying.sent_at) < OCCASION
        for conversation, sent_at in occasions
    )


def borne_out(
    fact: Fact,
    turn_id: str,
    saying: Saying,
    similarity: float,
    at: datetime,
    rates: Mapping[Kind, float] = RATES,
) -> Fact | None:
    """Count a turn for a fact; ``None`` if it says nothing new, or the fact does not stand.

    How sure it is has faded by then: the gain is on what is left.
    """
    if not _may_be_borne_out(fact) or not _is_another(saying, _known_occasions(fact)):
        return None
    heard = max(fact.last_evidence_at, saying.arrived_at)
    left = confidence_at(fact, heard, rates)
    support = Support(
        turn_id=turn_id,
        conversation_id=saying.conversation_id,
        sent_at=saying.sent_at,
        arrived_at=saying.arrived_at,
        similarity=similarity,
    )
    kept = sorted((*fact.support, support), key=lambda each: (each.arrived_at, each.turn_id))[-SUPPORT_LIMIT:]
    if support not in kept:
        return None  # earlier than all that it names, it may be one of those that were counted before
    confidence = left + EVIDENCE_GAIN * (1.0 - left)
    after = msgspec.structs.replace(fact, confidence=confidence, last_evidence_at=heard, support=tuple(kept))
    return recorded(revived(after), FactChange.SUPPORTED, Cause(fact.fact_id, at), fact)


def faded(fact: Fact, at: datetime, rates: Mapping[Kind, float] = RATES) -> Fact | None:
    """Say of a fact that it has faded too far to be found; ``None`` if it has not, or does not stand."""
    if not is_faint(fact, at, rates):
        return None
    after = msgspec.structs.replace(fact, status=FactStatus.DEPRECATED)
    return recorded(after, FactChange.DEPRECATED, Cause(fact.fact_id, at), fact)


def is_faint(fact: Fact, at: datetime, rates: Mapping[Kind, float] = RATES) -> bool:
    """Return whether an active fact is below the confidence of every search (requirement 3.3: below .3)."""
    return fact.status is FactStatus.ACTIVE and confidence_at(fact, at, rates) < ACTIVE_FROM


def unsupported(
    line: Line,
    tenant_id: str,
    conversation_id: str,
    user_id: str,
    until: datetime,
    rates: Mapping[Kind, float] = RATES,
) -> tuple[Line, list[Fact]]:
    """Return the line and its facts without the turns of an erased conversation (``user_id``: of that person
    alone, empty: of everybody) that bore them out; what they made surer is as unsure as before.  Facts that
    were merged, and may come back, are among them.
    """
    changed: list[Fact] = []
    archived = {stub.fact_id: stub for stub in line.stubs if stub.fact is not None}
    for fact in (*line.facts, *(stub.fact for stub in archived.values() if stub.fact is not None)):
        if fact.tenant_id != tenant_id or user_id not in ("", fact.user_id):
            continue
        kept = tuple(
            each for each in fact.support if each.conversation_id != conversation_id or each.arrived_at > until
        )
        if len(kept) == len(fact.support):
            continue
        after = _less_sure(fact, kept, rates)
        after = recorded(after, FactChange.ERASED, Cause("", until), fact)
        if (stub := archived.get(fact.fact_id)) is not None:
            line = with_stub(line, msgspec.structs.replace(stub, fact=after, version=after.version))
        else:
            line = with_fact(line, after)
        changed.append(after)
    return line, changed


def _less_sure(fact: Fact, kept: tuple[Support, ...], rates: Mapping[Kind, float]) -> Fact:
    """Take back the gain of each turn that is gone, the latest first, and that the fact had faded until then:
    from when it was heard of before, it fades anew when it is read.
    """
    confidence, heard, left = fact.confidence, fact.last_evidence_at, list(fact.support)
    for gone in [each for each in reversed(fact.support) if each not in kept]:
        left.remove(gone)
        arrivals = [*(each.arrived_at for each in fact.provenance), *(each.arrived_at for each in left)]
        before = max(arrivals, default=fact.learned_at)
        confidence = max(0.0, 1.0 - (1.0 - confidence) / (1.0 - EVIDENCE_GAIN))
        days = max(0.0, (heard - before) / timedelta(days=1))
        confidence = min(1.0, confidence * exp(min(days * rate_of(fact, rates), _NOTHING_LEFT)))
        heard = before
    return msgspec.structs.replace(fact, support=kept, confidence=confidence, last_evidence_at=heard)
