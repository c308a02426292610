"""The memo: what was asked before is found, what was answered is in the log before it is used.

The topic is the truth, Redis its view.  Before the view is asked it reads the topic, from where it stands to
the end at that moment; what it does not know then was never asked, or was erased.  So an emptied Redis costs
time and no call, and what another worker wrote a moment ago is found.

Two answers to one question (two workers that both took themselves for the owner of a partition): the first in
the log counts, for both, and is written again behind the second, or compaction would keep that one.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime

import msgspec
import structlog

from models.errors import DependencyUnavailable
from models.memo import Erased, Memo
from streams.adapters.memo.topic import Entry, MemoTopic, erasing_of, read
from streams.adapters.memo.view import Line, MemoView
from streams.erasure.erasures import Erasing

log = structlog.get_logger("streams.memo")

_encode = msgspec.json.Encoder().encode


class MemoLog:
    """Topic and view together.  Every method raises :class:`DependencyUnavailable` if one of them is down."""

    def __init__(self, topic: MemoTopic, view: MemoView) -> None:
        self._topic = topic
        self._view = view
        self._catching_up = [asyncio.Lock() for _ in range(topic.partitions)]

    async def find(self, memo_ids: Sequence[str]) -> dict[str, Memo]:
        """Return what was answered to questions, and not erased since, by memo id."""
        if not memo_ids:
            return {}
        await self.catch_up()
        return await self._known(memo_ids)

    async def write(self, memos: Sequence[Memo]) -> dict[str, Memo]:
        """Write answers to the log and return, by memo id, those that count: the first of each question."""
        entries = [
            Entry(each.memo_id.encode(), _encode(each), self._topic.partition(each.user_id)) for each in memos
        ]
        await self._topic.write(entries)
        await self.catch_up()
        # What was erased or emptied since is not asked for again: it was answered.
        return {each.memo_id: each for each in memos} | await self._known(each.memo_id for each in memos)

    async def erased(self, conversations: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Erased]:
        """Return what was erased of conversations (tenant, id), as far as the last call has read."""
        return await self._view.erased(conversations)

    async def erased_by_now(self, conversations: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Erased]:
        """Return what was erased of conversations (tenant, id) until this call."""
        await self.catch_up()
        return await self.erased(conversations)

    async def erase(self, memos: Iterable[Memo]) -> None:
        """Erase answers, which were written when what they are about was erased already."""
        await self._topic.write(
            [Entry(each.memo_id.encode(), None, self._topic.partition(each.user_id)) for each in memos]
        )
        await self.catch_up()

    @asynccontextmanager
    async def reserve(
        self, tenant_id: str, on: datetime, most: float, budget: float, lease_seconds: float
    ) -> AsyncIterator[bool]:
        """Say whether a call that may cost ``most`` is within a tenant's budget of the day (UTC; US dollars).

        If so it counts as spent, for all who share the view, until the block ends: what the call has cost is
        written by then.  One whose process died counts for ``lease_seconds``.
        """
        await self.catch_up()
        name = uuid.uuid4().hex
        if not await self._view.reserve(tenant_id, _day(on), most, budget, name, round(lease_seconds * 1000)):
            yield False
            return
        try:
            yield True
        finally:
            try:
                await asyncio.shield(self._view.let_go(tenant_id, name))
            except DependencyUnavailable as error:
                # What was answered is paid: it is not lost for this.
                log.warning("a call that has ended counts as open until its lease ends", error=str(error))

    async def _known(self, memo_ids: Iterable[str]) -> dict[str, Memo]:
        wanted = list(memo_ids)
        values = map(read, await self._view.get(wanted))
        return {memo_id: memo for memo_id, memo in zip(wanted, values, strict=True) if memo is not None}

    async def catch_up(self) -> None:
        """Read the topic into the view, up to the end that it has now."""
        # A mark that was there before an end was asked for holds all the same: what it lacks is read below.
        ends, marks = await asyncio.gather(self._topic.ends(), self._view.marks(self._topic.partitions))
        for partition, (mark, end) in enumerate(zip(marks, ends, strict=True)):
            if mark != end:
                async with self._catching_up[partition]:
                    await self._read_up_to(partition, end)

    async def _read_up_to(self, partition: int, end: int) -> None:
        while (mark := (await self._view.marks(self._topic.partitions))[partition]) != end:
            if mark > end:
                # Another process has read on since, or the topic was made again.
                if mark <= (end := (await self._topic.ends())[partition]):
                    continue
                log.warning("the memo's topic was made again: it is read from its beginning")
                await self._view.begin_anew(partition)
            await self._read_on(partition, 0 if mark > end else mark, end)

    async def _read_on(self, partition: int, mark: int, end: int) -> None:
        """Read from ``mark`` to ``end``, or until another process was faster."""
        # Closed here, whatever happens: it holds the reader.
        async with aclosing(self._topic.read(partition, mark, end)) as parts:
            async for entries, following in parts:
                lines = [_line(entry) for entry in entries]
                later = await self._view.take(partition, mark, following, lines)
                if later is None:
                    return
                if later:
                    again = [line.memo_id for number in later if isinstance(line := lines[number], Line)]
                    await self._restore(partition, again)
                mark = following

    async def _restore(self, partition: int, memo_ids: Sequence[str]) -> None:
        log.warning("a question was answered twice: the first answer is written again", questions=len(memo_ids))
        values = zip(memo_ids, await self._view.get(memo_ids), strict=True)
        again = [Entry(memo_id.encode(), value, partition) for memo_id, value in values if value is not None]
        await self._topic.write(again)


def _line(entry: Entry) -> Line | Erasing:
    if (erasing := erasing_of(entry)) is not None:
        return erasing
    memo = read(entry.value)
    memo_id = entry.key.decode(errors="replace")
    if memo is None or entry.value is None:
        if entry.value is not None:
            log.warning("a record of the memo cannot be read, and is passed over", key=memo_id)
        return Line(memo_id, b"")
    return Line(memo_id, entry.value, memo.tenant_id, _day(memo.asked_at), memo.cost_usd)


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
