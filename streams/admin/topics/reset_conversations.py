"""Conversation data that a reset keeps: erasures, and the requests for vectors.

``ingest`` and ``recall`` read all messages again, those of an erased conversation among them.  What comes of
them must not come again, so the tables begin with the erasures that they knew.  And what is made of a message
for the second time must not be embedded for the second time: for each partition it is kept up to which arrival
vectors were asked for.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from models.errors import ConsistencyError
from processors.conversations.sequence import SequenceState
from processors.conversations.state import ConversationState, is_page
from processors.retrieval.recall.turns import TurnsState
from streams.admin.topics import reset_log
from streams.admin.topics.reset_log import Placed
from streams.agents.ingest import conversations
from streams.agents.ingest.punctuating import COMMANDS
from streams.agents.ingest.summary_ledger import SUMMARIES
from streams.agents.message_log import MESSAGES
from streams.agents.recall import turns
from streams.clients.catalog import Catalog
from streams.clients.records import SourceRecord
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.runtime.marks import Layout

#: By service: its table, and the sources of the stage that keeps it.
_TABLES = {
    "ingest": ("conversations", (MESSAGES, SUMMARIES, COMMANDS)),
    "recall": ("turns", (MESSAGES,)),
}


class Remembered(NamedTuple):
    """Initial contents of a table by key, and their place."""

    values: dict[bytes, Placed]
    changelog: TopicSpec


async def read(catalog: Catalog, settings: Settings, service: str, *, asked: bool) -> Remembered | None:
    """Return the kept data of the conversations of ``service``; ``None``: it keeps none.

    ``asked``: the vectors that were asked for are there, or will be.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    if service not in _TABLES:
        return None
    table, sources = _TABLES[service]
    changelog = catalog.get(f"switchboard-{service}-{table}-changelog")
    known = _Known(service, Layout(sources))
    await reset_log.read(settings, changelog, known.note)
    values = known.erasures()
    if asked and service == "recall":
        values |= known.asked()
    return Remembered(values, changelog)


class _Known:
    """Erasures and arrivals in a table, read in its order."""

    def __init__(self, service: str, layout: Layout) -> None:
        self._service = service
        self._layout = layout
        self._erased: dict[bytes, tuple[int, SequenceState]] = {}
        self._asked: defaultdict[int, float] = defaultdict(float)

    def note(self, record: SourceRecord) -> None:
        """Note a value of the table; what cannot be read is forgotten, as all of the table is."""
        is_asked = record.key == turns.asked_key(record.partition)
        if record.key is None or not record.value or (is_page(record.key) and not is_asked):
            return
        try:
            value = self._layout.adopt(record.value)
            payload = self._layout.payload(value)
            if is_asked:  # by an earlier reset
                until = turns.ASKED.decode(payload).until if payload is not None else 0.0
                self._asked[record.partition] = max(self._asked[record.partition], until)
                return
            if payload is None:
                self._erased.pop(record.key, None)
                return
            sequence = self._sequence(payload)
        except ConsistencyError:
            return
        if self._layout.next_offset(value, 0):  # else it is what an earlier reset has kept
            self._asked[record.partition] = max(self._asked[record.partition], sequence.arrived_at)
        if sequence.erased:
            self._erased[record.key] = record.partition, sequence
        else:
            self._erased.pop(record.key, None)

    def _sequence(self, payload: bytes) -> SequenceState:
        """Return the kept sequence of a conversation: its owner and its erasures."""
        state = (
            turns.STATE.decode(payload).sequence
            if self._service == "recall"
            else conversations.STATE.decode(payload)
        )
        return SequenceState(state.tenant_id, arrived_at=state.arrived_at, erased=state.erased)

    def erasures(self) -> dict[bytes, Placed]:
        """Return the conversations of which something was erased, and nothing else that is known of them."""
        return {
            key: self._placed(partition, self._begun(sequence))
            for key, (partition, sequence) in self._erased.items()
        }

    def asked(self) -> dict[bytes, Placed]:
        """Return up to which arrival vectors were asked for, by partition."""
        return {
            turns.asked_key(partition): self._placed(partition, turns.ASKED.encode(turns.Asked(until)))
            for partition, until in self._asked.items()
            if until
        }

    def _begun(self, sequence: SequenceState) -> bytes:
        until = max(arrived for _, arrived in sequence.erased)
        if self._service == "recall":
            kept = SequenceState(sequence.tenant_id, arrived_at=until, erased=sequence.erased)
            return turns.STATE.encode(TurnsState(kept))
        return conversations.STATE.encode(
            ConversationState(sequence.tenant_id, "", arrived_at=until, erased=sequence.erased)
        )

    def _placed(self, partition: int, payload: bytes) -> Placed:
        return Placed(partition, self._layout.seal(None, payload, 0, None))
