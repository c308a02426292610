"""Query and candidates of a context, with their similarity to the last message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.context import FoundBy
from models.episodes import Episode
from models.messages import Role
from models.turns import Turn
from processors.retrieval.context.ranking import Candidate, is_related, likeness
from processors.retrieval.context.wording import excerpt
from processors.retrieval.embedding.wording import EMBEDDED_CHARACTERS
from processors.retrieval.recall.question import words_of
from streams.agents.contexts.requests import SPEAKERS

Vector: TypeAlias = NDArray[np.float32]

#: Turns that the context is made from: N-2 and N-1.
_MADE_FROM = 2

#: What the person said bears more on what comes than what was answered.
_WEIGHTS = {Role.USER: 1.0, Role.ASSISTANT: 0.5}

#: Characters of a turn that are searched for by words.
_SEARCHED = {Role.USER: 600, Role.ASSISTANT: 200}

#: Characters of a remembered turn that are shown.
_EXCERPT = 240


class LastTurns(NamedTuple):
    """Last turns in order, those to search with, and their words and vector."""

    turns: list[Turn]
    latest: list[Turn]
    words: tuple[str, ...]
    vector: Vector | None

    @property
    def last(self) -> Turn:
        """Return the turn that the context comes after."""
        return self.turns[-1]


def turn_candidate(turn: Turn, said: LastTurns, vectors: Mapping[str, Vector]) -> Candidate:
    vector = vectors.get(turn.turn_id)
    words, similarity, by_meaning = compared(turn.text, vector, said)
    return Candidate(
        id=turn.turn_id,
        text=turn.text,
        found_by=FoundBy.MEANING if by_meaning else FoundBy.WORDS,
        similarity=similarity,
        at=turn.sent_at,
        words=words,
        vector=vector,
        role=turn.role,
        speaker=turn.speaker,
        message_ids=(turn.message_id,),
        conversation_id=turn.conversation_id,
        arrived_at=turn.arrived_at,
    )


def episode_candidate(episode: Episode, said: LastTurns, vectors: Mapping[str, Vector]) -> Candidate:
    vector = vectors.get(episode.episode_id)
    words, similarity, by_meaning = compared(episode.text, vector, said)
    return Candidate(
        id=episode.episode_id,
        text=episode.text,
        found_by=FoundBy.MEANING if by_meaning else FoundBy.WORDS,
        similarity=similarity,
        at=episode.first_sent_at,
        words=words,
        vector=vector,
        message_ids=episode.message_ids,
        conversation_id=episode.conversation_id,
        arrived_at=episode.began_at,
    )


def shortened(found: Candidate, said: LastTurns) -> Candidate:
    """Return something remembered with the part of it that bears on what was just said."""
    text = " ".join(found.text.split())
    wanted = said.words if is_related(found) else ()
    shown = excerpt(text, wanted, _EXCERPT, words_of)
    return msgspec.structs.replace(found, text=shown, cut=shown != text)


def compared(text: str, vector: Vector | None, said: LastTurns) -> tuple[tuple[str, ...], float, bool]:
    """Return a text's words, if they are needed, how like it is to what was said, and whether by meaning."""
    if vector is not None and said.vector is not None:
        return (), float(np.dot(vector, said.vector)), True
    words = words_of(text)
    return words, likeness(said.words, words), False


def made_from(turns: Sequence[Turn]) -> list[Turn]:
    spoken = [turn for turn in turns if turn.role in SPEAKERS and turn.text.strip()]
    return spoken[-_MADE_FROM:]


def embedded(turn: Turn) -> str:
    """Return the text whose vector the turn has, so that no text is embedded twice."""
    return turn.text[:EMBEDDED_CHARACTERS].strip()


def vector_of(turns: Sequence[Turn], vectors: Mapping[str, Vector]) -> Vector | None:
    """Return the vector of what was just said; ``None`` unless the last turn has one."""
    if not turns or embedded(turns[-1]) not in vectors:
        return None
    rows = [(_WEIGHTS[turn.role], vectors.get(embedded(turn))) for turn in turns]
    total = sum(weight * row for weight, row in rows if row is not None)
    length = float(np.linalg.norm(total))
    return np.asarray(total / length, dtype=np.float32) if length else None


def words_said(turns: Sequence[Turn]) -> tuple[str, ...]:
    return words_of(query_of(turns))


def query_of(turns: Sequence[Turn]) -> str:
    """Return the words to search for: the latest turn's first."""
    return " ".join(" ".join(turn.text.split())[: _SEARCHED[turn.role]] for turn in reversed(turns))
