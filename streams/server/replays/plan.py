"""Plan of a replay: how much there is to read, how long that takes, and what language models would cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from models.errors import ConfigurationError
from models.memo import Outcome
from streams.clients.catalog import catalog_for
from streams.config.settings import Settings
from streams.llm.memo.topic import MemoTopic, read
from streams.server.replays import record
from streams.server.replays.log import Gone, Held, look

#: Messages a second where nothing is measured or stated: two cores with the built-in models.
ASSUMED_RATE = 100.0

#: Bytes of text per token, about.
_TOKEN_BYTES = 4


class ModelCalls(msgspec.Struct, frozen=True):
    """Questions to a language model: about how many, how many answers the memo has, and the price of the rest.

    ``cost_usd`` is ``None`` where no answer of this model had a price.
    """

    model: str
    questions: int
    known: int
    to_ask: int
    cost_usd: float | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Extent and cost of a replay.

    ``rate`` is in messages a second; ``rate_is`` ``measured``, ``stated`` or ``assumed``.  ``partitions``: of
    described topics that have others than live.
    """

    generation: str
    messages: int
    bytes: int
    conversations: int
    commands: int
    since: datetime | None
    gone: Gone
    rate: float
    rate_is: str
    minutes: float
    partitions: dict[str, int]
    calls: ModelCalls | None


async def make(
    live: Settings, replayed: Settings, rate: float = 0.0, tell: Callable[[str], None] = lambda _: None
) -> Plan:
    """Read the log and say what a replay with the settings ``replayed`` would take.

    ``rate``: messages a second to reckon with; 0: as the last replay of this deployment ran here.

    Raises:
        ConfigurationError: there is no log.  DependencyUnavailable: the broker does not answer.
    """
    held = await look(live, tell)
    rate, rate_is = _rate(live, rate)
    return Plan(
        generation=replayed.generation,
        messages=held.messages,
        bytes=held.bytes,
        conversations=held.conversations,
        commands=held.commands,
        since=held.since,
        gone=held.gone,
        rate=rate,
        rate_is=rate_is,
        minutes=held.messages / rate / 60,
        partitions=_grown(live, replayed),
        calls=await _calls(live, replayed, held) if replayed.reads_with_model else None,
    )


def refuse_loss(gone: Gone) -> None:
    """Refuse a replay that could not make what the live generation has.

    Raises:
        ConfigurationError: records are gone; it says which, and what to do.
    """
    if not gone:
        return
    lost = []
    if gone.messages:
        lost.append(
            f"{gone.messages:,} records of {gone.conversations:,} conversations that the live generation knows "
            "from their beginning"
        )
    if gone.commands:
        lost.append(f"{gone.commands:,} commands, corrections of facts among them")
    raise ConfigurationError(
        f"the log no longer holds {' and '.join(lost)}: a replay would not know what came of them. Add "
        "--accept-loss to replay what is left"
    )


def _grown(live: Settings, replayed: Settings) -> dict[str, int]:
    before = catalog_for(live)
    return {
        spec.contract_name: spec.partitions
        for spec in catalog_for(replayed)
        if spec.type and spec.partitions != before.partitions(spec.contract_name)
    }


def _rate(live: Settings, stated: float) -> tuple[float, str]:
    if stated:
        return stated, "stated"
    measured = record.last_measured(live)
    return (measured, "measured") if measured else (ASSUMED_RATE, "assumed")


async def _calls(live: Settings, replayed: Settings, held: Held) -> ModelCalls:
    model = replayed.model_endpoint.model
    questions = 0
    if replayed.asks_model("extractor", "graph_reader"):
        # At most: each conversation has one window that is not full.
        questions += held.messages // (replayed.window_size - replayed.window_overlap) + held.conversations
    if replayed.asks_model("summarizer"):
        questions += held.bytes // _TOKEN_BYTES // replayed.token_threshold
    known, costs = 0, list[float]()
    memos = MemoTopic(live, "switchboard-cli")
    try:
        if await memos.exists():
            async for entry in memos.all():
                memo = read(entry.value)
                if memo is not None and memo.model == model and memo.outcome is Outcome.ANSWERED:
                    known += 1
                    costs.append(memo.cost_usd)
    finally:
        await memos.close()
    to_ask = max(0, questions - known)
    cost = to_ask * sum(costs) / len(costs) if any(costs) else None
    return ModelCalls(model, questions, known, to_ask, cost)
