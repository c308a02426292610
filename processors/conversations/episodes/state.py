"""State of a conversation's segmentation between two turns: where the open episode begins, and its turns."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from models.episodes import EpisodeReason
from models.errors import ConfigurationError
from models.turns import Turn
from processors.conversations.episodes.traits import Traits
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


#: Where a turn stands: when its conversation began (epoch milliseconds), and its index.
Place: TypeAlias = tuple[int, int]


class KeptTurn(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A turn of the open episode.  Times in epoch seconds; ``text`` as far as an episode keeps it.

    ``began_at``: of its conversation, ``index`` counts from there.  ``after_silence``: nothing was said before
    it for so long that the episode before ended.
    """

    tenant_id: str
    began_at: float
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

    @property
    def place(self) -> Place:
        """Where it stands."""
        return round(self.began_at * 1000), self.index


class Seen(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Progress of a conversation's segmentation.  Times in epoch seconds.

    ``began_at`` and ``next_index`` say which turn comes next; those before it are repetitions.  ``sent_at``
    and ``arrived_at`` are the latest of the turns, ``came_at`` is when the latest of them came into the log of
    turns.
    """

    began_at: float = 0.0
    next_index: int = 0
    sent_at: float = 0.0
    arrived_at: float = 0.0
    came_at: float = 0.0

    @property
    def place(self) -> Place:
        """Where the next turn stands."""
        return round(self.began_at * 1000), self.next_index


class EpisodesState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything that is known of one conversation.

    ``began_at`` (epoch seconds) and ``next_index`` say up to where it was cut into episodes; ``kept`` are the
    turns from ``cursor.from_index`` on.  ``formed`` counts the episodes that were formed.  Where boundaries
    are looked for, ``context`` is what was said last, ``waiting`` are the turns that came since, until their
    vectors and those of the next ones come, and ``ends`` are the ends among them: before which turn, and why.
    """

    tenant_id: str = ""
    user_id: str = ""
    began_at: float = 0.0
    next_index: int = 0
    cursor: WindowCursor = WindowCursor()
    kept: tuple[KeptTurn, ...] = ()
    formed: int = 0
    seen: Seen = Seen()
    context: tuple[Traits, ...] = ()
    waiting: tuple[Place, ...] = ()
    ends: tuple[tuple[Place, EpisodeReason], ...] = ()

    @property
    def is_open(self) -> bool:
        """True if there are turns in no episode and nothing says that theirs has ended."""
        if self.waiting:
            return not self.ends or self.ends[-1][0] < self.seen.place
        return self.cursor.pending(self.next_index)


def kept(turn: Turn, *, after_silence: bool = False) -> KeptTurn:
    """Return the part of a turn that an episode keeps."""
    text = turn.text.strip()
    if len(text) > TURN_CHARACTERS:
        text = text[: TURN_CHARACTERS - 1] + "…"
    return KeptTurn(
        turn.tenant_id,
        turn.began_at.timestamp(),
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
    )
