"""``switchboard context``: what was made ready for a conversation's next turn."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from models.context import Context, ContextItem, FoundBy, LeftOut, Tier
from models.messages import DEFAULT_TENANT
from streams.cli import recall_api
from streams.cli.output import console, count, moment, print_json, printable
from streams.config.settings import Settings, load_settings
from streams.queries.contexts.reading import ContextAnswer, ContextStatus

_TIERS = {
    Tier.RECENT: "last messages",
    Tier.TOOLS: "found by search",
    Tier.INSTRUCTIONS: "instructions",
    Tier.FACTS: "facts",
    Tier.EPISODES: "said before",
}

_FOUND = {
    FoundBy.RECENT: "one of the last messages",
    FoundBy.TOOL: "found by a search that was asked for",
    FoundBy.KIND: "belongs in every context",
    FoundBy.MEANING: "found by meaning",
    FoundBy.WORDS: "found by words",
    FoundBy.ANY: "known of the person",
}

_LEFT_OUT = {
    LeftOut.NO_ROOM: "no room",
    LeftOut.TOO_LARGE: "too large",
    LeftOut.LIKE_ANOTHER: "says the same as another item",
    LeftOut.ENOUGH: "enough of its kind",
    LeftOut.UNLIKE: "too unlike what was said last",
    LeftOut.ENDED: "no longer holds",
    LeftOut.ERASED: "erased",
}


def show(
    conversation: Annotated[str, typer.Argument(help="The conversation.", show_default=False)],
    user: Annotated[str, typer.Option("--user", "-u", help="Who takes part in it.", show_default=False)],
    tenant: Annotated[
        str, typer.Option("--tenant", help="The tenant that the conversation belongs to.")
    ] = DEFAULT_TENANT,
    prompt: Annotated[bool, typer.Option("--prompt", help="Only the text, ready for a prompt.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, as the HTTP API answers.")] = False,
) -> None:
    """Show the context made for a conversation's next turn: tiers, tokens, and why each item is in or not.

    The number before each item is its length in tokens.
    """
    answer = asyncio.run(find(load_settings(), tenant, user, conversation))
    if json:
        print_json(answer)
    elif prompt:
        print("\n".join(map(printable, answer.prompt.splitlines())))
    else:
        print_answer(answer)


async def find(settings: Settings, tenant: str, user: str, conversation: str) -> ContextAnswer:
    """Ask the recall service, which keeps the contexts.

    Raises:
        NotFound: the person takes part in no such conversation.
        DependencyUnavailable: the service does not run, or is not ready.
    """
    parameters = {"user_id": user, "tenant_id": tenant, "conversation_id": conversation}
    return recall_api.required(await recall_api.get(settings, "/v1/context", parameters, ContextAnswer))


def print_answer(answer: ContextAnswer) -> None:
    """Print a context, or that there is none."""
    who = f"{printable(answer.user_id)} in {printable(answer.conversation_id)}"
    if answer.context is None:
        print(f"No context has been made yet for {who}: one is made after their next message.")
        if answer.prompt:
            print("Until then the prompt holds only the standing notes:")
            print("\n".join(map(printable, answer.prompt.splitlines())))
        return
    if answer.status is ContextStatus.NOTHING:
        print(f"Nothing is remembered that belongs in the next turn of {who}, except its last messages.")
    _print(answer.context, answer.behind)


def _print(context: Context, behind: int) -> None:
    out = console()
    late = f", {count(behind, 'turn')} since then" if behind else ""
    by = "" if context.by_meaning else ", by words only"
    out.print(
        f"{context.tokens:,} of {context.budget:,} tokens, made {moment(context.made_at.timestamp())} "
        f"after turn {context.after_index}{by}{late}",
        style="bold",
    )
    for use in context.tiers:
        inside = [item for item in context.items if item.tier is use.tier and item.left_out is None]
        if not inside:
            continue
        out.print(f"{_TIERS[use.tier]}: {use.tokens:,} of {use.limit:,} tokens")
        for item in inside:
            out.print(f"  {item.tokens:>4}  {_text(item)}")
            out.print(f"        in the prompt: {_found(item)}", style="dim")
    outside = [item for item in context.items if item.left_out is not None]
    if outside:
        out.print(f"left out: {count(len(outside), 'item')}")
    for item in outside:
        why = "" if item.left_out is None else _LEFT_OUT[item.left_out]
        like = f" ({printable(item.like)})" if item.like else ""
        out.print(f"  {item.tokens:>4}  {_text(item)}")
        out.print(f"        left out: {why}{like}; {_found(item)}", style="dim")


def _found(item: ContextItem) -> str:
    score = f", score {item.score:.2f}" if item.parts is not None else ""
    return f"{_FOUND[item.found_by]}{score}"


def _text(item: ContextItem) -> str:
    who = item.speaker or (item.role.value if item.role is not None else "")
    said = printable(item.text) or "(erased)"
    return f"{printable(who)}: {said}" if who else said
