"""``switchboard understand``: what a question means, before it is answered."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT
from models.understanding import QueryUnderstanding
from processors.retrieval.recall.question import InvalidQuestion, cleaned
from streams.cli import recall_api
from streams.cli.output import print_json, printable
from streams.config.settings import load_settings


def show(
    query: Annotated[str, typer.Argument(help="The question, as it was asked.", show_default=False)],
    user: Annotated[str, typer.Option("--user", "-u", help="Who asks.", show_default=False)],
    conversation: Annotated[
        str, typer.Option("--conversation", "-c", help="Where it is asked.", show_default=False)
    ] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant of the person.")] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, as the HTTP API answers.")] = False,
) -> None:
    """Say whether a question is open and why, what it refers to, and what to ask back.  Needs `recall`."""
    settings = load_settings()
    try:
        body = {"q": cleaned(query), "user_id": user, "tenant_id": tenant}
    except InvalidQuestion as error:
        raise InvalidRecord("invalid_question", str(error)) from error
    if conversation:
        body["conversation_id"] = conversation
    answer = asyncio.run(recall_api.post(settings, "/v1/understanding", body, QueryUnderstanding))
    found = recall_api.required(answer)
    if json:
        print_json(found)
        return
    print(f"{'open' if found.is_ambiguous else 'clear'} ({found.score:.2f} by its form)", end="")
    print(f": {', '.join(reason.value for reason in found.reasons)}" if found.reasons else "")
    for reference in found.references:
        meant = " or ".join(map(printable, reference.meanings)) or "nothing that was said"
        print(f"  “{printable(reference.words)}” refers to {meant}")
    if found.rewritten_query:
        print(f"  means: {printable(found.rewritten_query)}")
    for title, lines in (
        ("can be read as", found.possible_interpretations),
        ("ask back", found.clarifying_questions),
        ("remembered", found.needed_context_from_memory),
    ):
        for line in lines:
            print(f"  {title}: {printable(line)}")
