"""recall/context: the context for a conversation's next turn is made while nobody waits for it.

Of what waits, only the latest turn of each conversation counts; the others are passed over.  A context that the
embedder was too busy for is made of words at once, and asked for again, behind all that wait.  An erasure comes
among the requests: then the conversation's contexts are erased, and what was asked for before is made no more.

State per conversation: up to when it was erased.  A request that is asked again lies behind the erasure, and
may be read by another process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime

import msgspec

from models.context import Context, ContextRequest
from models.errors import InvalidRecord
from processors.text.validation import decode
from streams.agents.contexts import requests as context_requests
from streams.agents.contexts.making import ContextMaker
from streams.agents.contexts.requests import CONTEXT_REQUESTS
from streams.agents.emitting import emit
from streams.clients import erasures
from streams.clients.catalog import catalog_for
from streams.clients.erasures import Erasing
from streams.clients.records import RecordBatch, SourceRecord
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader, TimerContext
from streams.runtime.work import Work

#: Conversations whose latest turn is remembered, so that what is asked again does not undo what came since.
_REMEMBERED = 20_000

#: How often a context is asked for again, and how long its vector is then waited for (seconds).
MOST_ATTEMPTS = 20
_LONG_PATIENCE = 1.0

#: How long an erasure is remembered, in retentions of the requests: those from before it are read within one of
#: them and a tenth, and what these ask again is kept as long.
_RETENTIONS = 3

#: Seconds until an erasure is looked at again while requests wait to be read.
_LATER = 3600.0

_encode = msgspec.json.Encoder().encode

#: Whose context it is: tenant, conversation, person.
_Whose = tuple[str, str, str]

#: Where a conversation stands: the beginning of its life, and the index of a turn.
_Place = tuple[datetime, int]


class Erased(msgspec.Struct, frozen=True, array_like=True):
    """The erasures of a conversation: up to which arrival, by person (``""``: everybody), and when they are
    forgotten (epoch seconds)."""

    until: dict[str, datetime]
    forgotten_at: float


ERASED: Codec[Erased] = Codec("erasure from contexts", Erased)


class ContextStage:
    """The step around a maker of contexts."""

    def __init__(self, settings: Settings, maker: ContextMaker, model: str) -> None:
        self._settings = settings
        self._maker = maker
        self._model = model
        self._latest: OrderedDict[_Whose, _Place] = OrderedDict()
        spec = catalog_for(settings).get(CONTEXT_REQUESTS)
        assert spec.retention_ms is not None
        self._remembered_seconds = _RETENTIONS * spec.retention_ms / 1000

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="context",
            sources=(CONTEXT_REQUESTS,),
            table="context",
            async_step=self.step,
            on_timer=forget_erasures,
            timer_at=_forgotten_at,
            codecs=(ERASED,),
            # So many that most of what waits is overtaken, and so few that a step has time to make them,
            # however large the indexes are: 256 took a minute beside an import.
            batch_records=2 * self._settings.call_batch_records,
            decided_by=self._settings.chosen("context_tokens") | {"embedder": self._model},
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Make the context of each conversation's latest turn."""
        effects = Work("context", state)
        newest: dict[_Whose, ContextRequest] = {}
        gone: dict[tuple[str, str], None] = {}
        for record in batch.records:
            try:
                erasing = erasures.read(record)
                request = None if erasing is not None else _read(record.value)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if erasing is not None:
                self._erase(erasing, record, effects)
                gone[erasing.tenant_id, erasing.conversation_id] = None
                newest = {whose: each for whose, each in newest.items() if not _is_erased(each, effects)}
                continue
            assert request is not None
            if _is_erased(request, effects):
                effects.skip("erased")
                continue
            whose = _whose(request)
            known = newest.get(whose)
            if self._is_overtaken(whose, request, known):
                effects.count("skipped_records_total", "context", "overtaken")
                continue
            if known is not None:
                effects.count("skipped_records_total", "context", "overtaken")
            newest[whose] = request
        for tenant_id, conversation_id in gone:
            context_requests.forget(effects, tenant_id, conversation_id)
        waiting = [*newest.values()]
        patience = _LONG_PATIENCE
        if any(not request.attempt for request in waiting):
            patience = self._settings.context_patience_ms / 1000
        for whose, request in newest.items():
            self._remember(whose, _place(request))
        for request, context in zip(waiting, await self._maker.make(waiting, patience), strict=True):
            self._take(request, context, effects)
        effects.flush()
        return effects

    def _erase(self, erasing: Erasing, record: SourceRecord, work: Work) -> None:
        """Remember an erasure: what was asked for before it may be asked for again behind it."""
        key = _erased_key(erasing.tenant_id, erasing.conversation_id)
        before = work.get(key, ERASED) or Erased({}, 0.0)
        until = max(erasing.until, before.until.get(erasing.user_id, erasing.until))
        forgotten_at = max(before.forgotten_at, record.timestamp / 1000 + self._remembered_seconds)
        work.put(key, Erased({**before.until, erasing.user_id: until}, forgotten_at), ERASED)
        work.wake(key, forgotten_at)

    def _take(self, request: ContextRequest, context: Context | None, effects: Effects) -> None:
        if context is not None:
            publish(effects, context)
            seconds = (context.made_at - context.said_at).total_seconds()
            effects.observe("context_seconds", max(0.0, seconds))
            effects.count("contexts_total", "meaning" if context.by_meaning else "words")
        lacks_vector = context is None or (not context.by_meaning and bool(context.made_from))
        if lacks_vector and request.attempt < MOST_ATTEMPTS:
            context_requests.ask(effects, msgspec.structs.replace(request, attempt=request.attempt + 1))

    def _is_overtaken(self, whose: _Whose, request: ContextRequest, known: ContextRequest | None) -> bool:
        """Say whether a later turn was asked about, here or before."""
        place = _place(request)
        if known is not None and place < _place(known):
            return True
        return bool(request.attempt) and place < self._latest.get(whose, place)

    def _remember(self, whose: _Whose, place: _Place) -> None:
        self._latest[whose] = max(place, self._latest.get(whose, place))
        self._latest.move_to_end(whose)
        while len(self._latest) > _REMEMBERED:
            self._latest.popitem(last=False)


def forget_erasures(keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
    """Forget erasures that no request from before them is left of."""
    work = Work("context", state)
    for key in keys:
        if work.get(key, ERASED) is None:
            continue
        if context.caught_up:
            work.remove(key)
        else:
            work.wake(key, context.now + _LATER)
    work.flush()
    return work


def _forgotten_at(key: bytes, payload: bytes) -> float:
    return ERASED.decode(payload, key).forgotten_at


def _erased_key(tenant_id: str, conversation_id: str) -> bytes:
    return _encode((tenant_id, conversation_id))


def _is_erased(request: ContextRequest, work: Work) -> bool:
    """Say whether the request brings a turn along that was erased."""
    erased = work.get(_erased_key(request.turns[-1].tenant_id, request.conversation_id), ERASED)
    return erased is not None and any(
        turn.arrived_at <= erased.until[user]
        for turn in request.turns
        for user in ("", turn.user_id)
        if user in erased.until
    )


def publish(effects: Effects, context: Context) -> None:
    """Put a context on its topic."""
    emit(effects, context, f"{context.after_turn_id}/{'meaning' if context.by_meaning else 'words'}")


def _read(value: bytes | None) -> ContextRequest:
    request = decode(ContextRequest, value)
    last = request.turns[-1]
    if any(
        (turn.tenant_id, turn.conversation_id) != (last.tenant_id, request.conversation_id)
        for turn in request.turns
    ):
        raise InvalidRecord("invalid_turns", "the turns are not all of the conversation that is named")
    return request


def _whose(request: ContextRequest) -> _Whose:
    last = request.turns[-1]
    return last.tenant_id, last.conversation_id, last.user_id


def _place(request: ContextRequest) -> _Place:
    last = request.turns[-1]
    return last.began_at, last.index
