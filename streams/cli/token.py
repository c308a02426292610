"""``switchboard token``: who may use the HTTP API."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, get_args

import msgspec
import typer

from models.access import Token, TokenScope
from models.errors import ConfigurationError, NotFound
from models.messages import DEFAULT_TENANT
from streams.cli.output import Json, print_json, print_table, printable
from streams.config.settings import load_settings
from streams.server.tokens import secret, topic

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Tokens of the HTTP API: make, list and revoke them."
)

_DURATION = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}

_NONE_LEFT = "There are no tokens, so nobody needs one on this machine, and no other is answered."


@app.command("create")
def create(
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", "-s", help="What it allows: read, write, chat, operate. Several are possible."),
    ] = None,
    tenant: Annotated[str, typer.Option("--tenant", help="Whose memory.")] = DEFAULT_TENANT,
    user: Annotated[str, typer.Option("--user", "-u", help="For this person only.", show_default=False)] = "",
    expires: Annotated[
        str, typer.Option("--expires", help="When it ends: 30d, 12h, or a time.", show_default=False)
    ] = "",
    name: Annotated[str, typer.Option("--name", help="What it is for.", show_default=False)] = "",
    json: Json = False,
) -> None:
    """Make a token, and print it this once: it cannot be shown again.

    read: search and look up. write: send messages, close, correct, erase. chat: have turns answered. operate:
    dead letters of all tenants, for whoever runs the deployment.
    """
    settings = load_settings()
    scopes = _scopes(scope or ["read", "write", "chat"])
    made = secret.make()
    now = datetime.now(UTC)
    try:
        token = msgspec.convert(
            {
                "token_id": made.token_id,
                "sha256": made.sha256,
                "scopes": scopes,
                "created_at": now,
                "tenant_id": tenant,
                "user_id": user,
                "expires_at": _until(expires, now),
                "name": name,
            },
            Token,
        )
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"there can be no such token: {error}") from None
    if user and "operate" in token.scopes:
        raise ConfigurationError("operate is about everybody: leave out --user, or --scope operate")
    asyncio.run(topic.put(settings, token.token_id, token))
    if json:
        print_json({"token": made.text, **_shown(token)})
        return
    print(made.text)
    typer.echo(
        f"{token.token_id}: {', '.join(token.scopes)} of tenant {printable(tenant)}"
        f"{f', {printable(user)} only' if user else ''}. It is not shown again. Use it as\n"
        f"  curl -H 'Authorization: Bearer sb_...' 'http://127.0.0.1:{settings.api_port}/v1/session'",
        err=True,
    )


@app.command("list")
def show(json: Json = False) -> None:
    """List the tokens that there are; none of them can be shown again."""
    tokens = asyncio.run(topic.read_all(load_settings()))
    if json:
        print_json([_shown(token) for token in tokens.values()])
        return
    if not tokens:
        print(_NONE_LEFT)
        return
    now = datetime.now(UTC)
    print_table(
        ("id", "tenant", "person", "scopes", "made", "ends", "name"),
        [
            (
                token.token_id,
                token.tenant_id,
                token.user_id or "everybody",
                " ".join(token.scopes),
                f"{token.created_at:%Y-%m-%d}",
                _end(token, now),
                token.name,
            )
            for token in sorted(tokens.values(), key=lambda token: token.created_at)
        ],
    )


@app.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.", show_default=False)],
    json: Json = False,
) -> None:
    """Have a token allow nothing any more, within a second."""
    settings = load_settings()
    tokens = asyncio.run(topic.read_all(settings))
    if token_id not in tokens:
        raise NotFound(
            f"there is no token {printable(token_id)}: `switchboard token list` shows those there are"
        )
    asyncio.run(topic.put(settings, token_id, None))
    print_json({"revoked": token_id}) if json else print(f"revoked {token_id}")
    if tokens.keys() == {token_id}:
        typer.echo(_NONE_LEFT, err=True)


def _scopes(given: list[str]) -> list[str]:
    known = get_args(TokenScope)
    for word in given:
        if word not in known:
            raise ConfigurationError(f"--scope is {word!r}: the scopes are {', '.join(known)}")
    return list(dict.fromkeys(given))


def _until(text: str, now: datetime) -> datetime | None:
    if not text:
        return None
    if match := _DURATION.fullmatch(text.strip()):
        return now + timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(f"--expires is {text!r}: give 30d, 12h, 90m or 2026-04-01") from error
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    if at <= now:
        raise ConfigurationError(f"--expires {text} is over already")
    return at


def _shown(token: Token) -> dict[str, object]:
    shown: dict[str, object] = msgspec.to_builtins(token)
    shown.pop("sha256")
    return shown


def _end(token: Token, now: datetime) -> str:
    if token.expires_at is None:
        return "never"
    return f"{token.expires_at:%Y-%m-%d %H:%M}" if token.expires_at > now else "over"
