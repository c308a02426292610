"""recall/turn-log: the conversation log (Redis) and the index of turns (Qdrant), views of ``memory.turns.v1``.

A turn is found by its words as soon as it is here; its vector comes by ``memory.embeddings.v1``.  A record
without a value erases its turn; its headers say which conversation that is of.  The erasure of a conversation
(:mod:`streams.clients.erasures`) becomes one of each of its turns: it is here that they are known, and only
when these are read does anything go, so that a crash in between forgets none.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from models.errors import InvalidRecord
from models.index import Place, SearchIndex
from models.index_conditions import AnyOf, Within
from models.messages import DEFAULT_TENANT
from models.turns import Turn
from models.vectors import VectorKind
from processors.facts.recurring.sentences import requests_for, sentence_ids
from processors.text.validation import decode
from streams.agents.emitting import emit_tombstone
from streams.agents.recall.punctuations import TURNS, is_punctuation
from streams.agents.vectors import requests as embedding_requests
from streams.clients import erasures
from streams.clients.erasures import CONVERSATION_HEADER, TENANT_HEADER, UNTIL_HEADER, USER_HEADER, Erasing
from streams.clients.records import RecordBatch, SourceRecord
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.stores.conversation_log import ConversationLog
from streams.stores.dual_write_index import each_of
from streams.stores.qdrant_kinds import version_at
from streams.stores.qdrant_payload import is_point_id

_SOURCE = "/switchboard/recall"

#: Turns that are read from the index at once.
_PAGE = 500


class Erased(NamedTuple):
    """A turn that is erased, as far as it arrived up to ``until_ms``; ``user_id``: whose it was, if said."""

    turn_id: str
    tenant_id: str
    conversation_id: str
    until_ms: int
    user_id: str = ""

    def covers(self, turn: Turn) -> bool:
        """Say whether the turn had arrived by then."""
        return version_at(turn.arrived_at) <= self.until_ms


class _TurnsOf(NamedTuple):
    """The turns of a conversation, of everybody or (``user_id``) of one person; see :class:`Where`."""

    tenant_id: str
    conversation_id: str
    user_id: str

    def conditions(self) -> list[AnyOf | Within]:
        wanted = [AnyOf("tenant_id", (self.tenant_id,)), AnyOf("conversation_id", (self.conversation_id,))]
        return [*wanted, AnyOf("user_id", (self.user_id,))] if self.user_id else [*wanted]


class TurnLog:
    """The step around the log and the index."""

    def __init__(self, settings: Settings, log: ConversationLog, index: SearchIndex[Turn, Any]) -> None:
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
        gone: dict[str, Turn] = {}
        conversations: list[Erasing] = []
        for record in batch.records:
            if is_punctuation(record):
                continue
            try:
                said = read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if isinstance(said, Erasing):
                conversations.append(said)
                continue
            if isinstance(said, Turn):
                before = erased.get(said.turn_id)
                if before is not None and before.covers(said):
                    _erase_copy(said, before.until_ms, effects)
                    continue
                known = turns.get(said.turn_id)
                # A copy of what was erased may follow what was said again under the same id.
                if known is None or known[0].arrived_at <= said.arrived_at:
                    turns[said.turn_id] = said, record.offset
                continue
            before = erased.get(said.turn_id)
            if before is None or before.until_ms <= said.until_ms:
                erased[said.turn_id] = said
            if said.turn_id in turns and said.covers(turns[said.turn_id][0]):
                gone[said.turn_id], _ = turns.pop(said.turn_id)
        again = await self._log.write(turns.values())
        if kept := [turn for turn, _ in turns.values() if turn.turn_id not in again]:
            await self._index.upsert(kept)
            now = time.time()
            for turn in kept:
                seconds = max(0.0, now - turn.arrived_at.timestamp())
                effects.observe("searchable_seconds", seconds, turn.tenant_id)
        for turn_id, until_ms in again.items():
            _erase_copy(turns[turn_id][0], until_ms, effects)
        if erased:
            await self._erase(erased, gone, effects)
        for erasing in conversations:
            await self._erase_all(erasing, effects)
        place = (batch.source, batch.partition)
        await self._index.set_mark(place, batch.next_position)
        await self._log.set_mark(place, batch.next_position)
        return effects

    async def _erase_all(self, erasing: Erasing, effects: Effects) -> None:
        """Erase each turn of a conversation, or of a person in it, that arrived by then.

        Its batch's own turns are in the index; those that came before it are, too, as a partition is read in
        order.
        """
        tenant_id, conversation_id, user_id, until = erasing
        where = _TurnsOf(tenant_id, conversation_id, user_id)
        done: set[str] = set()
        for index in each_of(self._index):
            start: str | None = None
            while True:
                found, start = await index.page(where, _PAGE, start)
                for turn in found:
                    if turn.arrived_at <= until and turn.turn_id not in done:
                        done.add(turn.turn_id)
                        _write_tombstone(turn, until, effects)
                if start is None:
                    break
        if not user_id:
            await self._log.erase_conversation(tenant_id, conversation_id, version_at(until))

    async def _erase(self, erased: Mapping[str, Erased], unseen: Mapping[str, Turn], effects: Effects) -> None:
        """Erase turns; ``unseen``: those of them that came in the same batch."""
        # Of a conversation at once: to erase them its whole log is read.
        logs: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for each in erased.values():
            logs[each.tenant_id, each.conversation_id][each.turn_id] = each.until_ms
        for (tenant_id, conversation_id), until_ms in logs.items():
            await self._log.erase_turns(tenant_id, conversation_id, until_ms)
        seen, later = dict(unseen), set[str]()
        for index in each_of(self._index):
            known = await index.get(list(erased))
            stays = {turn.turn_id for turn in known if not erased[turn.turn_id].covers(turn)}
            if gone := erased.keys() - stays:
                await index.erase({turn_id: erased[turn_id].until_ms for turn_id in gone})
            seen |= {turn.turn_id: turn for turn in known}
            later |= stays
        for each in erased.values():
            if each.turn_id not in later:
                self._forget_vectors(each, seen.get(each.turn_id), effects)

    def _forget_vectors(self, erased: Erased, turn: Turn | None, effects: Effects) -> None:
        """Have the vectors of a turn and of its sentences forgotten, and what was asked for of them.

        Not before its erasure is read, which is behind everything that was written of it.  Whose it was is said
        there: the index may not know the turn any more, when a crash came before this was written.
        """
        user_id = turn.user_id if turn is not None else erased.user_id
        if not user_id:
            return
        embedding_requests.forget_of(effects, VectorKind.TURN, erased.turn_id, user_id, _SOURCE)
        if not self._settings.looks_for_recurring:
            return
        told = sentence_ids(erased.turn_id) if turn is None else [each.id for each in requests_for(turn)]
        for sentence_id in told:
            embedding_requests.forget_of(effects, VectorKind.SENTENCE, sentence_id, user_id, _SOURCE)


def _erase_copy(turn: Turn, until_ms: int, effects: Effects) -> None:
    """Pass over a late copy of an erased turn: compaction would keep it, and not the erasure before it."""
    _write_tombstone(turn, datetime.fromtimestamp(until_ms / 1000, UTC), effects)
    effects.count("skipped_records_total", "turn-log", "erased")


def _write_tombstone(turn: Turn, until: datetime, effects: Effects) -> None:
    """Have the log end with the turn's erasure."""
    headers = [
        (CONVERSATION_HEADER, turn.conversation_id.encode()),
        (USER_HEADER, turn.user_id.encode()),
        (TENANT_HEADER, turn.tenant_id.encode()),
        (UNTIL_HEADER, until.isoformat().encode()),
    ]
    route = turn.conversation_id
    emit_tombstone(effects, Turn, turn.turn_id, headers=headers, subject=route, route=route)


def read(record: SourceRecord) -> Turn | Erased | Erasing:
    """Return the decoded record of ``memory.turns.v1``.

    Raises:
        InvalidRecord: as :func:`decode`, or ``invalid_turn_id``, ``invalid_erasure``.
    """
    if record.value is not None:
        turn = decode(Turn, record.value)
        _check_id(turn.turn_id)
        return turn
    if (erasing := erasures.read(record)) is not None:
        return erasing
    turn_id = (record.key or b"").decode(errors="replace")
    _check_id(turn_id)
    headers = {name: value or b"" for name, value in record.headers}
    try:
        conversation_id = headers.get(CONVERSATION_HEADER, b"").decode()
        user_id = headers.get(USER_HEADER, b"").decode()
        tenant_id = headers.get(TENANT_HEADER, b"").decode() or DEFAULT_TENANT
    except UnicodeDecodeError as error:
        raise InvalidRecord("invalid_erasure", f"a header of an erasure is not UTF-8: {error}") from error
    until = erasures.until_of(record)
    if not conversation_id:
        raise InvalidRecord(
            "invalid_erasure",
            f"a record without a value names its turn's conversation in the header {CONVERSATION_HEADER}",
        )
    return Erased(turn_id, tenant_id, conversation_id, version_at(until), user_id)


def _check_id(turn_id: str) -> None:
    """One bad id would refuse the whole batch."""
    if not is_point_id(turn_id):
        raise InvalidRecord("invalid_turn_id", f"turn_id is not a uuid in lower case: {turn_id!r}")
