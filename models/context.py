"""``memory.context-requests.v1`` and ``memory.context.v1``: what should be known before the next turn.

A context is made of what was just said, before anybody asks for it (requirement 3.2).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Role, Timestamp
from models.turns import Turn

Count = Annotated[int, msgspec.Meta(ge=0)]


class Tier(StrEnum):
    """A share of the budget (requirement 3.6), in the order of their claims.

    ``system``: what the model is told besides, which has what remains; it is a tier of answers only.
    """

    RECENT = "recent"
    TOOLS = "tools"
    INSTRUCTIONS = "instructions"
    FACTS = "facts"
    EPISODES = "episodes"
    SYSTEM = "system"


class FoundBy(StrEnum):
    """How an item came to be considered.

    ``recent``: one of the last turns; ``tool``: a search that somebody asked for; ``kind``: an instruction to
    the assistant, an allergy or a constraint, whatever it is about; ``meaning``, ``words``: it is like what was
    just said; ``any``: little like it was found by words, and it is known.
    """

    RECENT = "recent"
    TOOL = "tool"
    KIND = "kind"
    MEANING = "meaning"
    WORDS = "words"
    ANY = "any"


class LeftOut(StrEnum):
    """Why something that was found is not in the prompt.

    ``no_room``: the tier's share, or the whole budget, is used up; ``too_large``: it would not fit into an
    empty tier; ``like_another``: what is in says nearly the same; ``enough``: the tier has as many as it takes;
    ``unlike``: it has nothing to do with what was just said.  Found when it is read: ``ended``, it no longer
    holds; ``erased``, its text is gone.
    """

    NO_ROOM = "no_room"
    TOO_LARGE = "too_large"
    LIKE_ANOTHER = "like_another"
    ENOUGH = "enough"
    UNLIKE = "unlike"
    ENDED = "ended"
    ERASED = "erased"


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Contributions of similarity, confidence and recency to a score."""

    similarity: float
    confidence: float
    recency: float


class ContextItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was found, and whether it is in the prompt.

    ``tokens`` are those of its line in the prompt, or of what that would be.  ``left_out`` says why it is not
    in; ``None``: it is.  ``cut``: ``text`` is a part of what was said.  ``score`` ranks it in its tier, 0..1,
    and ``parts`` says what it is made of.  ``like`` is the id of what says
    nearly the same.  ``at``: when it was said, or last said.  In the tier of episodes ``id`` is that of an
    episode, or of a turn that is in none yet; ``message_ids`` and ``text`` are those of the turns that bear on
    what was just said, with who said it where they are several people's.  ``arrived_at``: when what was said
    came, of an episode when its conversation began, by the log's clock: what was erased by then may have been
    said again since.
    """

    tier: Tier
    id: Identifier
    text: str
    tokens: Count
    found_by: FoundBy
    left_out: LeftOut | None = None
    cut: bool = False
    role: Role | None = None
    speaker: str = ""
    score: float = 0.0
    parts: Parts | None = None
    like: str = ""
    message_ids: tuple[Identifier, ...] = ()
    conversation_id: str = ""
    at: Timestamp | None = None
    arrived_at: Timestamp | None = None


class TierUse(msgspec.Struct, frozen=True, kw_only=True):
    """Budget and use of a tier in tokens (heading included), with its items in and left out."""

    tier: Tier
    limit: Count
    tokens: Count
    items: Count
    left_out: Count


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Context for the next turn of a conversation.  Key: ``conversation_id``.

    ``after_turn_id`` and ``after_index`` are those of the latest turn when it was made; ``made_from`` are the
    turns that it was looked up with, in order.  ``said_at`` is when the latest arrived, by the log's clock,
    ``made_at`` when this was made.  ``by_meaning``: vectors were compared; if not, words only, because the
    embedder was busy, and the context is made again.  ``tokens`` are those of what is in the prompt, never more
    than ``budget``; what is left of it is for the application's own instructions.  ``items`` are those that
    are in, tier by tier, then what was left out.
    """

    conversation_id: Identifier
    user_id: Identifier
    after_turn_id: Identifier
    after_index: Count
    made_from: tuple[Identifier, ...]
    said_at: Timestamp
    began_at: Timestamp
    made_at: Timestamp
    by_meaning: bool
    budget: Count
    tokens: Count
    tiers: tuple[TierUse, ...]
    items: tuple[ContextItem, ...]
    tenant_id: Identifier = DEFAULT_TENANT


class ContextRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A context is to be made after this turn.  Key: ``conversation_id``.

    ``turns`` are the last ones that arrived together, in order, the one that it is about at the end; those
    before are in the conversation's log.  ``attempt``: how often it was made by words only.
    """

    turns: Annotated[tuple[Turn, ...], msgspec.Meta(min_length=1)]
    conversation_id: Identifier
    attempt: Count = 0
