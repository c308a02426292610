"""Tools that write: remember, correct, forget."""

# Annotations stand for themselves here, not as text: one of them names a function inside another.

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

from models.commands import CORRECTION_LIMIT
from streams.config.printing import printable
from streams.queries.conversations.progress import State
from streams.server.mcp.answers import Done, preview
from streams.server.mcp.asking import Ask, segment
from streams.server.mcp.hints import Asking, hints

#: How long a tool waits until what was said is read, and until it is known what it states (seconds).
_READ_SECONDS = 3
_LEARNED_SECONDS = 15

#: So many facts of one message are told.
_FACTS_TOLD = 5

_NOTHING_LEARNED = (
    "It is in the log, and search finds it as what was said, but no fact was made of it: no statement about "
    "the person was found in it. Say one thing in one sentence, in the first person, as something that "
    "holds; not as a question, a request, or somebody else's words."
)


class Confirmed(BaseModel):
    """The answer to "shall this be forgotten?"."""

    forget: bool = Field(description="Forget it for good?")


def add_writing(server: MCPServer[Any], asking: Asking) -> None:
    """Add them to a server."""

    async def say(ctx: Context[Any, Any], text: str) -> Done:
        ask = asking(ctx)
        conversation = f"mcp-{uuid4()}"  # one of its own: nobody else's, and over with this message
        message = {"conversation_id": conversation, "role": "user", "content": text, "metadata": {"via": "mcp"}}
        added = await ask.post("/v1/messages", {"messages": [message]}, key=conversation)
        position = added["messages"][0]["position"]
        try:
            # Whoever has a token for one person may close only what is known to be theirs.
            await ask.get("/v1/progress", position=position, wait=_READ_SECONDS)
            await ask.post(f"/v1/conversations/{segment(conversation)}/close")
            came = await ask.get("/v1/progress", position=position, wait=_LEARNED_SECONDS)
        except ToolError as error:
            return Done(done=f"It is in the log, and will be read later: {error}", position=position)
        return await learned(ask, came, position)

    async def learned(ask: Ask, came: Mapping[str, Any], position: str) -> Done:
        """Tell which facts were made of a message, or why none was."""
        state, facts = came["state"], came.get("fact_ids", [])
        if state == State.DEAD_LETTERED:
            raise ToolError(f"It was not remembered: {preview(str(came.get('reason', '')))}")
        if state == State.EXTRACTED:
            return Done(done=_NOTHING_LEARNED, position=position)
        if not facts:
            return Done(done="It is in the log, and still being read: search finds it soon.", position=position)
        try:
            known = [await ask.get(f"/v1/facts/{segment(each)}") for each in facts[:_FACTS_TOLD]]
        except ToolError as error:  # it was forgotten in between
            return Done(done=f"It was remembered. {error}", position=position, fact_id=facts[0])
        told = "; ".join(preview(each["statement"]) for each in known)
        return Done(done=f"It is remembered: {told}", position=position, fact_id=facts[0])

    @server.tool(title="Remember", annotations=hints("Remember", reads=False, again=False))
    async def remember(
        ctx: Context[Any, Any],
        text: Annotated[
            str, Field(min_length=1, max_length=4000, description="First person, in their own words")
        ],
    ) -> Done:
        """Remember something that the person said, in their own words and in the first person.

        Example: remember(text="I'm allergic to peanuts.").
        """
        return await say(ctx, text)

    @server.tool(title="Correct a fact", annotations=hints("Correct a fact", reads=False, again=False))
    async def correct(
        ctx: Context[Any, Any],
        fact_id: Annotated[str, Field(description="The fact that is wrong")],
        text: Annotated[
            str,
            Field(
                min_length=1,
                max_length=CORRECTION_LIMIT,
                description="What holds instead: a value, or in the first person",
            ),
        ],
    ) -> Done:
        """Say what holds instead of a fact: it takes the fact's place, and the history keeps both.

        Example: correct(fact_id="1f0c7c1e-...", text="I live in Munich now.").
        """
        path = f"/v1/facts/{segment(fact_id)}/correct"
        told = await asking(ctx).post(path, {"text": text}, key=f"mcp-{uuid4()}", whose="query")
        if told["ends"]:
            return Done(done="It ends within seconds, and nothing takes its place.")
        return Done(done=f"Within seconds it is: {preview(told['statement'])}", fact_id=told["instead"])

    async def confirm(ctx: Context[Any, Any], fact_id: str) -> Confirmed | Elicit[Confirmed]:
        """Ask the person, where the client can."""
        capabilities = ctx.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return Confirmed(forget=True)
        fact = await asking(ctx).get(f"/v1/facts/{segment(fact_id)}")
        question = f"Shall “{printable(preview(fact['statement']))}” be forgotten? It cannot be brought back."
        return Elicit(question, Confirmed)

    @server.tool(title="Forget a fact", annotations=hints("Forget a fact", reads=False, destroys=True))
    async def forget(
        ctx: Context[Any, Any],
        fact_id: Annotated[str, Field(description="The fact that is to go")],
        answer: Annotated[ElicitationResult[Confirmed], Resolve(confirm)],
    ) -> Done:
        """Forget a fact for good. Asks the person first, where that is possible.

        Example: forget(fact_id="1f0c7c1e-...").
        """
        if not (isinstance(answer, AcceptedElicitation) and answer.data.forget):
            return Done(done="Nothing was forgotten: the person did not agree.")
        await asking(ctx).delete(f"/v1/facts/{segment(fact_id)}")
        return Done(
            done="It will be gone from search in seconds, and is not learned again from what was said before."
        )
