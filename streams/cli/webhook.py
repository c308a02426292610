"""``switchboard webhook``: facts and summaries over HTTP, for those without Kafka."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
import typer

from models.errors import ConfigurationError, NotFound
from models.webhooks import Webhook
from streams.cli.output import Json, print_json, print_table, printable
from streams.config.settings import Settings, load_settings
from streams.server.webhooks.endpoints import MOST_WEBHOOKS, WEBHOOKS, new_secret

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Webhooks: facts and summaries over HTTP.")

#: What stands in URLs.
_OF_URLS = frozenset(map(chr, range(0x21, 0x7F)))

#: How long the name of a host may take to be resolved (seconds).
_RESOLVE_SECONDS = 10.0


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where records are posted.", show_default=False)],
    topic: Annotated[
        str, typer.Option("--topic", help="memory.facts.v1 or memory.summaries.v1.")
    ] = "memory.facts.v1",
    tenant: Annotated[str, typer.Option("--tenant", help="Of this tenant only.", show_default=False)] = "",
    json: Json = False,
) -> None:
    """Have the records of a topic posted from now on, and print the secret that signs them, this once."""
    settings = load_settings()
    try:
        webhook = msgspec.convert(
            {
                "webhook_id": secrets.token_hex(6),
                "url": url,
                "topic": topic,
                "secret": new_secret(),
                "created_at": datetime.now(UTC),
                "tenant_id": tenant,
            },
            Webhook,
        )
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"there can be no such webhook: {error}") from None
    asyncio.run(_add(settings, webhook))
    shown = _shown(webhook)
    if json:
        print_json({**shown, "secret": webhook.secret})
        return
    print(webhook.secret)
    typer.echo(
        f"{webhook.webhook_id}: {webhook.topic} to {printable(url)}. The secret is not shown again. "
        "`switchboard webhook deliver` delivers.",
        err=True,
    )


@app.command("list")
def show(json: Json = False) -> None:
    """List the webhooks that there are; no secret is shown again."""
    webhooks = sorted(
        asyncio.run(WEBHOOKS.read_all(load_settings())).values(), key=lambda each: each.created_at
    )
    if json:
        print_json([_shown(each) for each in webhooks])
        return
    if not webhooks:
        print("There are no webhooks.")
        return
    rows = [
        (each.webhook_id, each.topic, each.tenant_id or "all", f"{each.created_at:%Y-%m-%d %H:%M}", each.url)
        for each in webhooks
    ]
    print_table(("id", "topic", "tenant", "made", "url"), rows)


@app.command("remove")
def remove(
    webhook_id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.", show_default=False)],
    json: Json = False,
) -> None:
    """Post nothing more to an endpoint, within a second."""
    settings = load_settings()
    if webhook_id not in asyncio.run(WEBHOOKS.read_all(settings)):
        raise NotFound(
            f"there is no webhook {printable(webhook_id)}: `switchboard webhook list` shows those there are"
        )
    asyncio.run(WEBHOOKS.put(settings, webhook_id, None))
    print_json({"removed": webhook_id}) if json else print(f"removed {webhook_id}")


@app.command("deliver")
def deliver() -> None:
    """Post records to all webhooks until Ctrl-C or SIGTERM. Logs go to stderr, metrics to a port."""
    from streams.server.webhooks import process

    raise typer.Exit(process.run(load_settings()))


async def _add(settings: Settings, webhook: Webhook) -> None:
    await _check(settings, webhook.url)
    if len(await WEBHOOKS.read_all(settings)) >= MOST_WEBHOOKS:
        raise ConfigurationError(f"there are {MOST_WEBHOOKS} webhooks already: remove one first")
    await WEBHOOKS.put(settings, webhook.webhook_id, webhook)


async def _check(settings: Settings, url: str) -> None:
    """Refuse a URL that nothing could ever be sent to."""
    import httpcore

    from streams.server.webhooks.addresses import AddressRefused, CheckedNetwork

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ConfigurationError(f"{printable(url)} is no URL: {error}") from None
    if not host or parts.fragment or "@" in parts.netloc or set(url) - _OF_URLS:
        raise ConfigurationError(
            f"{printable(url)} is no URL of a webhook: it has a host, no user and no fragment, and is ASCII"
        )
    network = CheckedNetwork(allow_private=settings.webhook_private_addresses == "allow")
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            await network.resolve(host, port)
    except (AddressRefused, httpcore.ConnectError) as error:
        raise ConfigurationError(str(error)) from error
    except TimeoutError as error:
        raise ConfigurationError(f"{host} was not resolved within {_RESOLVE_SECONDS:g} s") from error
    finally:
        network.close()


def _shown(webhook: Webhook) -> dict[str, object]:
    shown: dict[str, object] = msgspec.to_builtins(webhook)
    shown.pop("secret")
    return shown
