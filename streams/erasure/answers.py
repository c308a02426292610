"""Forgetting what language models answered about a conversation or a person: in the log, and in Redis.

A command that erases is followed wherever it comes from: by the memory service, which reads it
(:mod:`streams.agents.memory.commands`).  ``switchboard erase`` and the HTTP API do it themselves, too, to say
how many answers there were; whoever comes second finds none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from models.memo import Memo
from streams.adapters.memo.memo import MemoLog
from streams.adapters.memo.topic import Entry, MemoTopic
from streams.adapters.memo.view import MemoView
from streams.adapters.redis_client import open_redis
from streams.settings import Settings

#: Up to when conversations, by tenant and id, are erased.
Erased = Mapping[tuple[str, str], datetime]


async def forget_answers(settings: Settings, is_theirs: Callable[[Memo, Entry], bool], name: str) -> int:
    """Erase the answers that are somebody's, as far as they are written by now; return how many there were.

    ``name`` is what the broker knows the caller by.

    Raises:
        DependencyUnavailable: broker or Redis do not answer; asked again, nothing is done twice.
    """
    async with AsyncExitStack() as resources:
        topic = MemoTopic(settings, name)
        resources.push_async_callback(topic.close)
        erased = await topic.forget(is_theirs)
        if erased and settings.redis_url:
            redis = open_redis(settings)
            resources.push_async_callback(redis.aclose)
            await MemoLog(topic, MemoView(redis, settings.namespace)).catch_up()
    return erased


class ConversationAnswers:
    """The answers that were given in conversations."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def forget(self, erased: Erased) -> int:
        """Erase those of ``erased`` conversations; return how many there were.

        A command that is read again erases nothing that was answered after it.
        """
        return await forget_answers(
            self._settings, lambda memo, entry: _is_erased(memo, entry, erased), "switchboard-memory"
        )


def _is_erased(memo: Memo, entry: Entry, erased: Erased) -> bool:
    until = erased.get((memo.tenant_id, memo.conversation_id))
    # By either clock: the log's moves on when an answer is written again, the worker's may be wrong.
    written = datetime.fromtimestamp(entry.timestamp / 1000, UTC)
    return until is not None and min(memo.asked_at, written) <= until
