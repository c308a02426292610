"""Statements about a person, in parts: whose, which attribute, which value, true or not, and when.

A statement is not its wording.  *Subject* and *attribute* name a slot ("where does this person live"), the
*value* fills it, and the sentence is only for display: three wordings of one thing are one fact, and a new
value in a slot that holds one takes the place of the old.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

import msgspec

from models.messages import Identifier, Timestamp

Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]

#: How much it matters that a statement is not forgotten.  3: forgetting it does harm (an allergy, a child's
#: name, an instruction); 2: clearly worth having; 1: nice to have.
Importance = Annotated[int, msgspec.Meta(ge=1, le=3)]

#: The subject of what a person says about himself.  Others are named as he names them: "sister", "Anna".
SELF = "user"


class Kind(StrEnum):
    """Kind of a statement; it decides how fast a fact fades."""

    STATE = "state"
    PREFERENCE = "preference"
    EVENT = "event"
    INSTRUCTION = "instruction"
    PROFILE = "profile"
    RELATION = "relation"


class Polarity(StrEnum):
    """Polarity of a value: "likes coffee", "does not like coffee"."""

    AFFIRMED = "affirmed"
    NEGATED = "negated"


class Assertion(StrEnum):
    """Effect of a statement on earlier ones.

    ``holds``: it is so.  ``ended``: it was so and is no longer ("I no longer work there").  ``corrected``: what
    the slot held was never so ("sorry, Munich"); in a slot of several values, the fact that a candidate names.
    """

    HOLDS = "holds"
    ENDED = "ended"
    CORRECTED = "corrected"


class Change(StrEnum):
    """Change of a known fact that a statement makes.

    ``again``: the fact, once more.  ``replaces``: it was so until now, and this is so instead.  ``ends``: it is
    no longer so.  ``corrects``: it never was so, and this is.
    """

    NEW = "new"
    AGAIN = "again"
    REPLACES = "replaces"
    ENDS = "ends"
    CORRECTS = "corrects"


class Precision(StrEnum):
    """How much of a date was said; the rest is the first moment of it."""

    MINUTE = "minute"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"


class Attribute(msgspec.Struct, frozen=True):
    """A slot: what kind of thing fills it, whether it holds one value, whether its name is qualified.

    ``single``: a new value takes the place of the old.  ``qualified``: it is written with what it is about,
    as in ``favourite/cuisine``, and each of these is a slot of its own.
    """

    kind: Kind
    single: bool = False
    qualified: bool = False


#: Every attribute there is; anything else is refused.
ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "name": Attribute(Kind.PROFILE, single=True),
        "age": Attribute(Kind.PROFILE, single=True),
        "birthday": Attribute(Kind.PROFILE, single=True),
        "origin": Attribute(Kind.PROFILE, single=True),
        "language": Attribute(Kind.PROFILE),
        "family": Attribute(Kind.PROFILE),
        "education": Attribute(Kind.PROFILE),
        "home": Attribute(Kind.STATE, single=True),
        "occupation": Attribute(Kind.STATE, single=True),
        "employer": Attribute(Kind.STATE, single=True),
        "relationship": Attribute(Kind.STATE, single=True),
        # Who it is, by name: "I'm married" is in ``relationship`` and stays when the name becomes known.
        "partner": Attribute(Kind.STATE, single=True),
        "diet": Attribute(Kind.STATE, single=True),
        "pet": Attribute(Kind.STATE),
        "possession": Attribute(Kind.STATE),
        "allergy": Attribute(Kind.STATE),
        "medicine": Attribute(Kind.STATE),
        "constraint": Attribute(Kind.STATE),
        "health": Attribute(Kind.STATE),
        "habit": Attribute(Kind.STATE),
        "like": Attribute(Kind.PREFERENCE),
        "favourite": Attribute(Kind.PREFERENCE, single=True, qualified=True),
        "feedback": Attribute(Kind.PREFERENCE),
        "event": Attribute(Kind.EVENT),
        "plan": Attribute(Kind.EVENT),
        "instruction": Attribute(Kind.INSTRUCTION),
        # One of the tenant's own (:mod:`models.policies`).
        "category": Attribute(Kind.STATE, qualified=True),
    }
)


def attribute_of(name: str) -> Attribute | None:
    """Return the attribute of that name (``home``, ``favourite/cuisine``), ``None`` if there is none."""
    base, slash, qualifier = name.partition("/")
    found = ATTRIBUTES.get(base)
    if found is None or found.qualified != bool(slash) or bool(qualifier.strip()) != bool(slash):
        return None
    return found


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """Statement of an extractor: who said what of whom, and in which messages.

    ``user_id`` is the person whose memory it belongs to.  ``attribute`` is empty for what fits no slot; it is
    then its text that tells it apart.  ``event_at`` is when it happened or will, as precisely as
    ``event_precision`` says; relative dates are resolved against ``sent_at`` of the message.  ``since`` is when
    what holds began, where that was said ("since 2019", "I moved in January").  ``statement`` is for display;
    ``quote`` is what it was taken from, as written; ``source_message_ids`` are in the order of the window.
    ``why`` says what weighed most when the extractor kept it; it holds no words of the message.
    ``change`` says what it means for the fact ``known``, which its extractor was shown; without one it is new.
    """

    user_id: Identifier
    kind: Kind
    statement: Annotated[str, msgspec.Meta(min_length=1)]
    confidence: Probability
    source_message_ids: tuple[Identifier, ...]
    quote: str
    subject: Annotated[str, msgspec.Meta(min_length=1, max_length=256)] = SELF
    attribute: Annotated[str, msgspec.Meta(max_length=128)] = ""
    value: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    polarity: Polarity = Polarity.AFFIRMED
    assertion: Assertion = Assertion.HOLDS
    event_at: Timestamp | None = None
    event_precision: Precision | None = None
    since: Timestamp | None = None
    since_precision: Precision | None = None
    importance: Importance = 2
    why: Annotated[str, msgspec.Meta(max_length=256)] = ""
    change: Change = Change.NEW
    known: Annotated[str, msgspec.Meta(max_length=256)] = ""
