"""What is left in a line of a fact that was merged or corrected."""

from __future__ import annotations

import msgspec

from models import ids
from models.facts import Fact
from processors.facts.evidence import Floor
from processors.facts.timeline import Mark


class Stub(msgspec.Struct, frozen=True, array_like=True):
    """What is left of a fact that was merged (``into`` another) or corrected: enough to know it again.

    ``since``: the position in the log of the candidate that merged it.  ``slot_id``: the slot that it was in.
    Whose it was and in which conversations it was said is known of one that was corrected: nothing else stands
    for it when they are erased; and of one that was merged and can be brought back: ``fact`` is what it was,
    ``marks`` those that it had, ``gave`` the windows that the other had no evidence of before, ``let_go`` how
    much evidence it had that it named no more, and ``narrowed`` to which part of it the other's distance to
    certainty shrank.  ``voided_by``: of one that was corrected, by what the window of what was said instead is
    known again (:func:`voided_by`); that is erased without anybody's finding this.
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
    let_go: int = 0
    narrowed: float = 1.0
    voided_by: str = ""


class Given(msgspec.Struct, frozen=True, array_like=True):
    """What the fact that was merged last into one of a line has given it; fields as those of :class:`Stub`.

    The line of the fact that stays is stored first: if nothing else was before a crash, the stub is made of
    this.
    """

    fact_id: str
    gave: tuple[str, ...] = ()
    let_go: int = 0
    narrowed: float = 1.0


def voided_by(window_id: str | None) -> str:
    """Return what is remembered of the window in which something was said instead of a fact."""
    return ids.deterministic_id("voided", window_id) if window_id else ""


def stub_of(fact: Fact, floors: tuple[Floor, ...], voided_by: str = "") -> Stub:
    """Return what is left of a fact that never was so."""
    return Stub(
        fact.fact_id,
        fact.version,
        floors=floors,
        slot_id=fact.slot_id,
        tenant_id=fact.tenant_id,
        user_id=fact.user_id,
        conversation_ids=tuple(sorted({each.conversation_id for each in fact.provenance})),
        voided_by=voided_by,
    )
