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
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime

import msgspec
import structlog

from models.errors import DependencyUnavailable
from models.memo import Erased, Memo
from streams.clients.erasures import Erasing
from streams.config.single_flight import SingleFlight
from streams.llm.memo.topic import Entry, MemoTopic, erasing_of, read
from streams.llm.memo.view import Line, MemoView

log = structlog.get_logger("streams.memo")

_encode = msgspec.json.Encoder().encode


class MemoLog:
    """Topic and view together.  Every method raises :class:`DependencyUnavailable` if one of them is down."""

    def __init__(self, topic: MemoTopic, view: MemoView) -> None:
        self._topic = topic
        self._view = view
        self._catching_up = SingleFlight(self._catch_up, "memo-catching-up")

    async def find(self, memo_ids: Sequence[str]) -> dict[str, Memo]:
        """Return the answers to questions that were not erased since, by memo id."""
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
        """Return the erasures of conversations (tenant, id), as of the last call's reading."""
        return await self._view.erased(conversations)

    async def erased_by_now(self, conversations: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Erased]:
        """Return the erasures of conversations (tenant, id) until this call."""
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
        """Say whether a call that may cost ``most`` is within a tenant's budget of the day (UTC; US dollars),
        by what the last :meth:`find` or :meth:`write` has read.

        If so it counts as spent, for all who share the view, until the block ends: what the call has cost is
        written by then.  One whose process died counts for ``lease_seconds``.
        """
        name = uuid.uuid4().hex
        if not await self._view.reserve(tenant_id, _day(on), most, budget, name, round(lease_seconds * 1000)):
            yield False
            return
        try:
            yield True
        finally:
            try:
                await asyncio.shield(self._view.release(tenant_id, name))
            except DependencyUnavailable as error:
                # What was answered is paid: it is not lost for this.
                log.warning("a call that has ended counts as open until its lease ends", error=str(error))

    async def _known(self, memo_ids: Iterable[str]) -> dict[str, Memo]:
        wanted = list(memo_ids)
        values = map(read, await self._view.get(wanted))
        return {memo_id: memo for memo_id, memo in zip(wanted, values, strict=True) if memo is not None}

    async def catch_up(self) -> None:
        """Read the topic into the view, up to the end that it has now: who asks meanwhile shares the next
        reading.
        """
        await self._catching_up.run()

    async def close(self) -> None:
        """End what is being read; topic and view are whose they were."""
        await self._catching_up.close()

    async def _catch_up(self) -> None:
        # A mark that was there before an end was asked for holds all the same: what it lacks is read below.
        ends, marks = await asyncio.gather(self._topic.ends(), self._view.marks(self._topic.partitions))
        while True:
            if any(mark > end for mark, end in zip(marks, ends, strict=True)):
                # Another process has read on since, or the topic was made again.
                ends = await self._topic.ends()
                marks = [
                    await self._from_beginning(partition) if mark > end else mark
                    for partition, (mark, end) in enumerate(zip(marks, ends, strict=True))
                ]
            behind = {
                partition: (mark, end)
                for partition, (mark, end) in enumerate(zip(marks, ends, strict=True))
                if mark < end
            }
            if not behind:
                return
            await self._read_on(behind)
            marks = await self._view.marks(self._topic.partitions)

    async def _from_beginning(self, partition: int) -> int:
        log.warning("the memo's topic was made again: it is read from its beginning")
        await self._view.begin_anew(partition)
        return 0

    async def _read_on(self, behind: Mapping[int, tuple[int, int]]) -> None:
        """Read partitions from their marks to their ends, or until another process was faster."""
        marks = {partition: mark for partition, (mark, _) in behind.items()}
        # Closed here, whatever happens: it holds the reader.
        async with aclosing(self._topic.read_spans(behind)) as parts:
            async for partition, entries, following in parts:
                if partition not in marks:
                    continue
                lines = [_line(entry) for entry in entries]
                later = await self._view.take(partition, marks.pop(partition), following, lines)
                if later is None:
                    continue
                if later:
                    again = [line.memo_id for number in later if isinstance(line := lines[number], Line)]
                    await self._restore(partition, again)
                marks[partition] = following

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
