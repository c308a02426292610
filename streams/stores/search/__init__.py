"""Finding what a person said and what is known of them, by meaning and by words at once (requirement 3).

:mod:`.wanted` says what may be asked, :mod:`.results` what is answered; :mod:`.pools` gets candidates from the
indexes, :mod:`.neighbours` the turns around them from the log; :mod:`.memory` has all
ranked (:mod:`processors.retrieval.recall.ranking`).
"""

from streams.stores.search.memory import MemorySearch
from streams.stores.search.neighbours import Neighbours
from streams.stores.search.pools import EpisodeIndex, TurnIndex
from streams.stores.search.results import Empty, Result, Results, Scope, Surrounding
from streams.stores.search.wanted import MINIMUM_CONFIDENCE, MOST_RESULTS, SearchType, Wanted, kinds_of

__all__ = [
    "MINIMUM_CONFIDENCE",
    "MOST_RESULTS",
    "Empty",
    "EpisodeIndex",
    "MemorySearch",
    "Neighbours",
    "Result",
    "Results",
    "Scope",
    "SearchType",
    "Surrounding",
    "TurnIndex",
    "Wanted",
    "kinds_of",
]
