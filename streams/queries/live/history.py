"""History of a conversation from the log, as the same events that are seen live, for a replay."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from models.errors import DependencyUnavailable
from streams.clients.catalog import Catalog
from streams.clients.kafka.lookup import Lookup
from streams.clients.topics import WINDOWS
from streams.config.settings import Settings
from streams.llm.tokenizer import open_counter
from streams.queries.live.interest import Interest
from streams.queries.live.numbering import Reached, numbered, reached
from streams.queries.live.records import TOPICS, EventKind, Happened, Seen, read

#: What a conversation consists of.  Its responses are left out: what became of them are messages.
OF_THE_CONVERSATION = frozenset(
    {EventKind.MESSAGE, EventKind.PUNCTUATION, EventKind.WINDOW, EventKind.SUMMARY_REQUESTED, EventKind.SUMMARY}
)
OF_ITS_PEOPLE = frozenset({EventKind.CANDIDATES, EventKind.FACT})


_READ_SECONDS = 25.0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """When windows end and summaries begin: messages, messages, seconds, tokens; how long the log has windows
    (seconds, 0: for ever).
    """

    window_size: int
    window_overlap: int
    idle_seconds: float
    token_threshold: int
    windows_kept_seconds: float


class Place(msgspec.Struct, frozen=True):
    """A partition, and up to where it was read (the offset after the last record)."""

    topic: str
    partition: int
    read_to: int


class ConversationLog(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation's newest events in order of their arrival, and who spoke in what was read for them.

    ``earlier``: how many older ones were read and left out, 0 only if there are none: of each topic no more is
    read than was asked for, and one.
    """

    conversation_id: str
    tenant_id: str
    people: list[str]
    events: list[Happened]
    earlier: int
    read: list[Place]
    policy: Policy


class History:
    """Reads the topics for one question: no group, no state."""

    def __init__(self, settings: Settings, catalog: Catalog, lookup: Lookup) -> None:
        self._settings = settings
        self._catalog = catalog
        self._lookup = lookup
        self._count = open_counter(settings.tokenizer)

    async def log(self, interest: Interest, limit: int) -> ConversationLog:
        """Return the newest ``limit`` events of ``interest.conversation_id``, what came of it included.

        Raises :class:`DependencyUnavailable` when the broker does not answer, or not all in time.
        """
        try:
            async with asyncio.timeout(_READ_SECONDS):
                of_all = replace(interest, kinds=OF_THE_CONVERSATION)
                until = await reached(self._lookup, interest.tenant_id, interest.conversation_id)
                said = await self._read(of_all, interest.conversation_id, limit + 1, until)
                people = sorted({each.user_id for part in said for each in part.seen if each.user_id})
                about = [replace(interest, user_id=name, kinds=OF_ITS_PEOPLE) for name in people]
                learned = await asyncio.gather(
                    *(self._read(each, each.user_id, limit + 1, until) for each in about)
                )
        except TimeoutError:
            raise DependencyUnavailable(
                "kafka", f"reading the log of the conversation took more than {_READ_SECONDS:g} s: try again"
            ) from None
        parts = [*said, *(part for each in learned for part in each)]
        events = sorted((each.event for part in parts for each in part.seen), key=_order)
        return ConversationLog(
            conversation_id=interest.conversation_id,
            tenant_id=interest.tenant_id,
            people=people,
            events=events[-limit:],
            earlier=max(0, len(events) - limit),
            read=sorted({part.place for part in parts}, key=lambda place: (place.topic, place.partition)),
            policy=Policy(
                window_size=self._settings.window_size,
                window_overlap=self._settings.window_overlap,
                idle_seconds=self._settings.idle_seconds,
                token_threshold=self._settings.token_threshold,
                windows_kept_seconds=(self._catalog.get(WINDOWS).retention_ms or 0) / 1000,
            ),
        )

    async def _read(self, interest: Interest, name: str, newest: int, until: Reached) -> list[_Part]:
        """Read the topics that hold what is wanted, all of which are routed by ``name``: the ``newest`` of
        each, if there are so many."""
        topics = [
            topic
            for topic, about in TOPICS.items()
            if topic in self._catalog and any(interest.wants(kind) for kind in about.kinds)
        ]
        read_all = await asyncio.gather(*(self._part(interest, topic, name, newest, until) for topic in topics))
        return [part for part in read_all if part is not None]

    async def _part(
        self, interest: Interest, topic: str, name: str, newest: int, until: Reached
    ) -> _Part | None:
        asked = newest
        everybodys = partial(_concerns, replace(interest, only_person=""))
        while (found := await self._lookup.find(topic, name.encode(), asked)) is not None:
            seen = [each for record in found.records if (each := read(record, topic, self._count)) is not None]
            ours = [each for each in numbered(seen, everybodys, until) if _concerns(interest, each)]
            if len(ours) >= newest or not found.earlier:
                return _Part(Place(topic, found.partition, found.read_to), ours)
            asked *= 4  # others' were among them, or what compaction has taken
        return None


class _Part(NamedTuple):
    """Events of one topic."""

    place: Place
    seen: list[Seen]


def _concerns(interest: Interest, seen: Seen) -> bool:
    return seen.tenant_id is not None and interest.concerns(
        seen.event.kind, seen.tenant_id, seen.user_id, seen.conversations
    )


def _order(event: Happened) -> tuple[object, ...]:
    return event.at, list(TOPICS).index(event.topic), event.partition, event.offset
