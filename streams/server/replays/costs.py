"""Costs of generations: what each has paid for answers of language models, by the memo.

An answer is paid once, by the generation that asked first; another one finds it in the memo.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from models.errors import ConfigurationError, DependencyUnavailable
from models.memo import Memo, Outcome
from streams.config.settings import Settings
from streams.llm.memo.topic import MemoTopic, read

#: What the services of a generation ask for; answers of chats are nobody's replay.
_PURPOSES = frozenset({"extraction", "summary", "merging", "embedding"})

_POLL_SECONDS = 1.0

log = structlog.get_logger("streams.server.replays")


class Paid(msgspec.Struct):
    """Answers that a generation has paid, and their price in US dollars."""

    answers: int = 0
    cost_usd: float = 0.0

    def add(self, memo: Memo) -> None:
        """Count an answer."""
        self.answers += memo.outcome is not Outcome.OVER_BUDGET
        self.cost_usd += memo.cost_usd


class Ledger:
    """Costs by generation, as of the last reading of the memo; answers that were erased before are not known.

    The rare answer that is written again, behind a second one to the same question, counts twice.
    """

    def __init__(self, live: Settings) -> None:
        self._topic = MemoTopic(live, "switchboard-replay")
        self._at: dict[int, int] = {}
        self._paid: dict[str, Paid] = {}

    def of(self, generation: str) -> Paid:
        """Return the costs of a generation; empty: the live one."""
        return self._paid.setdefault(generation, Paid())

    async def read(self) -> None:
        """Read what was paid since.

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        if not await self._topic.exists():
            return
        ends = await self._topic.ends()
        spans = {number: (self._at.get(number, 0), end) for number, end in enumerate(ends)}
        new = {number: span for number, span in spans.items() if span[0] < span[1]}
        async for number, entries, following in self._topic.read_spans(new):
            self._at[number] = following
            for entry in entries:
                memo = read(entry.value)
                if memo is not None and memo.purpose in _PURPOSES:
                    self.of(memo.generation).add(memo)

    async def close(self) -> None:
        """Close the connections."""
        await self._topic.close()


def refuse_paid(generation: str, paid: Paid, most: float) -> None:
    """Refuse to go on where a generation has paid what it may.

    Raises:
        ConfigurationError: it says how much that is.
    """
    if most and paid.cost_usd >= most:
        raise ConfigurationError(
            f"replay {generation} has paid ${paid.cost_usd:,.4f} for {paid.answers:,} answers, and may pay "
            f"${most:g}: `switchboard replay resume {generation} --max-cost N` lets it pay more (0: any amount)"
        )


async def watch(live: Settings, generation: str, most: float, stop: Callable[[str], None]) -> None:
    """Call ``stop`` with the reason once a generation has paid ``most`` US dollars.

    It is looked once a second; calls that are made until the workers have stopped are paid, too.
    """
    ledger = Ledger(live)
    try:
        while True:
            try:
                await ledger.read()
                refuse_paid(generation, ledger.of(generation), most)
            except DependencyUnavailable as error:
                log.warning("what the replay has paid is unknown", error=str(error))
            except ConfigurationError as error:
                stop(str(error))
                return
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        await ledger.close()


async def paid(live: Settings, generation: str) -> dict[str, Paid]:
    """Return the costs of the live generation and of another one, as ``live`` and by its name."""
    ledger = Ledger(live)
    try:
        await ledger.read()
        return {"live": ledger.of(""), generation: ledger.of(generation)}
    finally:
        await ledger.close()
