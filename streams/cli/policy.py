"""``switchboard policy``: what a tenant wants noted, what never, and for how long notes are shown."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from models.errors import ConfigurationError
from models.messages import DEFAULT_TENANT
from models.policies import NO_RULES, GivenRules, Policy, Rules, rules_hash, rules_of
from streams.cli.output import Json, print_json, printable
from streams.clients.policies.topic import PolicyStore
from streams.config.settings import load_settings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Policies of tenants: what is noted, what never, for how long.",
)

Tenant = Annotated[str, typer.Option("--tenant", help="Whose policy.")]


@app.command("show")
def show(tenant: Tenant = DEFAULT_TENANT, json: Json = False) -> None:
    """Show the policy of a tenant.  Its JSON is what `set --file` takes."""
    policy = asyncio.run(PolicyStore(load_settings()).get(tenant))
    if json:
        print_json(rules_of(policy))
        return
    _print(tenant, policy)


@app.command("set")
def set_(
    tenant: Tenant = DEFAULT_TENANT,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="All rules as JSON (`show --json` prints it); - reads stdin.",
            show_default=False,
        ),
    ] = None,
    instructions: Annotated[
        str,
        typer.Option(
            "--instructions", help="What a model is to note, up to 2,000 characters.", show_default=False
        ),
    ] = "",
    category: Annotated[
        list[str] | None,
        typer.Option("--category", help="NAME=DESCRIPTION of a category of your own. Several are possible."),
    ] = None,
    never: Annotated[
        list[str] | None,
        typer.Option("--never", help="A word or phrase that no note may mention. Several are possible."),
    ] = None,
    never_pattern: Annotated[
        list[str] | None,
        typer.Option("--never-pattern", help="The same as a regular expression of RE2. Several are possible."),
    ] = None,
    expires_after: Annotated[
        list[str] | None,
        typer.Option("--expires-after", help="KIND=TIME, as event=90d or event=36h. Several are possible."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="The tenant has no policy any more.")] = False,
    json: Json = False,
) -> None:
    """Put a policy in the place of the one that the tenant has; what is not named is no part of it."""
    named: dict[str, Any] = {
        "instructions": instructions,
        "categories": [_category(each) for each in category or ()],
        "never_kept": {"topics": never or [], "patterns": never_pattern or []},
        "expires_after": dict(_kind(each) for each in expires_after or ()),
    }
    ways = sum((file is not None, clear, rules_of(_rules(named)) != NO_RULES))
    if ways != 1:
        raise ConfigurationError("say what the policy is: by options, with --file FILE, or --clear")
    rules = _rules(named) if file is None else _read(file)
    policy = asyncio.run(PolicyStore(load_settings()).set(tenant, rules))
    if json:
        print_json(rules_of(policy))
        return
    _print(tenant, policy)


def _category(text: str) -> dict[str, str]:
    name, equals, description = text.partition("=")
    if not equals:
        raise ConfigurationError(f"--category is {text!r}: write NAME=DESCRIPTION")
    return {"name": name.strip(), "description": description.strip()}


def _kind(text: str) -> tuple[str, str]:
    kind, equals, time = text.partition("=")
    if not equals:
        raise ConfigurationError(f"--expires-after is {text!r}: write KIND=TIME, as event=90d")
    return kind.strip(), time.strip()


def _rules(named: dict[str, Any]) -> Rules:
    try:
        return msgspec.convert(named, GivenRules).rules()
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"there can be no such policy: {error}") from None


def _read(file: Path) -> Rules:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return msgspec.json.decode(content, type=GivenRules).rules()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} holds no policy: {error}") from None


def _print(tenant: str, policy: Policy | None) -> None:
    if policy is None:
        print(f"{printable(tenant)} has no policy: everything is noted as by default, and shown for ever.")
        return
    print(f"{printable(tenant)}, since {policy.set_at:%Y-%m-%d %H:%M}, hash {rules_hash(rules_of(policy))}")
    if policy.instructions:
        print(f"  instructions: {printable(policy.instructions)}")
    for each in policy.categories:
        print(f"  category {each.name}: {printable(each.description)}")
    for topic in policy.never_kept.topics:
        print(f"  never: {printable(topic)}")
    for pattern in policy.never_kept.patterns:
        print(f"  never, pattern: {printable(pattern)}")
    for kind, time in policy.expires_after.items():
        print(f"  {kind.value}: shown for {time} after the latest evidence")
