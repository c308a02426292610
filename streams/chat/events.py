"""Events of a turn, and their names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from streams.config.printing import encode_json


class Status(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    CLARIFYING = "clarifying"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class TurnEvent(NamedTuple):
    """Something that happened in a turn; ``number`` counts from 1."""

    number: int
    name: str
    data: bytes


class TurnNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names of a turn's records; a retry writes none of them twice."""

    turn_id: str
    conversation_id: str
    user_id: str
    tenant_id: str
    response_id: str

    @property
    def message_id(self) -> str:
        """The person's message."""
        return f"{self.turn_id}.user"

    @property
    def answer_id(self) -> str:
        """The assistant's message."""
        return f"{self.turn_id}.answer"

    def told(self) -> dict[str, str]:
        """Return all of them, as the event ``turn`` has them."""
        return {**msgspec.structs.asdict(self), "message_id": self.message_id, "answer_id": self.answer_id}


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last event of a turn."""

    status: Status
    try_again: bool = False
    message: str = ""


class TurnEvents:
    """The events of one turn, kept so that whoever comes later misses none."""

    def __init__(self) -> None:
        self.ended: TurnEnd | None = None
        self._events: list[TurnEvent] = []
        self._happened = asyncio.Event()
        self.over = asyncio.Event()

    def tell(self, name: str, told: object) -> None:
        """Add an event."""
        self._events.append(TurnEvent(len(self._events) + 1, name, encode_json(told)))
        if isinstance(told, TurnEnd):
            self.ended = told
            self.over.set()
        self._happened.set()
        self._happened = asyncio.Event()

    async def events(self, after: int = 0) -> AsyncGenerator[TurnEvent]:
        """Yield what happens after event number ``after``, until the turn has ended."""
        while True:
            if new := self._events[after:]:
                for event in new:
                    yield event
                after += len(new)
            elif self.ended is None:
                await self._happened.wait()
            else:
                return
