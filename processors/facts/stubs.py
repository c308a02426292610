"""Stubs: the part of a merged or corrected fact that its line keeps."""

from __future__ import annotations

from typing import Any

import msgspec

from models import ids
from models.facts import Fact
from processors.facts.evidence import Floor, ceilings
from processors.facts.marks import MARKS_LIMIT, Mark

#: How many ends of a fact, and of what it was merged into, are remembered: a batch that is read again after a
#: crash asks for those of all of its candidates, and finds no more of their marks either.
_REMEMBERED = MARKS_LIMIT


class Voided(msgspec.Struct, frozen=True, array_like=True):
    """That a fact was corrected, by the candidate at this position, and up to where its evidence was known."""

    position: int
    floors: tuple[Floor, ...] = ()


class Led(msgspec.Struct, frozen=True, array_like=True):
    """That a fact was part of another from one position in the log on, and up to another (0: still).

    ``floors``: up to where evidence was known to it before.
    """

    into: str
    into_line: str
    since: int
    until: int = 0
    floors: tuple[Floor, ...] = ()


class Stub(msgspec.Struct, frozen=True, array_like=True):
    """Stub of a fact that was merged (``into`` another) or corrected: enough to know it again.

    ``since``: the position in the log of the candidate that merged it, or up to which the other was corrected
    before consolidation did.  ``slot_id``: the slot that it was in.
    Whose it was and in which conversations it was said is known: what stands for it may be gone when they are
    erased.  Of one that was merged and can be brought back, ``fact`` is what it was,
    ``marks`` those that it had, ``gave`` the evidence that the other did not have before, ``dropped`` how
    much evidence it had that it named no more, and ``narrowed`` to which part of it the other's distance to
    certainty shrank.  ``voided_by``: of one that was corrected, by what the window of what was said instead is
    known again (:func:`voided_by`); that is erased without anybody's finding this.  ``voids``: when it was
    corrected; what was merged into it before stands for itself since.  ``led``: what it was merged into before
    it did.  Both last: a batch that is read again finds lines that are younger than its candidates.
    """

    fact_id: str
    version: int
    into: str = ""
    into_line: str = ""
    floors: tuple[Floor, ...] = ()
    since: int = 0
    slot_id: str = ""
    tenant_id: str = ""
    user_id: str = ""
    conversation_ids: tuple[str, ...] = ()
    fact: Fact | None = None
    marks: tuple[Mark, ...] = ()
    gave: tuple[str, ...] = ()
    dropped: int = 0
    narrowed: float = 1.0
    voided_by: str = ""
    voids: tuple[Voided, ...] = ()
    led: tuple[Led, ...] = ()

    def leads(self, position: int) -> Led | None:
        """Return the fact that this one was part of at a position."""
        if self.into and self.since <= position:
            return Led(self.into, self.into_line, self.since, floors=self.floors)
        return next((led for led in self.led if led.since <= position < led.until), None)

    def voided(self, since: int, position: int) -> Voided | None:
        """Return its first correction after it took something in, if it was one at ``position``."""
        return next((void for void in self.voids if since < void.position <= position), None)

    def was_void(self, position: int) -> bool:
        """Say whether it never was so, by a correction at ``position`` or before, or by an erasure."""
        return not self.into and all(void.position <= position for void in self.voids)


def corrected_until(stub: Stub | None) -> int:
    """Return the position in the log of a fact's latest correction; 0: it never was corrected."""
    return max((void.position for void in stub.voids), default=0) if stub is not None else 0


class Given(msgspec.Struct, frozen=True, array_like=True):
    """Contribution of a merged fact to a fact of the line; fields as those of :class:`Stub`.

    The line of the fact that stays is stored first: if nothing else was before a crash, the stub is made of
    this.
    """

    fact_id: str
    gave: tuple[str, ...] = ()
    dropped: int = 0
    narrowed: float = 1.0


def voided_by(window_id: str | None) -> str:
    """Return the mark of the window that corrected a fact."""
    return ids.deterministic_id("voided", window_id) if window_id else ""


def stub_of(fact: Fact, before: Stub | None = None, **changes: Any) -> Stub:
    """Return the stub of a fact; ``before``: what was known of its corrections and merges.

    ``changes``: its other fields.
    """
    return Stub(
        fact.fact_id,
        fact.version,
        slot_id=fact.slot_id,
        tenant_id=fact.tenant_id,
        user_id=fact.user_id,
        conversation_ids=tuple(sorted({each.conversation_id for each in fact.provenance})),
        **({"voids": before.voids, "led": before.led} if before else {}) | changes,
    )


def voided_stub(
    fact: Fact, window_id: str | None = None, position: int = 0, before: Stub | None = None
) -> Stub:
    """Return the stub of a fact that never was so, by what was said in a window at a position."""
    floors = ceilings(fact.provenance, before.floors if before else ())
    voids = (*(before.voids if before else ()), Voided(position, floors))[-_REMEMBERED:]
    return stub_of(fact, before, floors=floors, voided_by=voided_by(window_id), voids=voids)


def dropped_stub(fact: Fact, before: Stub | None) -> Stub:
    """Return the stub of a fact dropped for lack of room; ``before``: the stub of its corrections."""
    known = before or stub_of(fact)
    floors = ceilings(fact.provenance, known.floors)
    return msgspec.structs.replace(known, version=fact.version, floors=floors)


def kept_of(stub: Stub) -> Stub | None:
    """Return the stub to keep of a merged fact that proved to be different; ``None`` if nothing."""
    return _beside_fact(stub, stub.floors, stub.led) if stub.floors or stub.voids or stub.led else None


def released(stub: Stub, led: Led, floors: tuple[Floor, ...], position: int) -> Stub:
    """Return the stub of a fact that stands for itself again; ``floors``: evidence that the other had."""
    before = (*stub.led, msgspec.structs.replace(led, until=position))[-_REMEMBERED:]
    return _beside_fact(stub, ceilings((), (*stub.floors, *floors)), before)


def _beside_fact(stub: Stub, floors: tuple[Floor, ...], led: tuple[Led, ...]) -> Stub:
    """Return the stub of a fact that is there itself, which says the rest."""
    return Stub(stub.fact_id, stub.version, floors=floors, slot_id=stub.slot_id, voids=stub.voids, led=led)
