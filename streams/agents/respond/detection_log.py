"""Log of the response filter.

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
        self._seen: set[type[Exception]] = set()

    def begin(self, session_id: str) -> None:
        """The comparisons that follow are about this conversation."""
        self._session_id = session_id

    def around(self, find: FindDuplicate) -> FindDuplicate:
        """Return ``find``, timed and told of."""

        def told(sentence: str, earlier: Iterable[str], threshold: float) -> Match | None:
            began = time.perf_counter()
            try:
                match = find(sentence, earlier, threshold)
            finally:
                self._observe(time.perf_counter() - began)
            if _levels.isEnabledFor(logging.DEBUG):
                score, found = round(match.score, 3) if match else None, match is not None
                about = {"session_id": self._session_id, "text": sentence}
                log.debug("similarity check", **about, similarity_score=score, is_duplicate=found)
            return match

        return told

    def tell(self, response_id: str, done: Sequenced) -> None:
        """Tell what a step of a response did.  An error's traceback is shown for the first of its kind only."""
        about = {"session_id": self._session_id, "response_id": response_id}
        for event in done.duplicates:
            what = {
                "event_id": event.event_id,
                "duplicate_sentence": event.duplicate_sentence,
                "similar_sentence": event.similar_sentence,
                "similarity_score": round(event.similarity_score, 3),
                "position_in_response": event.position_in_response,
            }
            if event.kept:
                log.info("similar content kept", **about, **what)
            else:
                log.warning("duplicate content taken out", **about, **what)
        for error in done.errors[:1]:
            log.error(
                "content duplicate detection failed; the text was let through",
                **about,
                errors=len(done.errors),
                kind=type(error).__name__,
                exc_info=None if type(error) in self._seen else error,
            )
            self._seen.add(type(error))
        if done.said and _levels.isEnabledFor(logging.INFO):
            log.info("content added to tracking", **about, sentences=len(done.said))
