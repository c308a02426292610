"""What the response filter does, in the log, at the levels of seed 003.

DEBUG every comparison, INFO what a response added to what is tracked and what is similar but was kept, WARNING
each duplicate that was taken out, ERROR detection that failed (its text was let through).  Each with
``session_id``, none with what was said: the log shows the length of a sentence in its place.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

import structlog

from processors.responses.duplicates import Match
from processors.responses.filter_state import FindDuplicate
from processors.responses.sequence import Sequenced

_NAME = "streams.agents.respond"

log = structlog.get_logger(_NAME)

#: Asked first: a structlog call costs some microseconds even if nothing is shown.
_levels = logging.getLogger(_NAME)


class DetectionLog:
    """Tells of one worker's filter.  ``observe_latency`` takes the seconds that each comparison took."""

    def __init__(self, observe_latency: Callable[[float], None]) -> None:
        self._observe = observe_latency
        self._session_id = ""
        self._seen: set[str] = set()

    def begin(self, session_id: str) -> None:
        """The comparisons that follow are about this conversation."""
        self._session_id = session_id

    def around(self, find: FindDuplicate) -> FindDuplicate:
        """Return ``find``, timed and told of."""

        def told(sentence: str, remembered: Iterable[str], threshold: float) -> Match | None:
            began = time.perf_counter()
            try:
                match = find(sentence, remembered, threshold)
            finally:
                self._observe(time.perf_counter() - began)
            if _levels.isEnabledFor(logging.DEBUG):
                log.debug(
                    "similarity check",
                    session_id=self._session_id,
                    text=sentence,
                    similarity_score=None if match is None else round(match.score, 3),
                    is_duplicate=match is not None,
                )
            return match

        return told

    def tell(self, response_id: str, done: Sequenced) -> None:
        """Tell what a step of a response did.  An error's traceback is shown for the first of its kind only."""
        for duplicate in done.duplicates:
            tell = log.info if duplicate.kept else log.warning
            tell(
                "similar content kept" if duplicate.kept else "duplicate content taken out",
                session_id=duplicate.session_id,
                response_id=response_id,
                event_id=duplicate.event_id,
                duplicate_sentence=duplicate.duplicate_sentence,
                similar_sentence=duplicate.similar_sentence,
                similarity_score=round(duplicate.similarity_score, 3),
                position_in_response=duplicate.position_in_response,
            )
        for error in done.errors[:1]:
            kind = type(error).__name__
            log.error(
                "content duplicate detection failed; the text was let through",
                session_id=self._session_id,
                response_id=response_id,
                errors=len(done.errors),
                kind=kind,
                exc_info=None if kind in self._seen else error,
            )
            self._seen.add(kind)
        if done.said and _levels.isEnabledFor(logging.INFO):
            log.info(
                "content added to tracking",
                session_id=self._session_id,
                response_id=response_id,
                sentences=len(done.said),
            )
