"""What was said in a conversation."""

from __future__ import annotations

from typing import Annotated

import msgspec

from models.errors import NotFound
from models.messages import DEFAULT_TENANT, Identifier
from processors.recall.window import DEFAULT_TURNS, InvalidWindow, MessageWindow
from streams.api.operations import Call, Parameters, Scope, operation
from streams.api.problems import INVALID_REQUEST, UNKNOWN_CONVERSATION, Problem
from streams.api.usage import usage
from streams.windows import WindowRetriever

_Number = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class WindowParameters(Parameters, frozen=True, kw_only=True):
    """``first`` and ``last``: the match, as indices of turns; ``turns``: how many more to each side."""

    conversation_id: str
    user_id: Identifier
    first: _Number
    last: _Number
    turns: _Number = DEFAULT_TURNS
    tenant_id: Identifier = DEFAULT_TENANT


@operation(
    "GET",
    "/v1/conversations/{conversation_id}/window",
    scope=Scope.READ,
    example={"conversation_id": "c-1", "user_id": "ada", "first": 10, "last": 11},
    problems=[UNKNOWN_CONVERSATION],
)
async def get_window(call: Call, wanted: WindowParameters) -> MessageWindow:
    """The messages around a match."""
    windows: WindowRetriever = call.part("windows")
    try:
        return await windows.window(
            wanted.tenant_id, wanted.user_id, wanted.conversation_id, wanted.first, wanted.last, wanted.turns
        )
    except InvalidWindow as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(get_window)}.") from error
    except NotFound as error:
        raise Problem(UNKNOWN_CONVERSATION, f"{error}.") from error
