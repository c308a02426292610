"""Tools that read: search, context, windows, facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

from processors.text.tokens import TokenCounter
from streams.server.mcp import answers
from streams.server.mcp.answers import (
    ContextText,
    FactDetail,
    FactLine,
    FactList,
    Found,
    ShownMessage,
    Window,
    cut,
    fitting,
)
from streams.server.mcp.asking import Ask, segment
from streams.server.mcp.hints import Asking, hints

#: Of a fact's history; of an answer they take a third at most.
_LATEST_CHANGES = 50

#: Why nothing was found, by what the API says (:class:`streams.stores.search.Empty`): the engine that it comes
#: with is not loaded for it.
EMPTY = {
    "unknown_person": "Nothing was ever said by this person, or learned of them.",
    "not_read_yet": "What this person said is not read yet: ask again in a moment.",
    "unknown_conversation": "There is no such conversation.",
    "no_facts": "Nothing that was said answers this, and no lasting fact is known of this person.",
    "no_answer": "There are memories of this person, and none answers this.",
}
_BEHIND = " Not all that was said is read yet: ask again in a moment."
_NO_FACTS = "Something was said by this person, and no lasting fact is known of them."


def add_reading(server: MCPServer[Any], asking: Asking, count: TokenCounter) -> None:
    """Add them to a server."""

    @server.tool(title="Search memory", annotations=hints("Search memory", reads=True))
    async def search_memory(
        ctx: Context[Any, Any],
        query: Annotated[str, Field(description="Natural language, e.g. 'what does she like to eat?'")],
        search_type: Annotated[
            Literal["facts", "episodes", "both"], Field(description="What to search")
        ] = "both",
        limit: Annotated[int, Field(ge=1, le=50, description="Most results")] = 5,
    ) -> Found:
        """Search semantic facts and what was said in earlier conversations, best first.

        Example: search_memory(query="user's work projects", search_type="facts", limit=3).
        """
        wanted = {"q": query, "search_type": search_type, "limit": limit, "explain": False}
        found = await asking(ctx).post("/v1/search", wanted)
        memories = [answers.memory(each) for each in found["results"]]
        why = found.get("empty") or "no_answer"
        empty = "" if memories else EMPTY.get(why, f"Nothing was found ({why}).")
        if empty and found.get("unread") and why != "not_read_yet":
            empty += _BEHIND

        def make(some: Sequence[Any], left: int) -> Found:
            more = f"{left} more did not fit: ask more narrowly, or with a smaller limit" if left else ""
            return Found(memories=list(some), empty=empty, next=more)

        return fitting(memories, make, count)

    @server.tool(title="Context for the next turn", annotations=hints("Context for the next turn", reads=True))
    async def get_context(
        ctx: Context[Any, Any],
        conversation_id: Annotated[str, Field(description="The conversation that goes on")],
    ) -> ContextText:
        """Context for the next turn of a conversation: instructions, facts, earlier messages.

        Example: get_context(conversation_id="c-1").
        """
        found = await asking(ctx).get("/v1/context", conversation_id=conversation_id)
        return ContextText(status=found["status"], prompt=cut(str(found.get("prompt", "")), count))

    @server.tool(title="What was said around it", annotations=hints("What was said around it", reads=True))
    async def get_window(
        ctx: Context[Any, Any],
        conversation_id: Annotated[str, Field(description="As search_memory says")],
        first: Annotated[int, Field(ge=0, description="Index of the first message, as search_memory says")],
        last: Annotated[
            int | None, Field(ge=0, description="Index of the last one; without: the first")
        ] = None,
        turns: Annotated[int, Field(ge=0, le=50, description="Turns to show on each side")] = 3,
    ) -> Window:
        """The messages around a place in a conversation.

        Example: get_window(conversation_id="c-1", first=10, turns=3).
        """
        end = first if last is None else last
        ask, path = asking(ctx), f"/v1/conversations/{segment(conversation_id)}"
        found = await ask.get(f"{path}/window", first=first, last=end, turns=turns)
        said = [
            ShownMessage(
                index=each["index"], role=each["role"], text=cut(each["text"], count), sent_at=each["sent_at"]
            )
            for each in found["messages"]
        ]

        empty = "" if said else cut(str(found.get("note", "")), count)

        def make(some: Sequence[Any], left: int) -> Window:
            following = answers.reading_on(conversation_id, some[-1].index + 1, said[-1].index) if left else ""
            return Window(conversation_id=conversation_id, messages=list(some), empty=empty, next=following)

        return fitting(said, make, count)

    @server.tool(title="A fact and its evidence", annotations=hints("A fact and its evidence", reads=True))
    async def get_fact(
        ctx: Context[Any, Any], fact_id: Annotated[str, Field(description="As search_memory or list_facts say")]
    ) -> FactDetail:
        """One fact with its history and the sentences that it came from.

        Example: get_fact(fact_id="1f0c7c1e-3c5a-5f0e-9d0a-6c1b2f3a4d5e").
        """
        fact = await asking(ctx).get(f"/v1/facts/{segment(fact_id)}")
        evidence = [
            answers.Evidence(
                quote=answers.preview(each["quote"]),
                conversation_id=each["conversation_id"],
                said_at=each["sent_at"],
            )
            for each in reversed(fact.get("provenance", []))
        ]

        changes = fact.get("changes", [])
        older = max(0, len(changes) - _LATEST_CHANGES)

        def make(some: Sequence[Any], left: int) -> FactDetail:
            not_shown = ((left, "sentences"), (older, "changes"))
            return FactDetail(
                **{name: fact[name] for name in ("fact_id", "kind", "status", "confidence")},
                statement=answers.preview(fact["statement"]),
                valid_from=fact.get("valid_from") or "",
                valid_to=fact.get("valid_to") or "",
                superseded_by=fact.get("superseded_by") or "",
                evidence=list(some),
                history=[
                    answers.FactChange(
                        change=each["change"], at=each["at"], confidence=each["confidence_after"]
                    )
                    for each in reversed(changes[older:])
                ],
                next=", ".join(f"{many} older {what} did not fit" for many, what in not_shown if many),
            )

        return fitting(evidence, make, count)

    @server.tool(title="All facts", annotations=hints("All facts", reads=True))
    async def list_facts(
        ctx: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=200, description="Most facts")] = 50,
        cursor: Annotated[str, Field(description="`next` of the answer before")] = "",
    ) -> FactList:
        """The facts about the person that hold, a page at a time.

        Example: list_facts(limit=20), then list_facts(limit=20, cursor=next).
        """
        return await facts_of(asking(ctx), count, limit, cursor)


async def facts_of(
    ask: Ask, count: TokenCounter, limit: int, cursor: str = "", following: str = "{}"
) -> FactList:
    """Return a page of the facts that hold, as many as fit into an answer.

    ``following``: how `next` says the cursor.
    """
    more: dict[str, str | int] = {"start": cursor} if cursor else {}
    found = await ask.get("/v1/facts", limit=limit, **more)
    lines = [
        FactLine(
            fact_id=fact["fact_id"],
            statement=answers.preview(fact["statement"]),
            kind=fact["kind"],
            confidence=fact["confidence"],
            since=fact["valid_from"],
        )
        for fact in found["facts"]
    ]

    nobody = EMPTY["not_read_yet" if found.get("unread") else "unknown_person"]
    empty = "" if lines or cursor else _NO_FACTS if found["known"] else nobody

    def make(some: Sequence[Any], left: int) -> FactList:
        after = found["facts"][len(some)]["fact_id"] if left else found.get("next") or ""
        after = after and following.format(after)
        return FactList(facts=list(some), known=found["known"], empty=empty, next=after)

    return fitting(lines, make, count)
