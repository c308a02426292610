"""``switchboard erase``: forget a conversation, or a person."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from models.errors import ConfigurationError, InvalidRecord
from models.messages import DEFAULT_TENANT
from streams.cli import erase_certificate, people, progress
from streams.cli.output import Json, count, print_json, printable
from streams.clients import commands
from streams.config.settings import Settings, load_settings
from streams.queries.erasure import again, erasing, receipts
from streams.queries.erasure.receipts import Asked

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Forget a conversation or a person, and what was made of it.",
)

Tenant = Annotated[str, typer.Option("--tenant", help="The tenant that it belongs to.")]
Certified = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="Wait until the views have let go of it, and write a signed certificate of what remains where.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before anything is erased.")]


@app.command("conversation")
def erase_conversation(
    conversation_id: Annotated[
        str, typer.Argument(metavar="ID", help="The conversation_id.", show_default=False)
    ],
    tenant: Tenant = DEFAULT_TENANT,
    yes: Yes = False,
    certificate: Certified = None,
    json: Json = False,
) -> None:
    """Forget what was said in a conversation so far, and every fact that rests on any of it."""
    settings = load_settings()
    commands.erasing(conversation_id, tenant)  # refuses what can be no id before anybody is asked
    erase_certificate.check(settings, certificate)
    name = printable(conversation_id)
    _confirm(f"Everything that was said in {name} until now, and what was made of it, will be gone.", yes)
    asked_at = datetime.now(UTC)
    stored, answers = progress.run("erasing", erasing.erase_conversation(settings, tenant, conversation_id))
    if certificate is not None:
        owner = "" if stored is None else stored.state.user_id
        gone = erase_certificate.conversation_gone(settings, tenant, conversation_id, owner)
        asked = Asked(tenant, "conversation", "", owner, (conversation_id,), asked_at, answers)
        _certify(settings, certificate, asked, gone)
    if json:
        told = {"conversation_id": conversation_id, "known": stored is not None}
        _say_json(settings, told, tenant, answers)
        return
    if stored is None:
        print(
            f"no message of {name!r} has been processed yet: what is there by now is erased; ids are "
            "case-sensitive",
            file=sys.stderr,
        )
    _say_answers(answers)
    print(f"asked to erase {name}, up to now")
    _say_what_remains(settings)
    _say_written(certificate)


@app.command("person")
def erase_person(
    user_id: Annotated[str, typer.Argument(metavar="USER", help="The user_id.", show_default=False)],
    tenant: Tenant = DEFAULT_TENANT,
    yes: Yes = False,
    certificate: Certified = None,
    json: Json = False,
) -> None:
    """Forget a person: their conversations, in shared ones their own words, and every fact about them."""
    settings = load_settings()
    if not user_id.strip():
        raise InvalidRecord("blank_user", "USER is blank: say who is to be forgotten")
    erase_certificate.check(settings, certificate)
    name = printable(user_id)
    _confirm(f"Everything that {name} has said until now, and what was made of it, will be gone.", yes)
    asked_at = datetime.now(UTC)
    found, answers = progress.run("erasing", erasing.erase_person(settings, tenant, user_id))
    if certificate is not None:
        asked = receipts.of_person(tenant, user_id, found, asked_at, answers)
        _certify(settings, certificate, asked, erase_certificate.person_gone(settings, tenant, user_id))
    shared = sum(not alone for alone in found.values())
    if json:
        told = {"user_id": user_id, "conversations": sorted(found), "shared": shared}
        _say_json(settings, told, tenant, answers)
        return
    _say_answers(answers)
    if not found:
        print(asyncio.run(people.unknown(settings, user_id, tenant)), file=sys.stderr)
    total = count(len(found), "conversation")
    print(f"asked to erase {name}, up to now: {total}, {shared} of them shared with others")
    _say_what_remains(settings)
    _say_written(certificate)


@app.command("again")
def erase_again(
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="A copy of the ledger: erasures.json of a data folder."),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Erase once more who was erased before and is known again, as after a restored backup.

    The ledger of erasures says who that is.  Who has said more since is named and left alone.
    """
    settings = load_settings()
    if ledger is not None:
        put_back = progress.run("completing the ledger", again.put_back(settings, ledger))
        print(f"put back into the ledger: {count(put_back, 'person', 'people')}", file=sys.stderr)
    found = progress.run("looking for who is known again", again.returned(settings))
    alone = [each for each in found if not each.since]
    if alone:
        names = ", ".join(f"{printable(each.user_id)} ({printable(each.tenant_id)})" for each in alone)
        _confirm(f"Everything about {names} will be gone.", yes)
    for each in alone:
        progress.run("erasing", erasing.erase_person(settings, each.tenant_id, each.user_id))
    if json:
        told = [{"user_id": each.user_id, "tenant_id": each.tenant_id} for each in alone]
        left = [{"user_id": each.user_id, "tenant_id": each.tenant_id} for each in found if each.since]
        print_json({"erased": told, "left": left})
        return
    print(f"asked to erase again: {count(len(alone), 'person', 'people')}")
    for each in found:
        if each.since:
            print(
                f"{printable(each.user_id)} ({printable(each.tenant_id)}) was erased on "
                f"{each.erased_at:%Y-%m-%d}, is known from before that, and has said more since: "
                "`switchboard erase person` erases all of it",
                file=sys.stderr,
            )


@app.command("verify")
def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="FILE", help="The certificate, as --certificate wrote it.")
    ],
    key: Annotated[
        str, typer.Option("--key", help="The public key that must have signed it; else the one it names.")
    ] = "",
    json: Json = False,
) -> None:
    """Verify the certificate of an erasure and print what it says.  Needs nothing that runs."""
    erase_certificate.verify(certificate, key, json=json)


def _certify(
    settings: Settings,
    path: Path,
    asked: Asked,
    gone: Sequence[erase_certificate.Check],
) -> None:
    writing = erase_certificate.write(settings, path, asked, gone)
    unchecked = progress.run("waiting until the views have let go of it", writing)
    if unchecked:
        print(
            f"not seen to be removed yet: {unchecked}. Ask again with --certificate and another file when all "
            "services run",
            file=sys.stderr,
        )


def _say_written(path: Path | None) -> None:
    if path is not None:
        print(f"wrote the certificate to {printable(str(path))}; `switchboard erase verify` checks it")


def _confirm(what: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError("nobody is here to be asked, so nothing was erased: add --yes")
    print(what)
    typer.confirm("Go on?", abort=True)


def _say_json(settings: Settings, told: dict[str, object], tenant: str, answers: int) -> None:
    left = erasing.remaining(settings, datetime.now(UTC))
    told |= {"tenant_id": tenant, "erased_answers": answers}
    print_json(told | {"compacted_by": left.compacted, "kept_until": left.kept})


def _say_answers(answers: int) -> None:
    if answers:
        print(f"erased what models answered: {count(answers, 'answer')}")


def _say_what_remains(settings: Settings) -> None:
    """Say when it is gone from where, as the topics' retention says."""
    left = erasing.remaining(settings, datetime.now(UTC))
    kept = defaultdict(list)
    for name, until in left.kept.items():
        kept[until].append(name)
    print("gone as soon as ingest, memory and recall have read this: search, facts, windows, vectors")
    print(
        "contexts that were made for the same person's other conversations may repeat it in memory.context.v1 "
        "until the next turn of each; no reader of Switchboard is shown that"
    )
    by = left.compacted
    print(f"gone from the files of compacted topics by {by:%Y-%m-%d}, or with the next record after that")
    for until, names in sorted(kept.items()):
        print(f"still to be read, by whoever reads the topics, until {until:%Y-%m-%d}: {', '.join(names)}")
