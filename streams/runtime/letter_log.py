"""Dead letters in the log: the first of a kind, then the tenth, the hundredth, the thousandth, and so on."""

from __future__ import annotations

from collections import Counter

import structlog

log = structlog.get_logger("streams.runtime")


class LetterLog:
    """Tells of one stage's dead letters.  A kind is a topic and a reason."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._counts: Counter[tuple[str, str]] = Counter()

    def tell(self, topic: str, partition: int, offset: int, reason: str, message: str) -> None:
        """A letter is in its queue; where its record lies, and why it could not be processed."""
        kind = (topic, reason)
        self._counts[kind] += 1
        count = self._counts[kind]
        if str(count).rstrip("0") != "1":
            return
        log.warning(
            "a record cannot be processed and is in the dead-letter queue",
            stage=self._stage,
            topic=topic,
            partition=partition,
            offset=offset,
            reason=reason,
            # What a step says when it fails may repeat what it was given; what judges a record names fields.
            why=message if reason != "step_failed" else "the queue has the error",
            so_far=count,
        )
