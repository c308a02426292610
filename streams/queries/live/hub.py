"""Subscriptions and the delivery of events.  No broker in here: :mod:`.reader` brings the records."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator

from processors.text.tokens import TokenCounter
from streams.clients.catalog import Catalog
from streams.clients.records import SourceRecord
from streams.config.printing import encode_json
from streams.queries.live.channel import Channel, Framed
from streams.queries.live.interest import Interest
from streams.queries.live.records import TOPICS, EventKind, Happened, Seen, may_concern, read

#: How many events a channel keeps for those who were away, and how much memory all of them may take (bytes).
MOST_EVENTS = 1000
MOST_BYTES = 32 << 20
_LEAST_BYTES = 64 << 10

#: For how long what somebody watched is still read after they have left (seconds): they may come back.
LINGER_SECONDS = 30.0

#: What an event's number never has; Python refuses to read one of thousands.
_MOST_DIGITS = 20

GAP = "gap"

_PERSON, _CONVERSATION = "person", "conversation"


class Watcher:
    """One reader of a channel.  Made by :meth:`Hub.join`."""

    def __init__(self, channel: Channel, number: int, resumed: bool) -> None:
        self._channel = channel
        self._token = channel.token
        self._number = number
        self.resumed = resumed

    @property
    def is_over(self) -> bool:
        """True if nothing comes any more."""
        return self._channel.is_over

    @property
    def id(self) -> str:
        """Where this reader is: what it sends as ``Last-Event-ID`` when it comes back."""
        return f"{self._token}-{self._number}"

    def take(self, most: int = 100) -> list[tuple[str, Framed]]:
        """Return the new events, each with its id; one event ``gap`` after a loss."""
        events = self._channel.after(self._token, self._number)
        if events is None:
            self._token, self._number = self._channel.token, self._channel.last
            return [(self.id, Framed(self._number, GAP, b"{}"))]
        taken = []
        for event in events[:most]:
            self._number = event.number
            taken.append((self.id, event))
        return taken

    async def wait(self, timeout_seconds: float) -> bool:
        """Return whether there is something to look at, after ``timeout_seconds`` at the latest."""
        return await self._channel.wait(timeout_seconds)


class Hub:
    """The channels of one process, one for each thing that is watched.

    ``clock``: seconds, of which only differences count.  ``count``: how many tokens a text is.
    """

    def __init__(self, catalog: Catalog, clock: Callable[[], float], count: TokenCounter) -> None:
        self._catalog = catalog
        self._clock = clock
        self._count = count
        self._channels: dict[Interest, Channel] = {}
        self._conversations: frozenset[bytes] | None = frozenset()
        self._is_over = False
        self._by_name: dict[tuple[str, str], list[tuple[Interest, Channel]]] = {}

    def join(self, interest: Interest, last_id: str = "") -> tuple[Channel, Watcher]:
        """Begin to watch, where ``last_id`` left off if that is still known; end with :meth:`leave`."""
        channel = self._channels.get(interest)
        if channel is None:
            channel = Channel(secrets.token_hex(4), MOST_EVENTS, _LEAST_BYTES)
            self._channels[interest] = channel
            self._changed()
        if self._is_over:
            channel.end()
        channel.readers += 1
        token, _, number = last_id.rpartition("-")
        is_number = number.isdecimal() and len(number) < _MOST_DIGITS
        resumed = is_number and channel.after(token, int(number)) is not None
        return channel, Watcher(channel, int(number) if resumed else channel.last, resumed)

    def leave(self, channel: Channel) -> None:
        """One reader less.  What it watched is read on for :data:`LINGER_SECONDS`."""
        channel.readers -= 1
        channel.left_at = self._clock()

    def expire(self) -> None:
        """Forget what nobody has watched for a while."""
        until = self._clock() - LINGER_SECONDS
        gone = [
            interest
            for interest, channel in self._channels.items()
            if not channel.readers and channel.left_at <= until
        ]
        for interest in gone:
            del self._channels[interest]
        if gone:
            self._changed()

    def _changed(self) -> None:
        share = MOST_BYTES // max(len(self._channels), 1)
        for channel in self._channels.values():
            channel.most_bytes = max(share, _LEAST_BYTES)
        plain = [interest for interest in self._channels if interest.view is None]
        everything = any(not interest.conversation_id for interest in plain)
        self._by_name = {}
        for interest, channel in self._channels.items():
            if interest.view is None:
                conversation = interest.conversation_id
                name = (_CONVERSATION, conversation) if conversation else (_PERSON, interest.user_id)
                self._by_name.setdefault(name, []).append((interest, channel))
        self._conversations = (
            None if everything else frozenset(interest.conversation_id.encode() for interest in plain)
        )

    def places(self) -> frozenset[tuple[str, int]]:
        """Return the topics (contract names) and partitions that somebody watches."""
        return frozenset(place for interest in self._channels for place in interest.places(self._catalog))

    def watches(self, kind: EventKind) -> bool:
        """Tell whether anybody is there now who wants events of this kind."""
        return any(channel.readers and interest.wants(kind) for interest, channel in self._channels.items())

    def take(self, records: Iterable[SourceRecord], topic: str) -> None:
        """Pass records of ``topic`` (contract name) on to those whom they concern."""
        keyed_by = self._catalog.get(topic).key if topic in TOPICS else ""
        for record in records:
            if self._conversations is not None and not may_concern(record.key, keyed_by, self._conversations):
                continue
            seen = read(record, topic, self._count)
            if seen is not None:
                self.publish(seen)

    def publish(self, seen: Seen) -> None:
        """Pass one event on to those whom it concerns."""
        concerned = list(self._concerned(seen))
        if concerned:
            data = encode_json(seen.event)
            for channel in concerned:
                channel.put(seen.event.kind.value, data)

    def _concerned(self, seen: Seen) -> Iterator[Channel]:
        kind = seen.event.kind
        if seen.tenant_id is None:
            # A letter is anybody's bytes, and a tombstone says whose only by its place: who may look at the one
            # is decided where the interest is made, and what the other names only its readers know.
            for interest, channel in self._channels.items():
                if interest.wants(kind) and not interest.only_person:
                    yield channel
            return
        names = [(_PERSON, seen.user_id), *((_CONVERSATION, name) for name in seen.conversations)]
        for name in names:
            for interest, channel in self._by_name.get(name, ()):
                if interest.concerns(kind, seen.tenant_id, seen.user_id, seen.conversations):
                    yield channel

    def status(self, event: Happened) -> None:
        """Pass the state of the services on to those who watch the flow, whatever their tenant."""
        data = encode_json(event)
        for interest, channel in self._channels.items():
            if interest.wants(EventKind.STATUS):
                channel.put(event.kind.value, data)

    def end(self) -> None:
        """Nothing comes any more: readers leave."""
        self._is_over = True
        for channel in self._channels.values():
            channel.end()

    def restart(self) -> None:
        """Something was lost for everybody: each reader finds a gap."""
        for channel in self._channels.values():
            channel.restart(secrets.token_hex(4))
