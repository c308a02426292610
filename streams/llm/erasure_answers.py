"""Forgetting what language models answered about a conversation or a person: in the log, and in Redis.

A command that erases is followed wherever it comes from: by the memory service, which reads it
(:mod:`streams.agents.memory.commands`).  ``switchboard erase`` and the HTTP API do it themselves, too, to say
how many answers there were; whoever comes second finds none.

What is erased is written down before anything is looked for: of what was said until then nobody is asked any
more, and who was being asked looks again when the answer is there (:mod:`streams.llm.asking`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from models.errors import DependencyUnavailable
from models.memo import Memo
from streams.clients.erasures import Erasing
from streams.clients.redis_client import open_redis
from streams.config.settings import Settings
from streams.llm.memo.memo import MemoLog
from streams.llm.memo.topic import Entry, Looked, MemoTopic
from streams.llm.memo.view import MemoView

#: Of the time that a stage's step may take, how much is spent on looking through the topic.
_SHARE_OF_STEP = 0.8


async def forget_answers(
    settings: Settings,
    erased: Iterable[Erasing],
    is_theirs: Callable[[Memo, Entry], bool],
    name: str,
    looked: Looked | None = None,
    *,
    now: bool = False,
) -> int:
    """Erase the answers that are somebody's, as far as they are written by now; return how many there were.

    ``erased``: of which conversations, so that of these no others come; ``now``: up to when this is written, by
    the broker's clock, whatever ours says.  ``name`` is what the broker knows the
    caller by; ``looked``: how far an earlier call came.

    Raises:
        DependencyUnavailable: broker or Redis do not answer; asked again, nothing is done twice.
    """
    async with AsyncExitStack() as resources:
        topic = MemoTopic(settings, name)
        resources.push_async_callback(topic.close)
        if not await topic.exists():
            return 0
        await topic.mark(erased, now=now)
        gone = await topic.forget(is_theirs, looked)
        if settings.redis_url:
            redis = open_redis(settings)
            resources.push_async_callback(redis.aclose)
            memos = MemoLog(topic, MemoView(redis, settings.namespace.live))
            resources.push_async_callback(memos.close)
            await memos.catch_up()
    return gone


class ConversationAnswers:
    """The answers that were given in conversations."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        #: How far calls came that took too long: they are made again, and go on from there.
        self._begun: dict[frozenset[Erasing], Looked] = {}

    async def forget(self, erased: Sequence[Erasing]) -> int:
        """Erase those of ``erased`` conversations; return how many there were.

        A command that is read again erases nothing that was answered after it.

        Raises:
            DependencyUnavailable: broker or Redis do not answer, or there are so many answers that looking
                through them takes longer than a step may: it goes on when this is called again.
        """
        until = _until(erased)
        looked = self._begun.setdefault(frozenset(erased), Looked())
        patience = _SHARE_OF_STEP * self._settings.step_timeout_seconds
        try:
            async with asyncio.timeout(patience):
                gone = await forget_answers(
                    self._settings,
                    erased,
                    lambda memo, entry: _is_erased(memo, entry, until),
                    "switchboard-memory",
                    looked,
                )
        except TimeoutError as error:
            raise DependencyUnavailable(
                "kafka", f"models.memo.v1 is looked through for what is erased: {looked.count:,} records so far"
            ) from error
        del self._begun[frozenset(erased)]
        return gone


def _until(erased: Iterable[Erasing]) -> Mapping[tuple[str, str], datetime]:
    """Return up to when something was erased of each conversation (tenant, id).

    Also for one person in it alone: in an answer about somebody else that person's words may stand.
    """
    until: defaultdict[tuple[str, str], datetime] = defaultdict(lambda: datetime.min.replace(tzinfo=UTC))
    for each in erased:
        name = each.tenant_id, each.conversation_id
        until[name] = max(until[name], each.until)
    return until


def _is_erased(memo: Memo, entry: Entry, erased: Mapping[tuple[str, str], datetime]) -> bool:
    name = memo.tenant_id, memo.conversation_id
    if name not in erased:
        return False
    if memo.arrived_at is not None:
        return memo.arrived_at <= erased[name]
    # By either clock: the log's moves on when an answer is written again, the worker's may be wrong.
    written = datetime.fromtimestamp(entry.timestamp / 1000, UTC)
    return min(memo.asked_at, written) <= erased[name]
