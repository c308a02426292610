"""Preferences by what they name, whichever slot they were told in.

"I'm done with Radio Nord" must end "favourite station is Radio Nord", and whoever asks for Radio Nord tells
nothing new, although neither sentence says what slot it is about.  So a person's preferences are found again by
their value; what is told surely ("my favourite podcast is ...") stands in the slot that it names.

Which preferences are known depends on what stands before a candidate in the log alone, and not on which of them
hold by now: a replay finds the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from models import ids
from models.facts import Fact, FactCandidate, FactStatus
from models.statements import SELF, Assertion, Polarity
from processors.facts.claims import claim_of, normalized_subject, singular
from processors.facts.evidence import ever_held, is_tentative

#: How many preferences of a person are found by what they name: the latest.
KNOWN_LIMIT = 64


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LIKE, _FAVOURITE, _HABIT = "like", "favourite", "habit"
_WORD = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
#: "Wi-Fi" is spelt without it as well.
_HYPHEN = re.compile(r"(?<=\b\w\w)-(?=\w\w\b)")
_FUNCTION = _words(
    "a an the my their our some any all of by at in on for to from with and or as be is are them they it that "
    "more other than"
)
#: What a preference is of, as far as its slot or its sentence says so: "rap", "rap music" and "rap songs".
_OF = _words(
    "music song tune track album podcast episode show news radio station channel network restaurant food "
    "option place spot store shop genre topic setting level playlist brand chain app service stuff update list "
    "speed brightness subject phase"
)
#: How what one prefers is used: "listening to jazz" and "jazz".
_USING = re.compile(
    r"(?:listening to|tuning in ?to|driving on|going to|shopping at|eating at|filling up at|charging at|"
    r"staying at|flying with|parking (?:on|in)|paying (?:with|by|in)|using|taking|playing|watching|eating|"
    r"drinking|visiting|buying|reading|having) (?=\w)",
    re.IGNORECASE,
)


class Known(msgspec.Struct, frozen=True, array_like=True):
    """A preference: its fact, the line that it is in, and the position in the log from which on it is known."""

    fact_id: str
    line_id: str
    since: int = 0


class Preferences(msgspec.Struct, frozen=True, tag="preferences"):
    """The preferences of a person, in the order in which they were first told."""

    known: tuple[Known, ...] = ()

    def with_known(self, new: Known) -> Preferences:
        """Return them with one more; the same object if it is known."""
        if any(each.fact_id == new.fact_id for each in self.known):
            return self
        known = sorted((*self.known, new), key=lambda each: each.since)
        return Preferences(tuple(known[-KNOWN_LIMIT:]))


def preferences_id(said: FactCandidate | Fact) -> str:
    """Return under which id a person's preferences are known."""
    return ids.slot_id(said.tenant_id, said.user_id, SELF, "preferences")


def is_preference(said: FactCandidate | Fact) -> bool:
    """Return whether a statement is a preference of the person."""
    base = said.attribute.partition("/")[0].strip().casefold()
    return base in (_LIKE, _FAVOURITE) and normalized_subject(said.subject) == SELF


def is_shown(said: FactCandidate | Fact) -> bool:
    """Return whether a statement says a preference, or shows it by a habit."""
    return is_preference(said) or (
        said.attribute.strip().casefold() == _HABIT and normalized_subject(said.subject) == SELF
    )


def is_known_by_name(fact: Fact) -> bool:
    """Return whether other facts with the same name are about this one."""
    return is_shown(fact) and fact.polarity is Polarity.AFFIRMED and ever_held(fact)


def is_held(said: FactCandidate) -> bool:
    """Return whether a statement makes a preference known from then on."""
    affirmed = said.polarity is Polarity.AFFIRMED and said.assertion is not Assertion.ENDED
    return is_shown(said) and affirmed and bool(said.value)


def as_known(
    said: FactCandidate, preferences: Preferences, position: int, fact_of: Callable[[Known], Fact | None]
) -> FactCandidate:
    """Return the candidate in the slot and the words of the preference that it names, else as it is.

    Only what ends or denies a preference, or asks for something once, is about another slot than it says.
    ``position``: of the candidate in the log; ``fact_of`` looks a preference up.
    """
    denies = said.polarity is Polarity.NEGATED or said.assertion is Assertion.ENDED
    if not is_shown(said) or not said.value or said.assertion is Assertion.CORRECTED:
        return said
    if not denies and not is_tentative(said):
        return said
    claim = claim_of(said)
    before = [each for each in preferences.known if each.since < position]
    if any(each.fact_id in (claim.fact_id, claim.opposite_id) for each in before):
        return said
    facts = (fact for each in reversed(before) if (fact := fact_of(each)) is not None)
    known = _named(said, facts, denies=denies)
    if known is None:
        return said
    return msgspec.structs.replace(
        said, attribute=known.attribute, subject=known.subject, value=known.value, kind=known.kind, refines=()
    )


def _named(said: FactCandidate, facts: Iterable[Fact], *, denies: bool) -> Fact | None:
    """The preference that is named: the latest."""
    return next((fact for fact in facts if _names(said, fact, denies=denies)), None)


def _names(said: FactCandidate, fact: Fact, *, denies: bool) -> bool:
    if fact.status is FactStatus.MERGED_INTO:
        return False
    here, there = _essence(said.value, fact.attribute), _essence(fact.value, fact.attribute)
    if here == there:
        return True
    less, more = (here, there) if len(here) <= len(there) else (there, here)
    if not less < more:
        return False
    if _is_name(said.value if less is here else fact.value):
        return True
    # Who wants no rock wants no classic rock either; but "likes no green tea" says nothing of tea.
    return denies and less is here and _FAVOURITE in (said.attribute[:9], fact.attribute[:9])


def _essence(value: str, attribute: str) -> frozenset[str]:
    """The words that tell a value apart in a slot, or all of them if none does."""
    spelt = _HYPHEN.sub("", _USING.sub("", value.casefold(), count=1))
    words = [singular(word.replace("’", "'").removesuffix("'s")) for word in _WORD.findall(spelt)]
    words = [word for word in words if word not in _FUNCTION] or words
    topic = {singular(word) for word in attribute.partition("/")[2].split()}
    told = frozenset(word for word in words if word not in _OF and word not in topic)
    return told or frozenset(words)


def _is_name(value: str) -> bool:
    value = _USING.sub("", value, count=1)
    return all(word[0].isupper() or word[0].isdigit() for word in value.split() if word not in _FUNCTION)
