"""Asking for the context of a conversation's next turn: once for what arrived together, after its last turn."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.context import Context, ContextRequest
from models.messages import Role
from models.turns import Turn
from streams.agents.emitting import emit, emit_tombstone
from streams.clients.erasures import TENANT_HEADER
from streams.runtime.effects import Effects

CONTEXT_REQUESTS = "memory.context-requests.v1"
CONTEXTS = "memory.context.v1"

#: Turns that a request brings along, and characters of each: a context takes fewer of both.
_TURNS = 5
_CHARACTERS = 6_000

#: Who is answered, and whose answer is part of what was just said.
SPEAKERS = (Role.USER, Role.ASSISTANT)


def ask_after(effects: Effects, turns: Sequence[Turn]) -> None:
    """Ask for the context after the last of these consecutive turns of a conversation that somebody spoke."""
    turns = [turn for turn in turns if turn.began_at == turns[-1].began_at]
    spoken = [place for place, turn in enumerate(turns) if turn.role in SPEAKERS]
    if spoken:
        latest = turns[: spoken[-1] + 1][-_TURNS:]
        kept = [msgspec.structs.replace(turn, text=turn.text[:_CHARACTERS]) for turn in latest]
        ask(effects, ContextRequest(turns=tuple(kept), conversation_id=kept[-1].conversation_id))


def forget(effects: Effects, tenant_id: str, conversation_id: str) -> None:
    """Have the contexts of a conversation forgotten, of which something was erased; the next turn makes one."""
    emit_tombstone(effects, Context, conversation_id, headers=[(TENANT_HEADER, tenant_id.encode())])


def ask(effects: Effects, request: ContextRequest) -> None:
    """Publish a request."""
    emit(effects, request, f"{request.turns[-1].turn_id}/{request.attempt}")
