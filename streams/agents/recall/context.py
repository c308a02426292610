"""recall/context: the context for a conversation's next turn is made while nobody waits for it.

Of what waits, only the latest turn of each conversation counts; the others are passed over.  A context that the
embedder was too busy for is made of words at once, and asked for again, behind all that wait.  An erasure comes
among the requests: then the conversation's contexts are erased, and what was asked for before is made no more.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime

import msgspec

from models.context import Context, ContextRequest
from models.errors import InvalidRecord
from processors.text.validation import decode
from streams import cloudevents
from streams.contexts import requests as context_requests
from streams.contexts.making import ContextMaker
from streams.contexts.requests import CONTEXT_REQUESTS, CONTEXTS
from streams.erasure import erasures
from streams.erasure.erasures import Erasing
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

#: Conversations whose latest turn is remembered, so that what is asked again does not undo what came since.
_REMEMBERED = 20_000

#: How often a context is asked for again, and how long its vector is then waited for (seconds).
MOST_ATTEMPTS = 20
_LONG_PATIENCE = 1.0

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/recall"
_EVENT = "memory.context.v1"

#: Whose context it is: tenant, conversation, person.
_Whose = tuple[str, str, str]

#: Where a conversation stands: the beginning of its life, and the index of a turn.
_Place = tuple[datetime, int]


class ContextStage:
    """The step around a maker of contexts."""

    def __init__(self, settings: Settings, maker: ContextMaker, model: str) -> None:
        self._settings = settings
        self._maker = maker
        self._model = model
        self._latest: OrderedDict[_Whose, _Place] = OrderedDict()
        self._erased: OrderedDict[tuple[str, str], dict[str, datetime]] = OrderedDict()

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="context",
            sources=(CONTEXT_REQUESTS,),
            async_step=self.step,
            # So many that most of what waits is overtaken, and so few that a step has time to make them,
            # however large the indexes are: 256 took a minute beside an import.
            batch_records=2 * self._settings.call_batch_records,
            decided_by=self._settings.chosen("context_tokens") | {"embedder": self._model},
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Make the context of each conversation's latest turn."""
        effects = Effects()
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
                self._erase(erasing)
                gone[erasing.tenant_id, erasing.conversation_id] = None
                newest = {whose: each for whose, each in newest.items() if not self._is_erased(each)}
                continue
            assert request is not None
            if self._is_erased(request):
                effects.count("skipped_records_total", "context", "erased")
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
        return effects

    def _erase(self, erasing: Erasing) -> None:
        """Remember an erasure: what was asked for before it may be asked for again behind it."""
        whose = erasing.tenant_id, erasing.conversation_id
        until = self._erased.setdefault(whose, {})
        until[erasing.user_id] = max(erasing.until, until.get(erasing.user_id, erasing.until))
        self._erased.move_to_end(whose)
        while len(self._erased) > _REMEMBERED:
            self._erased.popitem(last=False)

    def _is_erased(self, request: ContextRequest) -> bool:
        """Say whether the request brings a turn along that was erased."""
        until = self._erased.get((request.turns[-1].tenant_id, request.conversation_id), {})
        return any(
            turn.arrived_at <= until[user]
            for turn in request.turns
            for user in ("", turn.user_id)
            if user in until
        )

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


def publish(effects: Effects, context: Context) -> None:
    """Put a context on its topic."""
    event_id = f"{context.after_turn_id}/{'meaning' if context.by_meaning else 'words'}"
    event = cloudevents.outgoing(_EVENT, _SOURCE, event_id, subject=context.conversation_id)
    effects.emit(CONTEXTS, context.conversation_id.encode(), _encode(context), event)


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
