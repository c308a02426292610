"""Writing what is shown of an answer to ``chat.responses.v1``, and what was taken out of it.

Whoever chats has it already: this is for those who read the topics.  A few records a second are enough for
them, and a broker that is sent each piece by itself is what a turn costs most.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from models.responses import ContentDuplicationEvent, ResponseChunk
from streams.chat.events import TurnNames
from streams.chat.sending import Sending

#: Between two records of an answer (seconds): what is shown meanwhile is one.
_PAUSE_SECONDS = 0.5


class Publishing:
    """Writes one answer, in order and one record at a time."""

    def __init__(self, sending: Sending, names: TurnNames) -> None:
        self._sending = sending
        self._names = names
        self._text = ""
        self._duplicates: list[ContentDuplicationEvent] = []
        self._sequence = 0
        self._ending = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._is_final = False

    def add(self, told: str | ContentDuplicationEvent) -> None:
        """Have something written; nothing is once a record has failed."""
        if isinstance(told, str):
            self._text += told
        else:
            self._duplicates.append(told)
        if self._writing is None or (self._writing.done() and self._writing.exception() is None):
            self._writing = asyncio.create_task(self._write_all())

    def check(self) -> None:
        """Raise what a record has failed of: :class:`DependencyUnavailable`."""
        if self._writing is not None and self._writing.done():
            self._writing.result()

    async def finish(self) -> None:
        """Write what is left, as the end of the answer; once.

        Raises:
            DependencyUnavailable: it is not confirmed, or what was written before is not.
        """
        if self._is_final:
            return
        self._is_final = True
        self._ending.set()
        if self._writing is not None:
            await self._writing
        await self._write(final=True)

    async def _write_all(self) -> None:
        while (self._text or self._duplicates) and not self._ending.is_set():
            await self._write(final=False)
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_SECONDS):
                    await self._ending.wait()

    async def _write(self, *, final: bool) -> None:
        text, self._text = self._text, ""
        duplicates, self._duplicates = self._duplicates, []
        chunk = ResponseChunk(
            response_id=self._names.response_id,
            conversation_id=self._names.conversation_id,
            tenant_id=self._names.tenant_id,
            sequence=self._sequence,
            text=text,
            final=final,
        )
        self._sequence += 1
        await self._sending.response(chunk, duplicates)
