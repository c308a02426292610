"""What comes back of an answer: its text as the respond service lets it through, and what that took out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from models.answers import Notice, Trouble
from models.responses import ContentDuplicationEvent, ResponseChunk
from streams.chat.filtered import Told

#: How long the respond service may be silent before its text is done without (seconds).
_FILTER_SECONDS = 8.0

#: How long what was taken out of an answer is waited for behind its end (seconds): it comes by another topic.
_REPEATS_SECONDS = 1.0


class NotWhole(Exception):
    """Of what came back of an answer a piece is missing."""


class ReadBack:
    """What came back so far; ``tell`` is told of it.  ``shown``: the text; ``duplicates``: what it repeated."""

    def __init__(self, tell: Callable[[str, object], Awaitable[None]]) -> None:
        self._tell = tell
        self._repeats: set[str] = set()
        self.shown = ""
        self.duplicates: list[ContentDuplicationEvent] = []
        self.is_final = False

    async def follow(self, queue: asyncio.Queue[Told]) -> None:
        """Tell what the respond service lets through, until the end of the answer.

        What one that was killed writes again has the same names, and is told once.

        Raises:
            NotWhole: a piece is missing.
        """
        heard = 0
        while not self.is_final:
            told = await queue.get()
            if isinstance(told, ContentDuplicationEvent):
                await self._repeated(told)
            elif isinstance(told, ResponseChunk) and told.sequence >= heard:
                if told.sequence > heard:
                    raise NotWhole
                heard = told.sequence + 1
                self.shown += told.text
                self.is_final = told.final
                if told.text:
                    await self._tell("text", {"text": told.text})

    async def to_its_end(self, following: asyncio.Task[None], said: str) -> None:
        """Wait for the end of the filtered text as long as more comes; without it, show what was ``said``.

        Raises:
            NotWhole: a piece is missing.
        """
        before, now = -1, len(self.shown) + len(self.duplicates)
        while not following.done() and before < now:
            await asyncio.wait([following], timeout=_FILTER_SECONDS)
            before, now = now, len(self.shown) + len(self.duplicates)
        if following.done():
            following.result()
            return
        message = "The respond service does not answer: what repeats itself is shown, too."
        await self._tell("notice", Notice(problem=Trouble.FILTER, message=message))
        rest = said.removeprefix(self.shown)
        if said == self.shown + rest != self.shown:  # else it is not known where the rest begins
            self.shown = said
            await self._tell("text", {"text": rest})

    async def repeats(self, queue: asyncio.Queue[Told], said: str) -> None:
        """Wait until it is known of all that is missing in the text what it was, but not for long."""
        deadline = asyncio.get_running_loop().time() + _REPEATS_SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                while _letters(said) > _letters(self.shown) + self._taken_out():
                    told = await queue.get()
                    if isinstance(told, ContentDuplicationEvent):
                        await self._repeated(told)
        except TimeoutError:
            return  # what went with it, such as the mark of a list's item, is no sentence

    def _taken_out(self) -> int:
        return sum(_letters(each.duplicate_sentence) for each in self.duplicates if not each.kept)

    async def _repeated(self, told: ContentDuplicationEvent) -> None:
        if told.event_id not in self._repeats:
            self._repeats.add(told.event_id)
            self.duplicates.append(told)
            await self._tell("duplicate", told)


def _letters(text: str) -> int:
    """Return the length of a text without its white space."""
    return len("".join(text.split()))
