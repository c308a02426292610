"""What people may say, in any order, for properties of facts; and the state of the facts stage as plain
dicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

import msgspec
import samples
import told_facts
from hypothesis import strategies as st

from models.facts import Fact, FactCandidate, FactStatus
from models.ids import candidate_id
from models.statements import Assertion, Kind, Polarity, attribute_of
from processors.facts.claims import claim_of

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
PARTITIONS = 3
WORDINGS = {"berlin": ["Berlin", "berlin.", "  BERLIN"], "munich": ["Munich", "munich", "“Munich”"]}
VALUES = {
    "home": ["berlin", "munich", "Lyon"],
    "like": ["tea", "tea, with milk", "Jazz"],
    "pet": ["a dog", "cats"],
    "": [""],
}


class Says(NamedTuple):
    """``sent``: minutes after noon, in any order; ``began``: since when it is so, if that is said."""

    attribute: str
    value: str
    polarity: Polarity
    assertion: Assertion
    conversation: int
    sent: int
    confidence: float
    began: int | None = None


#: Made once: to make a strategy takes longer than to draw from it.
_CONVERSATIONS, _SENT, _CONFIDENCES = st.integers(0, 5), st.integers(0, 1000), st.floats(0, 1)
_BEGAN = st.none() | st.integers(-1000, 1000)
_TWO, _HOLDS_OR_CORRECTS = st.integers(0, 1), st.sampled_from([Assertion.HOLDS, Assertion.CORRECTED])


@cache
def _any_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


def says(attributes: Sequence[str] = tuple(VALUES), *, correcting: bool = True) -> st.SearchStrategy[Says]:
    """Return what may be said of these attributes."""

    rest = [Assertion.ENDED, Assertion.CORRECTED] if correcting else [Assertion.ENDED]
    assertions = st.sampled_from([Assertion.HOLDS, Assertion.HOLDS, Assertion.HOLDS, *rest])
    polarities = st.sampled_from([Polarity.AFFIRMED, *Polarity])

    @st.composite
    def one(draw: st.DrawFn) -> Says:
        attribute = draw(_any_of(*attributes))
        assertion = draw(assertions)
        polarity = draw(polarities)
        value = draw(_any_of(*VALUES[attribute]))
        value = draw(_any_of(*WORDINGS.get(value, [value])))
        return Says(
            attribute,
            value,
            polarity,
            assertion,
            draw(_CONVERSATIONS),
            draw(_SENT),
            draw(_CONFIDENCES),
            draw(_BEGAN),
        )

    return one()


@st.composite
def retold(draw: st.DrawFn) -> list[Says]:
    """Draw the sayings about one slot in their order, corrections among them."""
    story = []
    for sent in range(draw(st.integers(1, 12))):
        value = draw(_any_of(*VALUES["like"]))
        assertion = draw(_HOLDS_OR_CORRECTS)
        story.append(Says("like", value, Polarity.AFFIRMED, assertion, draw(_TWO), sent, 0.9))
    return story


def candidate(said: Says, offset: int, sent_at: datetime | None = None) -> FactCandidate:
    """Return the candidate of one window, as the extraction stage would publish it."""
    sent = sent_at or NOON + timedelta(minutes=said.sent)
    evidence = samples.evidence(
        "as it was said",
        at=sent,
        conversation_id=f"c{said.conversation}",
        window_id=f"w{offset}",
        window_end_id=f"m{offset}",
        message_ids=(f"m{offset}",),
        partition=said.conversation % PARTITIONS,
        offsets=(offset,),
        arrived_at=NOON + timedelta(days=1, seconds=offset),
        since=None if said.began is None else NOON + timedelta(minutes=said.began),
    )
    attribute = attribute_of(said.attribute)
    return samples.candidate(
        f"User: {said.attribute} {said.value}" if said.attribute else "User hums",
        evidence,
        candidate_id=candidate_id("fact", evidence.conversation_id, evidence.message_ids),
        user_id="ann",
        kind=Kind.STATE if attribute is None else attribute.kind,
        attribute=said.attribute,
        value=said.value,
        polarity=said.polarity,
        assertion=said.assertion,
        confidence=said.confidence,
    )


def candidates(story: Sequence[Says]) -> list[FactCandidate]:
    """Return one candidate each, no two said at the same time.

    A correction names the fact of its slot that came before it in the log.
    """
    found = list[FactCandidate]()
    latest: dict[str, str] = {}
    for offset, said in enumerate(story):
        each = candidate(said, offset, NOON + timedelta(minutes=said.sent, milliseconds=offset))
        own, before = claim_of(each).fact_id, latest.get(said.attribute, "")
        if said.assertion is Assertion.CORRECTED and said.attribute and before != own:
            each = msgspec.structs.replace(each, corrects=before)
        latest[said.attribute] = own
        found.append(each)
    return found


class Memory(told_facts.Memory):
    """All lines, and the topic: what a stage without crashes would have."""

    def learn(self, said: FactCandidate) -> list[Fact]:
        """Fold one candidate in; return what it changed."""
        changes: list[Fact] = self.hears(said)
        return changes

    def living(self) -> set[str]:
        """The facts that hold, by what they say."""
        return {
            f"{fact.attribute}:{fact.fact_id}"
            for fact in self.topic.values()
            if fact.status is FactStatus.ACTIVE
        }
