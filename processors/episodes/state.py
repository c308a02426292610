"""What is remembered of a conversation between two of its turns: where the open episode begins, and its
turns.
"""

from __future__ import annotations

import msgspec

from models.errors import ConfigurationError
from models.turns import Turn
from processors.conversations.windows import WindowCursor, WindowSizes

#: Characters of a turn that an episode keeps.  Longer ones are found whole among the turns.
TURN_CHARACTERS = 1_000


class EpisodePolicy(msgspec.Struct, frozen=True):
    """How conversations are cut into episodes.

    ``sizes``: most turns of an episode, and how many of them the next one repeats.  ``adaptive``: an episode
    ends where the topic changes, too.  ``idle_seconds``: the silence that ends one.

    Raises:
        ConfigurationError: an episode of one turn only.
    """

    sizes: WindowSizes = WindowSizes(20, 3)
    idle_seconds: float = 900.0
    adaptive: bool = False

    def __post_init__(self) -> None:
        if self.sizes.size < 2:
            raise ConfigurationError("an episode of one turn is that turn: let episodes have 2 turns at least")


class KeptTurn(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A turn of the open episode.  Times in epoch seconds; ``text`` as far as an episode keeps it.

    ``after_silence``: nothing was said before it for so long that the episode before ended.  ``begins``: it is
    the first of a conversation that was forgotten and began anew.  ``vector``: that of its text in half
    precision, if boundaries are looked for; empty if it has none.
    """

    index: int
    turn_id: str
    message_id: str
    user_id: str
    speaker: str
    role: str
    text: str
    sent_at: float
    arrived_at: float
    topic: str
    partition: int
    offset: int
    after_silence: bool = False
    begins: bool = False
    vector: bytes = b""


class EpisodesState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything that is known of one conversation.

    ``began_at`` (epoch seconds) and ``next_index`` say which turn comes next; those before it are
    repetitions.  ``kept`` are the turns from ``cursor.from_index`` on.  ``sent_at`` and ``arrived_at`` are
    the latest of the turns, ``came_at`` is when the latest of them came into the log of turns.  ``formed``
    counts the episodes that were formed.
    """

    tenant_id: str = ""
    user_id: str = ""
    began_at: float = 0.0
    next_index: int = 0
    cursor: WindowCursor = WindowCursor()
    kept: tuple[KeptTurn, ...] = ()
    sent_at: float = 0.0
    arrived_at: float = 0.0
    came_at: float = 0.0
    formed: int = 0

    @property
    def is_open(self) -> bool:
        """Whether there are turns that no episode had."""
        return self.cursor.pending(self.next_index)


def kept(turn: Turn, *, after_silence: bool, begins: bool) -> KeptTurn:
    """Return what an episode keeps of a turn."""
    text = turn.text.strip()
    if len(text) > TURN_CHARACTERS:
        text = text[: TURN_CHARACTERS - 1] + "…"
    return KeptTurn(
        turn.index,
        turn.turn_id,
        turn.message_id,
        turn.user_id,
        turn.speaker,
        turn.role.value,
        text,
        turn.sent_at.timestamp(),
        turn.arrived_at.timestamp(),
        turn.source.topic,
        turn.source.partition,
        turn.source.offset,
        after_silence,
        begins,
    )
