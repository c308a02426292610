"""What was said before, as it is offered: episodes, each with the turns of it that bear on what was just said.

A turn that lies in an episode which was found speaks for that episode; one that lies in none yet, because its
conversation goes on, speaks for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from models.episodes import Episode
from processors.context.ranking import Candidate, is_related

#: Turns of an episode that are shown at most, and their characters together: it must not fill its tier alone.
SHOWN_TURNS = 5
SHOWN_CHARACTERS = 480

#: What stands between turns that are shown as one.
_BETWEEN = " … "


class Found(NamedTuple):
    """An episode, and how it was found."""

    episode: Episode
    candidate: Candidate


def remembered(turns: Sequence[Candidate], episodes: Sequence[Found]) -> list[Candidate]:
    """Return what is offered of turns and episodes that were found: nothing that was said comes twice.

    An episode is as like what was just said as the most similar of itself and its turns.  Its ``text`` and
    ``message_ids`` are those of the turns of it that are related, the best of them, or its own.
    """
    left = {turn.id: turn for turn in turns}
    offered = []
    for episode, candidate in sorted(
        episodes, key=lambda found: (-found.candidate.similarity, found.candidate.id)
    ):
        inside = [left.pop(name) for name in episode.turn_ids if name in left]
        offered.append(_with_turns(candidate, [turn for turn in inside if is_related(turn)]))
    return [*offered, *left.values()]


def _with_turns(episode: Candidate, inside: Sequence[Candidate]) -> Candidate:
    """Return an episode with what its turns say, in the order in which they were said."""
    if not inside:
        return episode
    best = sorted(inside, key=lambda turn: (-turn.similarity, turn.id))
    kept, characters = {best[0].id}, len(best[0].text)
    for turn in best[1:SHOWN_TURNS]:
        characters += len(turn.text)
        if characters <= SHOWN_CHARACTERS:
            kept.add(turn.id)
    shown = [turn for turn in inside if turn.id in kept]
    alone = len({(turn.role, turn.speaker) for turn in shown}) == 1
    nearest = max((episode, best[0]), key=lambda each: each.similarity)
    return msgspec.structs.replace(
        episode,
        text=_BETWEEN.join(turn.text if alone else _line(turn) for turn in shown),
        found_by=nearest.found_by,
        similarity=nearest.similarity,
        at=min(turn.at for turn in shown),
        arrived_at=min((turn.arrived_at for turn in shown if turn.arrived_at is not None), default=None),
        words=tuple(dict.fromkeys(word for turn in shown for word in turn.words)),
        vector=nearest.vector,
        role=shown[0].role if alone else None,
        speaker=shown[0].speaker if alone else "",
        message_ids=tuple(name for turn in shown for name in turn.message_ids),
        cut=True,
    )


def _line(turn: Candidate) -> str:
    return f"{turn.speaker or turn.role}: {turn.text}"
