"""``memory.episodes.v1``: ranges of a conversation that are remembered as a whole."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.windows import WindowSource

_NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class EpisodeReason(StrEnum):
    """Why an episode ended where it did.

    ``window``: it had as many turns as an episode may have.  ``boundary``: something else was talked of then.
    ``closed``: somebody said that the conversation was over.  ``idle``: it was silent.
    """

    WINDOW = "window"
    BOUNDARY = "boundary"
    CLOSED = "closed"
    IDLE = "idle"


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive turns of a conversation.  Key: ``episode_id``; partition: that of ``conversation_id``.

    ``episode_id`` is made of the tenant, the conversation and the first and last message id.  ``from_index``
    and ``to_index`` are absolute, 0-based and inclusive, and count from ``began_at``, as those of turns do;
    the first ``overlap`` turns were also in the episode before.  ``message_ids`` and ``turn_ids`` are those
    of its turns, in order; turns that were erased before it was formed are missing.

    ``user_id`` is the person who began the conversation; ``people`` are the ids of all whose turns these are,
    and ``speakers`` the names under which they spoke (``metadata.name``), in the order of their first words.
    ``text`` is what was said, a line per turn after who said it, long turns cut; ``first_sent_at`` and
    ``last_sent_at`` are the earliest and latest of the turns' ``sent_at``, ``arrived_at`` is the latest
    arrival.
    """

    episode_id: Identifier
    conversation_id: Identifier
    user_id: Identifier
    reason: EpisodeReason
    message_ids: Annotated[tuple[Identifier, ...], msgspec.Meta(min_length=1)]
    turn_ids: Annotated[tuple[Identifier, ...], msgspec.Meta(min_length=1)]
    text: str
    from_index: _NonNegative
    to_index: _NonNegative
    overlap: _NonNegative
    people: tuple[Identifier, ...]
    first_sent_at: Timestamp
    last_sent_at: Timestamp
    arrived_at: Timestamp
    began_at: Timestamp
    source: WindowSource
    speakers: tuple[str, ...] = ()
    tenant_id: Identifier = DEFAULT_TENANT
