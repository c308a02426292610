"""Comparison of a replay with the live generation as a whole: facts, summaries, contexts, costs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from streams.config.settings import Settings
from streams.server.replays import comparing, contexts, costs, running
from streams.server.replays.comparing import Compared
from streams.server.replays.contexts import Contexts
from streams.server.replays.costs import Paid

#: Exit status of `switchboard replay compare` if the generations differ.
DIFFERENT = 1


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A replay beside the live generation.

    ``left``: records that the replay has still to read, which makes a difference unless it has ``caught_up``.
    ``paid``: what each has paid for language models, as ``live`` and by the name of the replay.
    """

    generation: str
    compared_at: datetime
    caught_up: bool
    left: int
    topics: list[Compared]
    contexts: Contexts
    paid: dict[str, Paid]

    @property
    def same(self) -> bool:
        """True if facts and summaries differ in nothing but what they are traced to."""
        return all(each.same for each in self.topics)


async def make(live: Settings, replayed: Settings, tell: Callable[[str], None] = lambda _: None) -> Comparison:
    """Compare a replay with the live generation.  Reads their topics from end to end.

    Raises:
        NotFound: one of them does not exist.  DependencyUnavailable: the broker does not answer.
    """
    began = datetime.now(UTC)
    far = await running.progress(replayed)
    topics = [await comparing.compare(live, replayed, topic, tell) for topic in comparing.COMPARED]
    tell("contexts")
    told = await contexts.compare(live, replayed)
    return Comparison(
        generation=replayed.generation,
        compared_at=began,
        caught_up=far.caught_up,
        left=far.left,
        topics=topics,
        contexts=told,
        paid=await costs.paid(live, replayed.generation),
    )
