"""memory/facts, what it keeps of sentences in which people tell something of themselves: the latest of each.

Under ``<sentence>/sentence`` the sentence and its vector; under ``<person>/sentences/<n>`` a page of which
there are, and under ``<person>/sentences`` which pages.  Whatever is let go of here has its vector, and the
sentence with it, forgotten in the log: nothing of it is there that this stage does not know.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

import msgspec

from models import ids
from models.vectors import EmbeddingResult, SpokenSentence, VectorKind
from processors.facts.recurring.clusters import SentenceVector
from processors.facts.recurring.sentences import sentence_ids
from processors.retrieval.embedding.vectors import unpacked
from streams.agents.memory.fact_vectors import PAGE, paged
from streams.agents.vectors import requests as embedding_requests
from streams.clients.erasures import Erasing
from streams.runtime.codec import Codec
from streams.runtime.keyed import Work

#: Sentences of a page, each new one being written with those before it; and pages of a person.
PAGE_SENTENCES, PAGES_MOST = 32, 16

SENTENCE_SUFFIX = b"/sentence"
_SOURCE = "/switchboard/memory"


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence, whose it is, its vector in half precision, and what made that."""

    user_id: str
    tenant_id: str
    model: str
    sentence: SpokenSentence
    vector: bytes


class Pages(msgspec.Struct, frozen=True, array_like=True):
    """Range of a person's sentence pages: from ``first`` to the one before ``end``."""

    first: int = 0
    end: int = 0


#: JSON, so that it is found by the conversation and the person that it names.
SENTENCE: Codec[Sentence] = Codec("sentence of a person", Sentence, form=msgspec.json)
PAGES: Codec[Pages] = Codec("pages of sentences", Pages)


def sentence_key(sentence_id: str) -> bytes:
    """Return the key of the state of a sentence."""
    return sentence_id.encode() + SENTENCE_SUFFIX


def pages_key(tenant_id: str, user_id: str) -> bytes:
    """Return the key under which stands which pages there are of a person."""
    return ids.deterministic_id("person", tenant_id, user_id).encode() + b"/sentences"


def _page_key(key: bytes, number: int) -> bytes:
    return key + b"/%d" % number


def keep(sentence_id: str, result: EmbeddingResult, partition: int, work: Work) -> None:
    """Keep a sentence; of too many the first are let go of."""
    assert result.sentence is not None  # or it is none
    kept = Sentence(
        user_id=result.user_id,
        tenant_id=result.tenant_id,
        model=result.model,
        sentence=result.sentence,
        vector=result.vector,
    )
    if work.get(sentence_key(sentence_id), SENTENCE) is None:
        _list(sentence_id, pages_key(result.tenant_id, result.user_id), partition, work)
    # Last: that it is known says that it is listed.
    work.put(sentence_key(sentence_id), kept, SENTENCE)


def _list(sentence_id: str, key: bytes, partition: int, work: Work) -> None:
    pages = work.get(key, PAGES) or Pages()
    last = max(pages.first, pages.end - 1)
    number = paged(sentence_id, last, PAGE_SENTENCES, partial(_page_key, key), work)
    first = max(pages.first, number + 1 - PAGES_MOST)
    for old in range(pages.first, first):
        for gone in work.get(_page_key(key, old), PAGE) or ():
            forget(gone, partition, work)
        work.remove(_page_key(key, old))
    after = Pages(first, number + 1)
    if after != pages:
        work.put(key, after, PAGES, first=True)


def told_by(tenant_id: str, user_id: str, until: datetime, work: Work) -> tuple[list[SentenceVector], bool]:
    """Return a person's sentences that had arrived by then and whose vectors can be compared; and whether
    later ones exist.
    """
    key = pages_key(tenant_id, user_id)
    pages = work.get(key, PAGES) or Pages()
    listed = [each for n in range(pages.first, pages.end) for each in work.get(_page_key(key, n), PAGE) or ()]
    found = [(each, kept) for each in listed if (kept := work.get(sentence_key(each), SENTENCE)) is not None]
    by_then = [(each, kept) for each, kept in found if kept.sentence.arrived_at <= until]
    model = by_then[-1][1].model if by_then else ""
    told = [
        SentenceVector(each, kept.sentence, unpacked(kept.vector))
        for each, kept in by_then
        if kept.model == model
    ]
    return told, len(by_then) < len(found)


def forget(sentence_id: str, partition: int, work: Work) -> None:
    """Let go of a sentence that is kept, here and in the log."""
    if work.get(sentence_key(sentence_id), SENTENCE) is not None:
        work.remove(sentence_key(sentence_id))
        embedding_requests.forget(work, VectorKind.SENTENCE, sentence_id, partition, _SOURCE)


def forget_turn(turn_id: str, partition: int, work: Work) -> None:
    """Let go of what was told in a turn."""
    for sentence_id in sentence_ids(turn_id):
        forget(sentence_id, partition, work)


def forget_person(tenant_id: str, user_id: str, work: Work) -> None:
    """Forget which sentences there were of a person who was erased; those that came later stay."""
    key = pages_key(tenant_id, user_id)
    pages, left = work.get(key, PAGES) or Pages(), False
    for number in range(pages.first, pages.end):
        page = work.get(_page_key(key, number), PAGE) or ()
        there = tuple(each for each in page if work.get(sentence_key(each), SENTENCE) is not None)
        left = left or bool(there)
        if there:
            work.put(_page_key(key, number), there, PAGE)
        else:
            work.remove(_page_key(key, number))
    if pages.end and not left:
        work.remove(key)


def forget_erased(key: bytes, erasing: Erasing, partition: int, work: Work) -> None:
    """Let go of the sentence under this key if it is among what is erased."""
    kept = work.get(key, SENTENCE)
    if kept is None or kept.sentence.arrived_at > erasing.until:
        return
    if erasing.covers(kept.tenant_id, kept.user_id, kept.sentence.conversation_id):
        forget(key.removesuffix(SENTENCE_SUFFIX).decode(), partition, work)
