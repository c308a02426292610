"""State of the facts stage: its keys, and how a fold reads it.

Under a ``slot_id`` the line of a slot (:mod:`processors.facts.lines`); under a ``fact_id`` the line of a value
of a slot that holds many, or in which line that fact is found; under ``<id>/erased`` what is remembered of the
erasure of a fact, a conversation or a person; under an id of their own a person's preferences by what they name
(:mod:`processors.facts.preference_aliases`).
"""

from __future__ import annotations

import msgspec

from models.facts import Erasure, Fact, FactCandidate
from processors.facts.claims import claim_of
from processors.facts.lines import Line, Place
from processors.facts.preference_aliases import Known, Preferences, as_known, is_held, is_shown, preferences_id
from streams.runtime.codec import Codec
from streams.runtime.keyed import Work

#: A line, or where a fact's line is.  JSON, because what was stored must be published as what was just made:
#: MessagePack would turn the times into UTC.
State = Line | Place | Preferences
STATE: Codec[State] = Codec("facts", State, form=msgspec.json)

#: What is remembered of the erasure of a fact, under :func:`erasure_key`; it stays when the fact is gone.
ERASURE: Codec[Erasure] = Codec("erasure", Erasure)


def erasure_key(fact_id: str) -> bytes:
    """Return the key of the state under which the erasure of a fact is remembered."""
    return f"{fact_id}/erased".encode()


def erasure_of(fact_id: str, work: Work) -> Erasure | None:
    return work.get(erasure_key(fact_id), ERASURE)


def line_of(line_id: str, work: Work) -> Line | None:
    found = work.get(line_id.encode(), STATE)
    return found if isinstance(found, Line) else None


def _preferences(key: bytes, work: Work) -> Preferences:
    found = work.get(key, STATE)
    return found if isinstance(found, Preferences) else Preferences()


def as_known_before(candidate: FactCandidate, position: int, work: Work) -> FactCandidate:
    """The candidate in the slot of the preference that it names."""

    def fact_of(known: Known) -> Fact | None:
        line = line_of(known.line_id, work)
        return None if line is None else line.fact(known.fact_id)

    if not is_shown(candidate):
        return candidate
    preferences = _preferences(preferences_id(candidate).encode(), work)
    return as_known(candidate, preferences, position, fact_of)


def remember(said: FactCandidate, position: int, work: Work) -> None:
    """Remember a preference by what it names: in a replay as well, which may find its fact stored."""
    if not is_held(said):
        return
    key, claim = preferences_id(said).encode(), claim_of(said)
    before = _preferences(key, work)
    after = before.with_known(Known(claim.fact_id, claim.line_id, position))
    if after is not before:
        work.put(key, after, STATE, first=True)
