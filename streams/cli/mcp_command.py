"""``switchboard mcp``: the memory for an assistant on this machine, on stdin and stdout."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from streams.config.settings import Settings, load_settings

_ANSWER_SECONDS = 30.0


def run(
    user: Annotated[
        str, typer.Option("--user", "-u", help="Whose memory; not needed with a token that is for one person.")
    ] = "",
    url: Annotated[
        str, typer.Option("--url", help="Where `switchboard serve` is; without: this machine's.")
    ] = "",
) -> None:
    """Speak the Model Context Protocol on stdin and stdout, for an assistant that starts this itself.

    Asks `switchboard serve`, with the token in SWITCHBOARD_API_TOKEN if there is one; keeps nothing.
    """
    asyncio.run(_serve(load_settings(), user, url))


async def _serve(settings: Settings, user: str, url: str) -> None:
    # these take a while to import: only this command pays for them
    import httpx
    from mcp.server.mcpserver import Context

    from streams.cli.recall_api import base_of
    from streams.config.namespace import PREFIX_HEADER
    from streams.llm.tokenizer import open_counter
    from streams.server.mcp.asking import Ask
    from streams.server.mcp.tools import create_server

    headers = {PREFIX_HEADER: settings.topic_prefix}
    if token := settings.api_token.get_secret_value():
        headers["authorization"] = f"Bearer {token}"
    base = url or await base_of(settings)
    async with httpx.AsyncClient(base_url=base, timeout=_ANSWER_SECONDS, trust_env=False) as client:

        def asking(_: Context[Any, Any]) -> Ask:
            return Ask(client, headers, user)

        await create_server(asking, open_counter(settings.tokenizer)).run_stdio_async()
