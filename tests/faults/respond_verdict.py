"""What must be in the respond service's topics, computed from the chunks alone by the filter without Kafka.

Nothing here asks a worker.  The chunks are read back from the broker and put together, response by response;
the filter is given each text as a whole.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from aiokafka import ConsumerRecord
from topic_reader import Comparison, dead_letter_of, letter

from models import ids
from models.errors import InvalidRecord
from models.responses import ContentDuplicationEvent, ResponseChunk
from processors.responses.filter import ResponseFilter
from processors.responses.filter_state import Filtered, FilterState
from processors.responses.history import MEMORY, START, SeenElement, before_response, of_response
from streams.agents.respond.routing import CHUNKS, ROUTED, decode_chunk
from streams.clients.catalog import Catalog
from streams.clients.topics import DUPLICATES, RESPONSES

#: Whatever goes with a sentence that is taken out: white space and the mark of its list item.
_GOES_ALONG = re.compile(r"[\s>-]+")


@dataclass
class Incoming:
    """A response as its chunks say.  ``said``: what its conversation had said before its first chunk."""

    conversation: str
    said: tuple[SeenElement, ...] = ()
    texts: dict[int, str] = field(default_factory=dict)
    last: int | None = None
    count: int = 0

    def add(self, chunk: ResponseChunk) -> bool:
        """Take a chunk; the first with its number counts.  Say whether all are there now."""
        self.texts.setdefault(chunk.sequence, chunk.text)
        if chunk.final:
            self.last = chunk.sequence
        while self.count in self.texts and not self.ended:
            self.count += 1
        return self.ended

    @property
    def ended(self) -> bool:
        """Whether all chunks are there; ``count`` is how many are, from the first on, without a hole."""
        return self.last is not None and self.count == self.last + 1

    @property
    def text(self) -> str:
        return "".join(self.texts[number] for number in range(self.count))


@dataclass
class Outgoing:
    """What went out of a response: texts by number, the final number, and its duplicates by event id."""

    texts: list[str] = field(default_factory=list)
    final: int | None = None
    events: dict[str, ContentDuplicationEvent] = field(default_factory=dict)


class RespondVerdict(Comparison):
    """Reads the topics of one deployment and accounts for every record.

    ``clock``: hold times may have ended.  Then only what holds whatever the clock did is asked for: no number
    with two texts, nothing lost, nothing invented.  ``released`` counts the texts that left when their time
    was over.
    """

    def __init__(
        self, servers: str, catalog: Catalog, *, spans_conversation: bool = False, clock: bool = False
    ) -> None:
        super().__init__(servers, catalog)
        self._spans_conversation = spans_conversation
        self._source = ROUTED if spans_conversation else CHUNKS
        self._clock = clock
        self._filter = ResponseFilter()
        self._late: dict[str, set[int]] = defaultdict(set)
        self._outgoing: dict[str, Outgoing] = defaultdict(Outgoing)
        self.responses: dict[str, Incoming] = {}
        self.copies = 0
        self.duplicates = 0
        self.dead_letters = 0
        self.released = 0

    async def check(self) -> None:
        chunks = await self._read(CHUNKS)
        letters = {CHUNKS: self._check_chunks(chunks)}
        if self._spans_conversation:
            routed = await self._read(ROUTED)
            self._check_routed(chunks, routed, letters[CHUNKS])
            letters[ROUTED] = self._put_together(routed)
        else:
            bad = {each[2] for each in letters[CHUNKS]}
            letters[CHUNKS] |= self._put_together([r for r in chunks if (r.partition, r.offset) not in bad])
        for topic, expected in letters.items():
            self._check_letters(topic, expected, await self._read(topic + ".dlq"))
        self._take_outputs(await self._read(RESPONSES))
        self._take_events(await self._read(DUPLICATES))
        for response in self._outgoing.keys() - self.responses.keys():
            self._problem(f"response {response} is not expected")
        for response, incoming in self.responses.items():
            check = self._check_whatever_the_clock_did if self._clock else self._check_response
            check(response, incoming, self._outgoing[response])
        self._raise()
        ended = sum(incoming.ended for incoming in self.responses.values())
        print(
            f"{len(chunks)} chunks of {len(self.responses)} responses ({ended} ended), {self.duplicates} "
            f"duplicates, {self.dead_letters} dead letters, {self.copies} second copies: as expected"
        )

    # -- what came in ----------------------------------------------------------------------------------------

    def _check_chunks(self, records: Sequence[ConsumerRecord]) -> set[tuple]:
        letters = set()
        for record in records:
            try:
                decode_chunk(record, keyed=True)
            except InvalidRecord as error:
                letters.add(letter(record, error.reason))
        return letters

    def _check_routed(
        self, chunks: Sequence[ConsumerRecord], routed: Sequence[ConsumerRecord], letters: set[tuple]
    ) -> None:
        """Every chunk was routed as it is, and nothing else."""
        bad = {each[2] for each in letters}
        expected = {record.value for record in chunks if (record.partition, record.offset) not in bad}
        found = {record.value for record in routed}
        if found != expected:
            missing, made_up = len(expected - found), len(found - expected)
            self._problem(f"{missing} chunks were not routed, {made_up} were made up")

    def _put_together(self, records: Sequence[ConsumerRecord]) -> set[tuple]:
        """Collect each response, with what was said before it began; return letters of chunks after its end."""
        memory: dict[str, tuple[SeenElement, ...]] = defaultdict(tuple)
        letters = set()
        for record in records:
            chunk = msgspec.json.decode(record.value, type=ResponseChunk)
            conversation = chunk.conversation_id
            incoming = self.responses.get(chunk.response_id)
            if incoming is None:
                said = memory[conversation] if self._spans_conversation else ()
                incoming = self.responses[chunk.response_id] = Incoming(conversation, said)
            if incoming.ended:
                if incoming.last is not None and chunk.sequence > incoming.last:
                    letters.add(letter(record, "late_chunk"))
                continue
            if incoming.add(chunk):
                said = of_response(self._filtered(incoming).state.said)
                if said:
                    memory[conversation] = (*memory[conversation], START, *said)[-MEMORY:]
        return letters

    def _filtered(self, incoming: Incoming) -> Filtered:
        state = FilterState(said=before_response(incoming.said))
        return self._filter.push(state, incoming.text, 0.0, final=incoming.ended)

    # -- what came out ---------------------------------------------------------------------------------------

    def _check_letters(self, topic: str, expected: set[tuple], records: Sequence[ConsumerRecord]) -> None:
        found = {dead_letter_of(record) for record in records}
        self.dead_letters += len(found)
        for each in expected - found:
            self._problem(f"dead letter {each[:3]} of {topic} is missing or differs")
        for each in found - expected:
            if not (self._clock and each[0] == "late_chunk"):
                self._problem(f"dead letter {each[:3]} of {topic} is not expected")
                continue
            chunk = msgspec.json.decode(each[4], type=ResponseChunk)
            self._late[chunk.response_id].add(chunk.sequence)

    def _take_outputs(self, records: Sequence[ConsumerRecord]) -> None:
        """Numbers go up one by one for a reader who passes over those that were there before."""
        values: dict[str, list[bytes]] = defaultdict(list)
        for record in records:
            chunk = msgspec.json.decode(record.value, type=ResponseChunk)
            response, known = chunk.response_id, values[chunk.response_id]
            outgoing = self._outgoing[response]
            event_id = dict(record.headers)["ce_id"].decode()
            if (record.key, event_id) != (response.encode(), f"{response}/{chunk.sequence}"):
                self._problem(f"{response}: chunk {chunk.sequence} has key {record.key!r} and id {event_id}")
            if chunk.sequence < len(known):
                self.copies += 1
                if known[chunk.sequence] != record.value:
                    self._problem(f"{response}: {known[chunk.sequence]!r} and {record.value!r}")
            elif chunk.sequence > len(known):
                self._problem(f"{response}: chunk {chunk.sequence} comes before chunk {len(known)}")
            else:
                known.append(record.value)
                outgoing.texts.append(chunk.text)
                if outgoing.final is not None:
                    self._problem(f"{response} goes on after its final chunk {outgoing.final}")
                if chunk.final:
                    outgoing.final = chunk.sequence

    def _take_events(self, records: Sequence[ConsumerRecord]) -> None:
        values: dict[str, bytes] = {}
        for record in records:
            event = msgspec.json.decode(record.value, type=ContentDuplicationEvent)
            if values.setdefault(event.event_id, record.value) != record.value:
                self._problem(f"duplicate {event.event_id}: {values[event.event_id]!r} and {record.value!r}")
            self._outgoing[event.response_id].events[event.event_id] = event
        self.duplicates = len(values)

    def _check_response(self, response: str, incoming: Incoming, outgoing: Outgoing) -> None:
        """The text, to the character, and the duplicates that the filter gives for the whole of it."""
        filtered = self._filtered(incoming)
        text = "".join(outgoing.texts)
        if text != filtered.text:
            self._problem(f"{response}: the text is {text!r}, expected {filtered.text!r}")
        if (len(outgoing.texts), outgoing.final) != (incoming.count, incoming.last if incoming.ended else None):
            self._problem(
                f"{response}: {len(outgoing.texts)} chunks went out (the final one is {outgoing.final}), "
                f"{incoming.count} came in (the final one is {incoming.last})"
            )
        expected = {
            ids.deterministic_id("duplicate", response, duplicate.position): (
                incoming.conversation,
                duplicate.position,
                duplicate.sentence,
                duplicate.similar,
                duplicate.score,
                duplicate.kept,
            )
            for duplicate in filtered.duplicates
        }
        found = {
            event_id: (
                event.session_id,
                event.position_in_response,
                event.duplicate_sentence,
                event.similar_sentence,
                event.similarity_score,
                event.kept,
            )
            for event_id, event in outgoing.events.items()
        }
        if found != expected:
            self._problem(f"{response}: the duplicates are {found}, expected {expected}")

    def _check_whatever_the_clock_did(self, response: str, incoming: Incoming, outgoing: Outgoing) -> None:
        """All that came in and is not late goes out, but for the sentences that the events name."""
        late = self._late[response]
        text = "".join(incoming.texts[number] for number in sorted(incoming.texts) if number not in late)
        for event in sorted(outgoing.events.values(), key=lambda event: -event.position_in_response):
            at, sentence = event.position_in_response, event.duplicate_sentence
            if event.kept:
                continue
            if not text.startswith(sentence, at):
                self._problem(f"{response}: {sentence!r} does not stand at {at} in {text!r}")
            text = text[:at] + text[at + len(sentence) :]
        expected, found = (_GOES_ALONG.sub("", part) for part in (text, "".join(outgoing.texts)))
        if found != expected and (incoming.ended or not expected.startswith(found)):
            self._problem(f"{response}: the text is {found!r}, expected {expected!r}")
        if incoming.ended and outgoing.final is None:
            self._problem(f"{response} has no final chunk")
        self.released += max(0, len(outgoing.texts) - incoming.count)
