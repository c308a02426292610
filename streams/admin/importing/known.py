"""Lookup of messages in the log, so that a repeated import adds nothing.

The services would not count it a second time, but an import may come back after months, and says what becomes
of each message.  So turns (kept for a year) and messages (a month, but there before their turns are) are looked
through first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec
from aiokafka import TopicPartition

from models.errors import InvalidRecord
from models.ids import turn_id
from models.messages import DEFAULT_TENANT, PUNCTUATION_HEADER, ChatMessage, PunctuationKind
from streams.admin.importing.chats import Chats
from streams.admin.importing.scratch import Numbers, number_of
from streams.agents.message_log import read_message
from streams.clients.catalog import TURNS, catalog_for
from streams.clients.kafka.broker import batches_until, beginnings_of, ends_of, reading
from streams.clients.records import SourceRecord, header
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings

#: Conversations of chats that :class:`Chats` knows: their ids begin so.
_CHAT, _CHAT_BYTES = "whatsapp-", b'"whatsapp-'


class _KnownMessage(msgspec.Struct, frozen=True):
    message_id: str
    conversation_id: str
    user_id: str
    tenant_id: str = DEFAULT_TENANT
    sent_at: datetime | None = None


class _Erased(msgspec.Struct, frozen=True):
    conversation_id: str
    user_id: str = ""
    tenant_id: str = DEFAULT_TENANT


class _Turn(msgspec.Struct, frozen=True):
    user_id: str


_decode_turn = msgspec.json.Decoder(_Turn).decode
_decode_said = msgspec.json.Decoder(_KnownMessage).decode
_decode_erased = msgspec.json.Decoder(_Erased).decode
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Found(StrEnum):
    """Message found under an id.

    Whatever there is, a message that is sent under the id does not count.  ``THERE``: this message.
    ``ANOTHERS``: it has another ``user_id``.  ``ERASED``: it was, or its conversation or its person.
    """

    NOTHING = "nothing"
    THERE = "there"
    ANOTHERS = "anothers"
    ERASED = "erased"


class Known:
    """The messages that there are, as numbers made of their ids.

    Messages are those of an age of their conversation, and of their person in it: an erasure begins another.
    """

    def __init__(self) -> None:
        self._turns, self._messages = Numbers(), Numbers()
        #: Ids of turns: those that were erased; all that there ever were; these with the person whose they are.
        self._erased, self._ever, self._persons = Numbers(), Numbers(), Numbers()
        self.chats = Chats()
        self._ages: Counter[int] = Counter()

    def find(self, tenant_id: str, conversation_id: str, user_id: str, message_id: str) -> Found:
        """Return the message with an id."""
        turn = turn_id(tenant_id, conversation_id, message_id)
        if self._number(tenant_id, conversation_id, user_id, message_id) in self._messages:
            return Found.THERE
        number = number_of(turn)
        is_persons = number_of(turn, user_id) in self._persons
        if number in self._turns:
            return Found.THERE if is_persons else Found.ANOTHERS
        if number in self._erased:
            return Found.ERASED
        if number in self._ever:
            return Found.ERASED if is_persons else Found.ANOTHERS
        return Found.NOTHING

    def add(self, tenant_id: str, conversation_id: str, user_id: str, message_id: str) -> None:
        """A message is there."""
        self._messages.add(self._number(tenant_id, conversation_id, user_id, message_id))
        self._note(turn_id(tenant_id, conversation_id, message_id), user_id)

    def _note(self, turn: str, user_id: str) -> None:
        self._ever.add(number_of(turn))
        self._persons.add(number_of(turn, user_id))

    def see_turn(self, record: SourceRecord) -> None:
        """Take a record of ``memory.turns.v1``; one without a value erases."""
        if record.key is None or header(record.headers, PUNCTUATION_HEADER):
            return
        turn = record.key.decode(errors="replace")
        if record.value is None:
            self._turns.discard(number_of(turn))
            self._erased.add(number_of(turn))
            self.chats.forget_turn(number_of(turn))
            return
        try:
            self._note(turn, _decode_turn(record.value).user_id)
            if _CHAT_BYTES in record.value:
                self._add_to_chat(_decode_said(record.value))
        except _UNREADABLE:
            return  # no service wrote it
        self._turns.add(number_of(turn))
        self._erased.discard(number_of(turn))

    def see_message(self, record: SourceRecord) -> None:
        """Take a record of ``chat.messages.v1``."""
        try:
            kind = header(record.headers, PUNCTUATION_HEADER)
            if kind is None:
                said = _read_said(record)
                whose = said.tenant_id, said.conversation_id, said.user_id, said.message_id
                if self.find(*whose) is Found.NOTHING:  # only the first counts
                    self.add(*whose)
                    self._add_to_chat(said)
            elif kind == PunctuationKind.ERASE.encode():
                erased = _decode_erased(record.value or b"")
                of_person = (erased.user_id,) if erased.user_id else ()
                self._ages[number_of(erased.tenant_id, erased.conversation_id, *of_person)] += 1
                self.chats.forget(erased.tenant_id, erased.conversation_id, *of_person)
        except (InvalidRecord, *_UNREADABLE):
            return  # the services dead-letter it

    def _add_to_chat(self, said: _KnownMessage | ChatMessage) -> None:
        if said.conversation_id.startswith(_CHAT) and said.sent_at is not None:
            place = said.tenant_id, said.conversation_id
            self.chats.add(*place, said.message_id, said.user_id, said.sent_at.timestamp())

    def _number(self, tenant_id: str, conversation_id: str, user_id: str, message_id: str) -> int:
        place = tenant_id, conversation_id
        ages = [self._ages[number_of(*place)], self._ages[number_of(*place, user_id)]] if self._ages else [0, 0]
        return number_of(*place, user_id, message_id, *ages)


def _read_said(record: SourceRecord) -> _KnownMessage | ChatMessage:
    try:
        return _decode_said(record.value or b"")
    except _UNREADABLE:  # as another client has it
        return read_message(record)


async def read_known(settings: Settings, partitions: Mapping[str, int]) -> Known:
    """Read what there is by now; ``partitions``: how many each topic (name on the broker) has.

    Raises :class:`DependencyUnavailable` when the broker does not send all of it.
    """
    known, catalog = Known(), catalog_for(settings)
    async with reading(settings) as consumer:
        for topic, see in ((TURNS, known.see_turn), (MESSAGES, known.see_message)):
            name = catalog.name(topic)
            places = [TopicPartition(name, number) for number in range(partitions.get(name, 0))]
            if not places:
                continue
            consumer.assign(places)
            ends, begins = await ends_of(consumer, places), await beginnings_of(consumer, places)
            async for batch in batches_until(
                consumer, {at: end for at, end in ends.items() if end > begins[at]}
            ):
                for record in batch:
                    see(record)
    return known
