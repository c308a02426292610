"""Search by words on a Qdrant server that has no text query: it says who has any of the words, BM25 is ours.

The server's index of the text finds them; how well they fit is computed here, among so many of them at most.
"""

from __future__ import annotations

from typing import Any

from qdrant_client import models as q

from processors.retrieval.recall.question import asked_words
from processors.retrieval.recall.rarity import Rarity
from streams.stores.qdrant_collection import Collection

#: Texts that are compared at most, of those with any of the words; and how many are read at once.
MOST_TEXTS, _PAGE = 2_000, 500

#: Score of a text in which the server found a word, and we did not.
_LEAST_SCORE = 1e-6


async def best_by_words(
    collection: Collection, field: str, query: str, where: q.Filter, limit: int
) -> dict[str, float]:
    """Return the ids of at most ``limit`` points whose text shares words with ``query``, best first, and their
    scores.
    """
    if not asked_words(query):
        return {}
    words = q.FieldCondition(key=field, match=q.MatchTextAny(text_any=query))
    among = q.Filter(must=[where, words])
    texts: dict[str, str] = {}
    start: Any = None
    while len(texts) < MOST_TEXTS:
        page = collection.client.scroll(collection.name, among, limit=_PAGE, offset=start, with_payload=[field])
        records, start = await collection.ask(page)
        texts |= {str(record.id): str((record.payload or {}).get(field, "")) for record in records}
        if start is None:
            break
    fits = Rarity(query, [("", text, "") for text in texts.values()]).alone
    scores = {name: max(fit, _LEAST_SCORE) for name, fit in zip(texts, fits, strict=True)}
    return dict(sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:limit])
