"""memory/facts, what it makes of what a person says in several conversations
(:mod:`processors.facts.recurring`).

The vectors of sentences come by ``memory.embeddings.v1``.  When somebody wants a person's facts looked at, what
had arrived by then is compared; what recurs becomes a candidate with all of its evidence, and is folded in as
every candidate is.  What is known already, of an extractor or of this, makes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from models import ids
from models.consolidation import ConsolidationStep
from models.facts import Fact, FactCandidate, Provenance
from models.statements import Kind
from models.vectors import EmbeddingResult, SpokenSentence, VectorKind
from processors.facts.evidence import PROVENANCE_LIMIT, is_counted
from processors.facts.merging.plan import Known
from processors.facts.recurring.clusters import FEWEST_CONVERSATIONS, Recurring, SentenceVector, recurring
from streams.agents.memory import sentence_vectors
from streams.agents.memory.fact_store import FactStore

#: Who says so.
EXTRACTOR = "recurring"

#: How sure it is before its evidence is counted: what nobody understood, and what was said more than once.
CONFIDENCE = 0.6


def keep(sentence_id: str, result: EmbeddingResult, store: FactStore, *, is_wanted: bool) -> bool:
    """Keep a sentence whose vector came, unless it was erased or nobody wants any; say whether it is kept."""
    said = result.sentence
    assert said is not None  # or it is none
    erased = store.is_erased(said.conversation_id, said.arrived_at, result)
    if erased or not is_wanted:
        store.work.skip("erased" if erased else "not_looked_at")
        store.forget_vector(VectorKind.SENTENCE, sentence_id)
        return False
    sentence_vectors.keep(sentence_id, result, store.partition, store.work)
    return True


def found_in(
    step: ConsolidationStep, at: datetime, facts: Sequence[Known], near_from: float, store: FactStore
) -> tuple[list[FactCandidate], bool]:
    """Return candidates for what a person said again and again until ``at``, and whether something came later.

    ``facts``: what is known of them, with vectors of the same model as those of the sentences.
    """
    told, later = sentence_vectors.told_by(step.tenant_id, step.user_id, at, store.work)
    found = (_candidate(each, step, facts, near_from, store) for each in recurring(told, near_from))
    return [each for each in found if each is not None], later


def _candidate(
    found: Recurring, step: ConsolidationStep, facts: Sequence[Known], near_from: float, store: FactStore
) -> FactCandidate | None:
    """Return the candidate for what recurs; ``None`` if it says nothing new."""
    fact_ids = [_fact_id(step, each.sentence) for each in found.members]
    if any(_is_erased(each, fact_id, store) for each, fact_id in zip(found.members, fact_ids, strict=True)):
        return None  # somebody had it erased: it is not said anew in other words
    evidence = _evidence(found.members)
    if (own := _made_before(found, fact_ids, facts, store)) is not None:
        stands = store.standing(own[0])
        if stands is None:
            return None
        evidence = [each for each in evidence if not is_counted(stands.fact, each)]
        fact_id, statement = own
    else:
        if _says_what_is_known(found, facts, near_from):
            return None
        if len({each.conversation_id for each in evidence}) < FEWEST_CONVERSATIONS:
            return None
        statement = found.middle.sentence.text
        fact_id = _fact_id(step, found.middle.sentence)
    if not evidence:
        return None
    evidence = evidence[-PROVENANCE_LIMIT:]
    message_ids = tuple(message_id for each in evidence for message_id in each.message_ids)
    return FactCandidate(
        candidate_id=ids.candidate_id(fact_id, "", message_ids),
        tenant_id=step.tenant_id,
        user_id=step.user_id,
        kind=Kind.STATE,
        statement=statement,
        confidence=CONFIDENCE,
        source_message_ids=message_ids,
        provenance=evidence[0],
        extractor=EXTRACTOR,
        also=tuple(evidence[1:]),
    )


def _fact_id(step: ConsolidationStep, said: SpokenSentence) -> str:
    return ids.text_fact_id(step.tenant_id, step.user_id, said.text)


def _is_erased(told: SentenceVector, fact_id: str, store: FactStore) -> bool:
    erasure = store.erasure(fact_id)
    return erasure is not None and told.sentence.arrived_at <= erasure.until


def _is_known(fact_id: str, store: FactStore) -> bool:
    line = store.line(fact_id)
    return line is not None and (line.fact(fact_id) is not None or line.stub(fact_id) is not None)


def _made_before(
    found: Recurring, fact_ids: Sequence[str], facts: Sequence[Known], store: FactStore
) -> tuple[str, str] | None:
    """Return the id and the statement of the fact that was made of some of it before, if one was."""
    for each, fact_id in zip(found.members, fact_ids, strict=True):
        if _is_known(fact_id, store):
            return fact_id, each.sentence.text
    for fact, _ in sorted(facts, key=lambda known: known.fact.fact_id):
        is_verbatim = not fact.attribute and fact.statement in {each.quote for each in fact.provenance}
        if is_verbatim and any(_is_taken_from(fact, each.sentence) for each in found.members):
            return fact.fact_id, fact.statement
    return None


def _evidence(members: Sequence[SentenceVector]) -> list[Provenance]:
    """Return the messages in which it was said, each once, in their order."""
    found: dict[tuple[str, str], Provenance] = {}
    for _, said, _ in members:
        provenance = Provenance(
            conversation_id=said.conversation_id,
            # No window showed it: the turn takes its place.
            window_id=said.turn_id,
            window_end_id=said.message_id,
            message_ids=(said.message_id,),
            quote=said.text,
            topic=said.topic,
            partition=said.partition,
            offsets=(said.offset,),
            sent_at=said.sent_at,
            arrived_at=said.arrived_at,
        )
        found.setdefault((said.conversation_id, said.message_id), provenance)
    return list(found.values())


def _says_what_is_known(found: Recurring, facts: Sequence[Known], near_from: float) -> bool:
    """Return whether a fact came from one of the sentences, or is as near as they are to each other."""
    for fact, vector in facts:
        if vector.shape == found.middle.vector.shape and float(vector @ found.middle.vector) >= near_from:
            return True
        if any(_is_taken_from(fact, each.sentence) for each in found.members):
            return True
    return False


def _is_taken_from(fact: Fact, said: SpokenSentence) -> bool:
    text = said.text.casefold()
    return any(
        each.conversation_id == said.conversation_id
        and said.message_id in each.message_ids
        and (text in (quote := each.quote.casefold()) or quote in text)
        for each in fact.provenance
    )
