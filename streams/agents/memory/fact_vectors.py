"""memory/facts, what it keeps of vectors: of which facts of a person there are any, and which changed since
somebody looked, and what the person said since.

Under ``<fact>/vector`` the vector; under ``<person>/person`` what changed, and under ``<person>/page/<n>`` of
which facts there are vectors, under ``<person>/plans`` which of them hold until a day; under ``<turn>/said``
the vector of a turn that nobody has looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from models import ids
from models.errors import InvalidRecord
from models.messages import Timestamp
from models.vectors import EmbeddingResult, Saying, VectorKind
from processors.facts.merging.plan import Known
from processors.facts.merging.support import PersonTurn
from processors.retrieval.embedding.vectors import unpack, unpacked
from processors.text.validation import decode
from streams.agents.memory.fact_store import FactStore
from streams.agents.vectors.requests import read_key
from streams.clients.records import SourceRecord
from streams.runtime.codec import Codec
from streams.runtime.keyed import Work

#: Facts of a page: each new one is written with those before it.
PAGE_FACTS = 64

#: How many changed facts and turns of a person are named, at most, however far behind consolidation is: each
#: new one is written with those before it.
CHANGED_MOST, SAID_MOST = 4_000, 1_024

PERSON_SUFFIX = b"/person"
_VECTOR_SUFFIX = b"/vector"
_EPISODE_KEYS = VectorKind.EPISODE.encode() + b"/"


class Vector(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The vector of a fact's text, in half precision, and what made it."""

    model: str
    dimensions: int
    text_hash: str
    vector: bytes


class Person(msgspec.Struct, frozen=True, array_like=True):
    """Vectors of a person: latest model, number of pages, changed facts, due time, unread turns.

    ``sweep``: when more has changed than is named, the page from which on all facts are to be looked at.
    ``told``: whether there are sentences that nobody has looked at (:mod:`.sentence_vectors`).
    """

    tenant_id: str
    user_id: str
    model: str
    pages: int = 0
    changed: tuple[str, ...] = ()
    due: Timestamp | None = None
    said: tuple[str, ...] = ()
    sweep: int | None = None
    told: bool = False

    @property
    def key(self) -> bytes:
        """Key of the state of the person."""
        return person_key(self.tenant_id, self.user_id)

    @property
    def waits(self) -> bool:
        """True if changed facts of this person are due for comparison."""
        return bool(self.changed) or self.sweep is not None


class Plan(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A fact that holds until a day, and the last moment of that day."""

    fact_id: str
    passes_at: Timestamp


class Plans(msgspec.Struct, frozen=True, array_like=True):
    """Plans of a person whose day may be ahead, the next first, and when the person said something last."""

    said_until: Timestamp
    ahead: tuple[Plan, ...] = ()


class Spoken(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The vector of a turn, in half precision, what made it, and where it was said."""

    tenant_id: str
    user_id: str
    model: str
    saying: Saying
    vector: bytes


VECTOR: Codec[Vector] = Codec("vector of a fact", Vector)
PERSON: Codec[Person] = Codec("person with vectors", Person)
SPOKEN: Codec[Spoken] = Codec("vector of a turn", Spoken)
PLANS: Codec[Plans] = Codec("plans of a person", Plans)
PAGE: Codec[tuple[str, ...]] = Codec("page of facts with vectors", tuple[str, ...])


class Arrived(NamedTuple):
    """The vector of something, ``None`` where it is forgotten."""

    kind: VectorKind
    id: str
    result: EmbeddingResult | None


#: What nothing is made of.
_NOTHING = Arrived(VectorKind.EPISODE, "", None)


def read_vector(record: SourceRecord) -> Arrived:
    """Return a vector that counts for facts; whoever keeps the indexes dead-letters a bad one."""
    if record.key is not None and record.key.startswith(_EPISODE_KEYS):
        return _NOTHING
    try:
        if record.value is None:
            return _NOTHING if record.key is None else Arrived(*read_key(record.key), None)
        result = decode(EmbeddingResult, record.value)
        tells = {VectorKind.TURN: result.saying, VectorKind.SENTENCE: result.sentence}
        if tells.get(result.kind, result) is None:
            return _NOTHING
        unpack(result)
    except InvalidRecord:
        return _NOTHING
    return Arrived(result.kind, result.id, result)


def vector_key(fact_id: str) -> bytes:
    """Return the key of the state of a fact's vector."""
    return fact_id.encode() + _VECTOR_SUFFIX


def spoken_key(turn_id: str) -> bytes:
    """Return the key of the state of a turn's vector."""
    return turn_id.encode() + b"/said"


def person_key(tenant_id: str, user_id: str) -> bytes:
    """Return the key of the state of a person."""
    return ids.deterministic_id("person", tenant_id, user_id).encode() + PERSON_SUFFIX


def plans_key(key: bytes) -> bytes:
    """Return the key of the plans of the person whose key this is."""
    return key.removesuffix(PERSON_SUFFIX) + b"/plans"


def page_key(key: bytes, number: int) -> bytes:
    """Return the key of a page of the person whose key this is."""
    return key.removesuffix(PERSON_SUFFIX) + b"/page/%d" % number


def timer_at(key: bytes, payload: bytes) -> float | None:
    """Return when a person is due, of any key of the table."""
    if not key.endswith(PERSON_SUFFIX):
        return None
    due = PERSON.decode(payload, key).due
    return None if due is None else due.timestamp()


def listed(person: Person, fact_id: str, work: Work) -> Person:
    """Add a fact to a person's last page, or to a new one."""
    last = paged(fact_id, max(0, person.pages - 1), PAGE_FACTS, partial(page_key, person.key), work)
    return msgspec.structs.replace(person, pages=last + 1)


def paged(thing_id: str, last: int, most: int, key_of: Callable[[int], bytes], work: Work) -> int:
    """Add a thing to the ``last`` page, or to a new one if ``most`` are there; return which page is the last.

    It may be there: pages are stored before what counts them, and a crash leaves them without that.
    """
    page = work.get(key_of(last), PAGE) or ()
    if thing_id not in page:
        if len(page) >= most:
            last, page = last + 1, ()
        work.put(key_of(last), (*page, thing_id), PAGE, first=True)
    return last


def latest_listed(person: Person, most: int, work: Work) -> Iterator[str]:
    """Yield the facts of a person's latest pages, about so many."""
    return _of_pages(person, work, max(0, person.pages - max(1, most // PAGE_FACTS)))


def _of_pages(person: Person, work: Work, first: int = 0, end: int | None = None) -> Iterator[str]:
    for number in range(first, person.pages if end is None else min(end, person.pages)):
        yield from work.get(page_key(person.key, number), PAGE) or ()


def with_changed(person: Person, fact_id: str) -> Person:
    """Note that a fact changed; of too many all are looked at."""
    changed = tuple(dict.fromkeys((*person.changed, fact_id)))
    if len(changed) > CHANGED_MOST:
        return msgspec.structs.replace(person, changed=(), sweep=0)
    return msgspec.structs.replace(person, changed=changed)


def with_said(person: Person, turn_id: str, work: Work) -> Person:
    """Note that a turn was said; of too many the first bear nothing out any more."""
    said = tuple(dict.fromkeys((*person.said, turn_id)))
    for gone in said[:-SAID_MOST]:
        work.skip("turn_too_old")
        work.remove(spoken_key(gone))
    return msgspec.structs.replace(person, said=said[-SAID_MOST:])


def to_look_at(person: Person, most: int, work: Work) -> tuple[tuple[str, ...], Person]:
    """Return so many facts that are to be looked at, and the person of whom the rest are."""
    if person.changed or person.sweep is None:
        return person.changed[:most], msgspec.structs.replace(person, changed=person.changed[most:])
    end = person.sweep + max(1, most // PAGE_FACTS)
    some = tuple(_of_pages(person, work, person.sweep, end))
    return some, msgspec.structs.replace(person, sweep=end if end < person.pages else None)


def known(person: Person, store: FactStore) -> tuple[list[Known], set[str]]:
    """Return a person's facts whose vectors can be compared, and the ids of which no fact is there any more."""
    facts, gone = list[Known](), set[str]()
    for fact_id in _of_pages(person, store.work):
        found = store.find(fact_id)
        vector = store.work.get(vector_key(fact_id), VECTOR)
        if found is None or vector is None:
            gone.add(fact_id)
        elif vector.model == person.model:
            facts.append(Known(found.fact, unpacked(vector.vector)))
    return facts, gone


def said_by(person: Person, work: Work) -> list[PersonTurn]:
    """Return the person's utterances since the last comparison, where the vectors can be compared."""
    spoken = ((turn_id, work.get(spoken_key(turn_id), SPOKEN)) for turn_id in person.said)
    return [
        PersonTurn(turn_id, each.saying, unpacked(each.vector))
        for turn_id, each in spoken
        if each is not None and each.model == person.model
    ]


def looked_at(person: Person, gone: set[str], work: Work, left: Person, due: datetime | None) -> None:
    """Only what ``left`` names has changed any more; what is gone is forgotten, and so is a person of whom
    nothing is left.  ``due``: when to look again, whatever happens.
    """
    for turn_id in person.said:
        work.remove(spoken_key(turn_id))
    for number in range(person.pages) if gone else ():
        page = work.get(page_key(person.key, number), PAGE) or ()
        here = tuple(each for each in page if each not in gone)
        if here != page:
            work.put(page_key(person.key, number), here, PAGE)
    for fact_id in sorted(gone):
        work.remove(vector_key(fact_id))
    if not (left.told or any(_of_pages(person, work))):
        _forget(person, work)
        return
    work.wake(person.key, None if due is None else due.timestamp())
    work.put(person.key, msgspec.structs.replace(left, said=(), due=due), PERSON)


def _forget(person: Person, work: Work) -> None:
    for number in range(person.pages):
        work.remove(page_key(person.key, number))
    work.remove(plans_key(person.key))
    work.remove(person.key)
    work.wake(person.key, None)


def forget_person(tenant_id: str, user_id: str, work: Work) -> None:
    """Remove what is kept of a person who is erased; vectors go with the facts that they are of."""
    person = work.get(person_key(tenant_id, user_id), PERSON)
    if person is not None:
        for turn_id in person.said:
            work.remove(spoken_key(turn_id))
        _forget(person, work)


def changed_people(tenant_id: str, work: Work) -> Iterator[Person]:
    """Yield the people of whom something changed since somebody looked."""
    for key in work.keys_ending(PERSON_SUFFIX):
        person = work.get(key, PERSON)
        if person is None or person.tenant_id != tenant_id:
            continue
        if person.waits or person.said or person.told:
            yield person
