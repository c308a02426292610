"""recall/turn-log: the conversation log (Redis) and the index of turns (Qdrant), views of ``memory.turns.v1``.

A turn is found by its words as soon as it is here; its vector comes by ``memory.embeddings.v1``.  A record
without a value erases its turn; its headers say which conversation that is of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT
from models.ports import Place, SearchIndex, TurnFilter
from models.turns import Turn
from models.vectors import VectorKind
from processors.text.validation import decode
from streams import cloudevents
from streams.adapters.conversation_log import ConversationLog
from streams.adapters.qdrant_payload import is_point_id
from streams.agents.recall.punctuations import TURNS, is_punctuation
from streams.embedding_requests import REQUESTS
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

#: Headers of a record without a value: which conversation its turn is of (required), of which tenant, and up to
#: when (RFC 3339) it is erased, if not up to the record's own time.
CONVERSATION_HEADER = "erased_conversation_id"
TENANT_HEADER = "erased_tenant_id"
UNTIL_HEADER = "erased_until"

_SOURCE = "/switchboard/recall"

#: Turns have no versions: one that was erased stays out of the index.
_ONLY_VERSION = 1


class Erased(NamedTuple):
    """A turn that is erased, as far as it arrived up to ``until_ms``."""

    turn_id: str
    tenant_id: str
    conversation_id: str
    until_ms: int

    def covers(self, turn: Turn) -> bool:
        """Say whether the turn had arrived by then."""
        return turn.arrived_at.timestamp() * 1000 <= self.until_ms


class TurnLog:
    """The step around the log and the index."""

    def __init__(self, settings: Settings, log: ConversationLog, index: SearchIndex[Turn, TurnFilter]) -> None:
        self._settings = settings
        self._log = log
        self._index = index

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="turn-log",
            sources=(TURNS,),
            async_step=self.step,
            batch_records=8 * self._settings.call_batch_records,
            view_marks=self._marks,
        )

    async def _marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the lower of the marks of the two views."""
        logged, indexed = await self._log.marks(places), await self._index.marks(places)
        return {place: min(logged[place], indexed[place]) for place in places}

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store the turns of the batch, and erase what was erased."""
        effects = Effects()
        turns: dict[str, tuple[Turn, int]] = {}
        erased: dict[str, Erased] = {}
        for record in batch.records:
            if is_punctuation(record):
                continue
            try:
                said = read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if isinstance(said, Turn):
                turns[said.turn_id] = said, record.offset
                continue
            erased[said.turn_id] = said
            if said.turn_id in turns and said.covers(turns[said.turn_id][0]):
                del turns[said.turn_id]
        await self._log.write(turns.values())
        if turns:
            await self._index.upsert([turn for turn, _ in turns.values()])
        if erased:
            await self._erase(erased, effects)
        place = (batch.source, batch.partition)
        await self._index.set_mark(place, batch.next_position)
        await self._log.set_mark(place, batch.next_position)
        return effects

    async def _erase(self, erased: Mapping[str, Erased], effects: Effects) -> None:
        for each in erased.values():
            await self._log.erase_turn(each.tenant_id, each.conversation_id, each.turn_id, each.until_ms)
        known = await self._index.get(list(erased))
        later = {turn.turn_id for turn in known if not erased[turn.turn_id].covers(turn)}
        if gone := erased.keys() - later:
            await self._index.erase(dict.fromkeys(gone, _ONLY_VERSION))
        for turn in known:
            if turn.turn_id in later:
                continue
            # Whose turn it was only the index knew: vectors lie in the partition of their person.
            key = f"{VectorKind.TURN}/{turn.turn_id}"
            event = cloudevents.outgoing("memory.embedding-request.v1", _SOURCE, f"{key}/erased")
            effects.emit(REQUESTS, key.encode(), None, event, route=turn.user_id.encode())


def read(record: SourceRecord) -> Turn | Erased:
    """Return what a record of ``memory.turns.v1`` says.

    Raises:
        InvalidRecord: as :func:`decode`, or ``invalid_turn_id``, ``invalid_erasure``.
    """
    if record.value is not None:
        turn = decode(Turn, record.value)
        _check_id(turn.turn_id)
        return turn
    turn_id = (record.key or b"").decode(errors="replace")
    _check_id(turn_id)
    headers = {name: value or b"" for name, value in record.headers}
    try:
        conversation_id = headers.get(CONVERSATION_HEADER, b"").decode()
        tenant_id = headers.get(TENANT_HEADER, b"").decode() or DEFAULT_TENANT
        until = headers.get(UNTIL_HEADER, b"").decode()
        at = datetime.fromisoformat(until).astimezone(UTC).timestamp() if until else record.timestamp / 1000
    except (ValueError, OverflowError) as error:
        raise InvalidRecord("invalid_erasure", f"{UNTIL_HEADER} must be a time (RFC 3339): {error}") from error
    if not conversation_id:
        raise InvalidRecord(
            "invalid_erasure",
            f"a record without a value names its turn's conversation in the header {CONVERSATION_HEADER}",
        )
    return Erased(turn_id, tenant_id, conversation_id, round(at * 1000))


def _check_id(turn_id: str) -> None:
    """One bad id would refuse the whole batch."""
    if not is_point_id(turn_id):
        raise InvalidRecord("invalid_turn_id", f"turn_id is not a uuid in lower case: {turn_id!r}")
