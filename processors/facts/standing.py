"""Resolution of a claim to the fact that stands for it: itself, or the target of a merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from models.facts import Provenance
from processors.facts.claims import Claim, claim_of
from processors.facts.evidence import Floor, ceilings, is_under
from processors.facts.lines import STUBS_LIMIT, Line
from processors.facts.stubs import Led


class Standing(NamedTuple):
    """``claim``: with line, id and opposite of the fact that stands for it.

    ``is_known``: the evidence is, to a fact that was corrected and merged before or after.  ``released``: what
    the fact was merged into and is not any more, and up to where evidence was known to that.
    """

    claim: Claim
    is_known: bool = False
    released: tuple[Led, tuple[Floor, ...]] | None = None


def stands_for(fact_id: str, line_id: str, line_of: Callable[[str], Line], position: int) -> str:
    """Return the fact that one was part of at a position in the log: itself if it was not merged."""
    for _ in range(STUBS_LIMIT):
        stub = line_of(line_id).stub(fact_id)
        led = None if stub is None else stub.leads(position)
        if led is None:
            break
        fact_id, line_id = led.into, led.into_line
    return fact_id


def standing(
    claim: Claim, evidence: Provenance, line_of: Callable[[str], Line], position: int, taken_back: str
) -> Standing:
    """Return the fact that stands for a claim at a position in the log.

    ``taken_back``: the fact that the claim is made instead of, ``""`` if there is none.
    """
    own, line, is_known, first = claim, line_of(claim.line_id), False, None
    for _ in range(STUBS_LIMIT):
        stub = line.stub(own.fact_id)
        led = None if stub is None else stub.leads(position)
        if stub is None or led is None:
            break
        first = first or led
        is_known = is_known or is_under(evidence, led.floors)
        line = line_of(led.into_line)
        fact, rest = line.fact(led.into), line.stub(led.into)
        floors: tuple[Floor, ...] | None = None
        if rest is not None and (void := rest.voided(led.since, position)) is not None:
            floors = void.floors
        elif fact is None and rest is not None and rest.was_void(position):
            floors = rest.floors
        elif fact is not None and led.into == taken_back and fact.slot_id == claim.slot_id:
            floors = ceilings(fact.provenance, () if rest is None else rest.floors)
        if floors is not None:
            return Standing(claim, is_known or is_under(evidence, floors), (first, floors))
        if fact is None and rest is None:
            return Standing(claim, is_known)  # it is gone
        own = own._replace(line_id=led.into_line, fact_id=led.into)
        if fact is not None:
            own = own._replace(opposite_id=claim_of(fact).opposite_id)
    return Standing(own, is_known)
