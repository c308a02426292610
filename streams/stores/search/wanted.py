"""Search query and its scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from models.facts import Fact
from models.index import EpisodeFilter, TurnFilter
from models.messages import DEFAULT_TENANT
from models.statements import Kind
from models.turns import Turn, metadata_label
from processors.facts.confidence import ACTIVE_FROM
from processors.retrieval.recall.question import InvalidQuestion

#: Most results of one search.
MOST_RESULTS = 100

#: Beyond these a time has no date in UTC.
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

#: Below this a fact is no answer to an explicit search.
MINIMUM_CONFIDENCE = ACTIVE_FROM


def kinds_of(text: str) -> tuple[Kind, ...]:
    """Return the kinds of facts that a list with commas names; none for an empty text.

    Raises:
        InvalidQuestion: one of them is no kind.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in [*Kind]:
            raise InvalidQuestion(f"kind is {name[:40]!r}: facts are of the kinds {', '.join(Kind)}")
    return tuple(dict.fromkeys(map(Kind, names)))


class SearchType(StrEnum):
    """Type of a search.  ``both``: facts, and what was said, turn by turn.  ``episodes``: ranges of turns."""

    BOTH = "both"
    FACTS = "facts"
    EPISODES = "episodes"
    TURNS = "turns"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Search query and its scope.

    ``conversation_id``, ``since`` (included) and ``until`` (not included) bound turns and episodes by when they
    were said, and facts by the messages that they rest on.  ``as_of``: facts that held then, and what had been
    said by then.  ``kinds``: facts of these kinds only.  ``metadata``: turns whose messages have all of these
    fields with these values, and nothing but turns.
    """

    query: str
    user_id: str
    tenant_id: str = DEFAULT_TENANT
    search_type: SearchType = SearchType.BOTH
    limit: int = 5
    minimum_confidence: float = MINIMUM_CONFIDENCE
    conversation_id: str = ""
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    kinds: Sequence[Kind] = ()
    metadata: Mapping[str, str] = {}

    def check(self) -> None:
        """Raise :class:`InvalidQuestion` if nothing could ever be found this way."""
        if not 1 <= self.limit <= MOST_RESULTS:
            raise InvalidQuestion(f"limit is {self.limit}: ask for 1 to {MOST_RESULTS} results")
        for name, at in (("from", self.since), ("to", self.until), ("as_of", self.as_of)):
            if at is not None and at.tzinfo is None:
                raise InvalidQuestion(f"{name} has no time zone: write it as 2026-03-01T00:00:00Z")
            if at is not None and not _FIRST <= at <= _LAST:
                raise InvalidQuestion(f"{name} ({at.isoformat()}) is before the year 1 or after 9999 in UTC")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidQuestion(
                f"the time range ends ({self.until.isoformat()}) before it begins ({self.since.isoformat()}): "
                "to must be later than from"
            )
        if self.since is not None and self.as_of is not None and self.since > self.as_of:
            raise InvalidQuestion(
                f"as_of ({self.as_of.isoformat()}) is before from ({self.since.isoformat()}): nothing was said "
                "in between; leave one of them out"
            )
        if self.metadata and (self.kinds or self.search_type not in (SearchType.TURNS, SearchType.BOTH)):
            raise InvalidQuestion(
                "metadata is of what was said, and neither of facts nor of episodes: use search_type=turns "
                "or both, without kind"
            )
        if self.kinds and not self.searches_facts:
            raise InvalidQuestion(
                f"kind is of facts, and search_type={self.search_type.value} searches none: use facts or both"
            )

    @property
    def searches_facts(self) -> bool:
        """True if facts are searched."""
        return self.search_type in (SearchType.FACTS, SearchType.BOTH) and not self.metadata

    @property
    def searches_turns(self) -> bool:
        """True if turns are searched: they have no kind."""
        return self.search_type in (SearchType.TURNS, SearchType.BOTH) and not self.kinds

    @property
    def before(self) -> datetime | None:
        """Before which moment things must have been said."""
        return min((at for at in (self.until, self.as_of) if at is not None), default=None)

    def turns(self) -> TurnFilter:
        """Return the filter for turns."""
        return TurnFilter(
            user_id=self.user_id,
            tenant_id=self.tenant_id,
            conversation_id=self.conversation_id,
            since=self.since,
            until=self.before,
            labels=tuple(metadata_label(key, text) for key, text in self.metadata.items()),
        )

    def episodes(self) -> EpisodeFilter:
        """Return the filter for episodes."""
        return EpisodeFilter(
            user_id=self.user_id,
            tenant_id=self.tenant_id,
            conversation_id=self.conversation_id,
            since=self.since,
            until=self.before,
        )

    def covers_turn(self, turn: Turn) -> bool:
        """Tell whether a turn is among those that are searched (:meth:`turns`)."""
        return (
            (turn.user_id, turn.tenant_id) == (self.user_id, self.tenant_id)
            and self.conversation_id in ("", turn.conversation_id)
            and (self.since is None or turn.sent_at >= self.since)
            and (self.before is None or turn.sent_at < self.before)
            and self.metadata.items() <= turn.metadata.items()
        )

    def covers(self, fact: Fact) -> bool:
        """Tell whether a fact rests on something of the conversation and the time that is asked for."""
        if not self.conversation_id and self.since is None and self.until is None:
            return True
        return any(
            self.conversation_id in ("", source.conversation_id)
            and (self.since is None or source.sent_at >= self.since)
            and (self.until is None or source.sent_at < self.until)
            for source in fact.provenance
        )
