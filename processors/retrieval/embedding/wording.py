"""Embedding text of a thing: its words, without those that all things of its kind share."""

from __future__ import annotations

import re

from models import ids
from models.facts import Fact
from models.vectors import EmbeddingRequest, Saying, SpokenSentence, TurnPlace, VectorKind

#: Characters of a thing that are sent to be embedded: a model reads no more than some hundred words.
EMBEDDED_CHARACTERS = 4_000

#: A subject that all facts share lifts the similarity of unrelated ones (backend/frontend .69 with it, .47
#: without).
_SUBJECT = re.compile(r"^User(?:'s|’s)?\s+(?=\S)")


def text_of(statement: str) -> str:
    """Return the embedding text of a fact's statement: ``User likes tea`` without the person."""
    return _SUBJECT.sub("", statement)


def request_for_fact(fact: Fact) -> EmbeddingRequest:
    """Return the request for a fact's vector."""
    return request_for(VectorKind.FACT, fact.fact_id, text_of(fact.statement), fact.user_id, fact.tenant_id)


def request_for(
    kind: VectorKind,
    wanted_id: str,
    text: str,
    user_id: str,
    tenant_id: str,
    place: TurnPlace | None = None,
    saying: Saying | None = None,
    sentence: SpokenSentence | None = None,
) -> EmbeddingRequest:
    """Return the request for the vector of ``text``, which must not be empty."""
    return EmbeddingRequest(
        kind=kind,
        id=wanted_id,
        user_id=user_id,
        text=text,
        text_hash=ids.text_hash(text),
        tenant_id=tenant_id,
        place=place,
        saying=saying,
        sentence=sentence,
    )
