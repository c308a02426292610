"""Publishing what an export holds: each message once, confirmed, in the order of its conversation."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer

from models.commands import Command
from models.errors import InvalidRecord, NotFound
from models.messages import ChatMessage
from processors.conversations.importing.drafts import (
    Draft,
    Owner,
    Ready,
    Skipped,
    conversation_of,
    make_message,
    message_id_of,
)
from streams.admin.importing.chats import Continued, Exported
from streams.admin.importing.known import Found, Known, read_known
from streams.admin.importing.scratch import Places
from streams.clients import cloudevents, commands, kafka
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.partitioner import partition_of
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings

_SOURCE = "/switchboard/import"

#: Unconfirmed messages at a time, and messages between two glances at the loop.
_IN_FLIGHT = 2_000
_GLANCE = 500


class Person(NamedTuple):
    """Somebody who speaks: the id here, and the name in the export ("" if it has none)."""

    user_id: str
    name: str


class Count:
    """Counts of an import."""

    def __init__(self, tell: Callable[[Skipped], None]) -> None:
        self.read = 0  #: messages that can be imported
        self.known = 0  #: of these, those that are there already
        self.anothers = 0  #: of these, those that are there under another user_id
        self.erased = 0  #: of these, those that were erased
        self.sent = 0  #: of these, those that were published and confirmed
        self.closed = 0
        self.skipped: Counter[str] = Counter()
        self.broken = 0
        self.people: Counter[Person] = Counter()
        self.conversations = Places()
        self.first: datetime | None = None
        self.last: datetime | None = None
        self._tell = tell

    def take(self, message: ChatMessage) -> None:
        """A message can be imported."""
        self.read += 1
        name = message.metadata.get("name", "")
        self.people[Person(message.user_id, name if isinstance(name, str) else "")] += 1
        self.first = min(message.sent_at, self.first or message.sent_at)
        self.last = max(message.sent_at, self.last or message.sent_at)
        self.conversations.add(message.tenant_id, message.conversation_id)

    def skip(self, skipped: Skipped) -> None:
        """Something is not imported."""
        self.skipped[skipped.reason] += 1
        self.broken += skipped.broken
        self._tell(skipped)


class Importer:
    """Reads drafts, and publishes what is not there yet; with ``dry`` only counts."""

    def __init__(self, settings: Settings, owner: Owner, count: Count, *, dry: bool, close: bool) -> None:
        self._settings = settings
        self._owner = owner
        self._count = count
        self._dry = dry
        self._close = close
        self._known: Known | None = None
        self._in_flight: deque[asyncio.Future[Any]] = deque()

    async def run(self, read: Callable[[], Iterable[Draft | Skipped]], tell: Callable[[Count], None]) -> None:
        """Import what ``read`` gives: twice, if a chat must be found first.  ``tell`` is called now and then.

        Raises:
            InvalidRecord: the file cannot be read any further.  What came before is imported, all the same.
            NotFound: the topic does not exist.
            DependencyUnavailable: the broker does not take them.
        """
        if self._dry:
            for ready in self._ready(self._placed(read(), None)):
                self._count.take(ready.message)
                if self._count.read % _GLANCE == 0:
                    tell(self._count)
            return
        topic = catalog_for(self._settings).name(MESSAGES)
        partitions = await broker.partitions_of(self._settings)
        if topic not in partitions:
            raise NotFound(
                f"{topic} does not exist at {self._settings.bootstrap_servers} yet: "
                "`switchboard topics apply` creates it"
            )
        if self._known is None:  # it learns what is sent from one export of an archive for the next
            self._known = await read_known(self._settings, partitions)
        continued = self._known.chats.continued(self._owner.tenant_id, self._of_no_conversation(read()))
        client = kafka.make_producer(self._settings, "switchboard-import", linger_ms=20)
        touched = Places()
        try:
            async with (
                broker.answering(self._settings),
                kafka.connected(client, self._settings, broker.ANSWER_SECONDS) as producer,
            ):
                try:
                    for ready in self._ready(self._placed(read(), continued)):
                        await self._publish(producer, topic, partitions[topic], self._known, ready, touched)
                        if self._count.read % _GLANCE == 0:
                            tell(self._count)
                finally:
                    await self._confirm(0)
        finally:
            if self._close and touched:
                await self._end(touched)

    def _of_no_conversation(self, drafts: Iterable[Draft | Skipped]) -> Iterator[Exported]:
        """Yield the messages of which the export names no conversation; none if it names them."""
        for draft in drafts:
            if isinstance(draft, Draft):
                if draft.conversation:
                    return
                yield Exported(message_id_of(draft, self._owner), draft.sent_at.timestamp(), draft.speaker)

    def _placed(
        self, drafts: Iterable[Draft | Skipped], continued: Continued | None
    ) -> Iterator[Draft | Skipped]:
        """Yield drafts in the conversation that they continue, or in a new one that the first message names."""
        place = continued.conversation_id if continued else ""
        people = continued.people if continued else {}
        for draft in drafts:
            if isinstance(draft, Skipped) or draft.conversation:
                yield draft
                continue
            place = place or conversation_of(draft.message, self._owner)
            # Who was given no id has the one that the conversation knows: names in a phone book change.
            user_id = people.get(draft.speaker, "") if draft.user_id == draft.speaker else ""
            yield draft._replace(continues=place, user_id=user_id or draft.user_id)

    def _ready(self, drafts: Iterable[Draft | Skipped]) -> Iterable[Ready]:
        for draft in drafts:
            if isinstance(draft, Skipped):
                self._count.skip(draft)
                continue
            try:
                yield make_message(
                    draft,
                    self._owner,
                    max_content_bytes=self._settings.max_content_bytes,
                    now=datetime.now(UTC),
                )
            except InvalidRecord as error:
                self._count.skip(Skipped(draft.where, error.reason, str(error), broken=True))

    async def _publish(
        self,
        producer: AIOKafkaProducer,
        topic: str,
        partitions: int,
        known: Known,
        ready: Ready,
        touched: Places,
    ) -> None:
        message = ready.message
        self._count.take(message)
        place = message.tenant_id, message.conversation_id
        found = known.find(*place, message.user_id, message.message_id)
        if found is not Found.NOTHING:
            # Sent again it would not count.
            self._count.known += found is Found.THERE
            self._count.anothers += found is Found.ANOTHERS
            self._count.erased += found is Found.ERASED
            return
        known.add(*place, message.user_id, message.message_id)
        if self._owner.source == "whatsapp":
            known.chats.add(*place, message.message_id, message.user_id, message.sent_at.timestamp())
        touched.add(*place)
        key = message.conversation_id.encode()
        await self._confirm(_IN_FLIGHT)
        async with asyncio.timeout(2 * broker.ANSWER_SECONDS):
            confirmation = await producer.send(
                topic,
                key=key,
                value=ready.value,
                partition=partition_of(key, partitions),
                headers=cloudevents.outgoing("chat.message.v1", _SOURCE, message.message_id),
            )
        self._in_flight.append(confirmation)

    async def _confirm(self, left: int) -> None:
        """Wait until no more than ``left`` messages are unconfirmed."""
        while len(self._in_flight) > left:
            async with asyncio.timeout(2 * broker.ANSWER_SECONDS):
                await self._in_flight.popleft()
            self._count.sent += 1

    async def _end(self, touched: Places) -> None:
        for page in touched.pages():
            asked: list[Command] = [commands.closing(conversation, tenant) for tenant, conversation in page]
            await commands.send(self._settings, asked)
            self._count.closed += len(page)
