"""Context of a conversation's next turn."""

from __future__ import annotations

from models.errors import NotFound
from models.messages import DEFAULT_TENANT, Identifier
from streams.queries.contexts.reading import ContextAnswer, ContextReader
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import NOT_READ_YET, UNKNOWN_CONVERSATION, Problem


class ContextParameters(Parameters, frozen=True, kw_only=True):
    """A person in a conversation."""

    user_id: Identifier
    conversation_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


@operation(
    "GET",
    "/v1/context",
    scope=Scope.READ,
    example={"user_id": "ada", "conversation_id": "c-1"},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
)
async def get_context(call: Call, wanted: ContextParameters) -> ContextAnswer:
    """The context that was made for a conversation's next turn."""
    contexts: ContextReader = call.part("contexts")
    try:
        return await contexts.read(wanted.tenant_id, wanted.user_id, wanted.conversation_id)
    except NotFound as error:
        found = call.parts.conversations
        if found is not None and await found.waits(wanted.tenant_id, wanted.user_id, wanted.conversation_id):
            raise Problem(
                NOT_READ_YET, f"What was said in {wanted.conversation_id} is not read yet."
            ) from error
        raise Problem(UNKNOWN_CONVERSATION, f"{error}.") from error
