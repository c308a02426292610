"""``switchboard import``: bring the conversations in that were had elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated
from zoneinfo import ZoneInfo

import typer

from models.errors import ConfigurationError, InvalidRecord, NotFound, SwitchboardError
from models.messages import DEFAULT_TENANT
from processors.conversations.importing import chatgpt, claude, jsonl, whatsapp
from processors.conversations.importing.drafts import Draft, Owner, Skipped
from processors.conversations.importing.whatsapp import DateOrder
from streams.admin.importing.files import Export, open_exports
from streams.admin.importing.publishing import Count, Importer
from streams.admin.importing.scratch import Repeats
from streams.cli import progress
from streams.cli.output import count, moment, print_json, printable
from streams.config.exits import EXIT_INVALID
from streams.config.printing import encode_json, error_text
from streams.config.settings import load_settings

#: So many of each reason are shown; ``--report`` has all.
_SHOWN = 3

_ANOTHERS = (
    "A message keeps the person it first came with. To give it another, import it as another conversation "
    "(WhatsApp: --conversation NAME; jsonl: other ids), and erase the first: "
    "`switchboard erase conversation ID`"
)
_ERASED = (
    "What was erased does not come back under its ids. To have it again, import it as another conversation "
    "(WhatsApp: --conversation NAME; ChatGPT, Claude: another --user; jsonl: other ids)"
)

Drafts = Iterator[Draft | Skipped]


class Source(StrEnum):
    """Where an export comes from."""

    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    WHATSAPP = "whatsapp"
    JSONL = "jsonl"


def bring_in(
    source: Annotated[Source, typer.Argument(help="What kind of export it is.", show_default=False)],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Files, the .zip that they came in, or folders of them.", show_default=False
        ),
    ],
    user: Annotated[
        list[str] | None,
        typer.Option(
            "--user", "-u", help="Whose memory it is. WhatsApp: NAME=ID for each person, NAME= leaves one out."
        ),
    ] = None,
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant that it belongs to.")] = DEFAULT_TENANT,
    conversation: Annotated[
        str, typer.Option("--conversation", help="WhatsApp, jsonl: name of the conversation, if none is said.")
    ] = "",
    dates: Annotated[
        DateOrder | None, typer.Option("--dates", help="WhatsApp: how dates are written, if it is not plain.")
    ] = None,
    timezone: Annotated[
        str, typer.Option("--timezone", help="WhatsApp: the phone's, e.g. Europe/Berlin.")
    ] = "UTC",
    branches: Annotated[
        bool, typer.Option("--branches", help="ChatGPT, Claude: what was edited or answered anew, too.")
    ] = False,
    close: Annotated[
        bool,
        typer.Option("--close/--no-close", help="Say that the conversations are over, so that they are read."),
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Count only; no broker is needed.")] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write each thing that was skipped to this file, as JSON lines."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Import an export of another chat, with its own times; what is there already is not added again."""
    settings = load_settings()
    people, owner = _who(source, user or [], tenant)
    zone = _zone(timezone)
    exports = [export for file in files for export in open_exports(file, source.value)]
    shown: dict[str, list[Skipped]] = {}
    problem: SwitchboardError | None = None
    with ExitStack() as resources:
        written = None if report is None else resources.enter_context(_open(report))

        def note(skipped: Skipped) -> None:
            some = shown.setdefault(skipped.reason, [])
            if len(some) < _SHOWN:
                some.append(skipped)
            if written is not None:
                written.write(encode_json(skipped._asdict()) + b"\n")

        counted = Count(note)
        importer = Importer(settings, owner, counted, dry=dry_run, close=close)
        for export in exports:
            try:
                read = _reader(source, export, people, owner, conversation, dates, zone, branches)
                with progress.showing("importing") as tell:
                    asyncio.run(
                        importer.run(read, lambda far: tell(f"{far.read:,} messages read, {far.sent:,} sent"))
                    )
            except InvalidRecord as error:
                problem = InvalidRecord(error.reason, f"{export.name}: {error}")
    if json:
        print_json(_as_dict(counted, shown, dry_run, problem))
    else:
        _print(counted, shown, dry_run)
    if problem is not None:
        raise problem
    if counted.broken:
        raise typer.Exit(EXIT_INVALID)


def _who(source: Source, given: list[str], tenant: str) -> tuple[dict[str, str], Owner]:
    """Return names with their ids, and whose export it is."""
    if source is Source.WHATSAPP:
        people = {}
        for each in given:
            name, equals, identity = each.rpartition("=")
            if not equals or not name:
                raise ConfigurationError(
                    f"--user {printable(each)!r}: WhatsApp has many, write 'Ada Lovelace=ada'"
                )
            people[name] = identity
        return people, Owner(source, "", tenant)
    if len(given) > 1 or (not given and source is not Source.JSONL):
        raise ConfigurationError("say whose memory it is, with one --user ID")
    return {}, Owner(source, given[0] if given else "", tenant)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ConfigurationError(
            f"--timezone {printable(name)!r} is none: write one like Europe/Berlin"
        ) from None


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except OSError as error:
        raise NotFound(f"--report {printable(str(path))} cannot be written: {error.strerror}") from error


def _reader(
    source: Source,
    export: Export,
    people: dict[str, str],
    owner: Owner,
    conversation: str,
    dates: DateOrder | None,
    zone: ZoneInfo,
    branches: bool,
) -> Callable[[], Drafts]:
    """Return a reader that starts at the beginning of an export."""
    match source:
        case Source.CHATGPT:
            return lambda: chatgpt.read(export.pieces(), branches=branches)
        case Source.CLAUDE:
            return lambda: claude.read(export.pieces(), branches=branches)
        case Source.JSONL:
            return lambda: jsonl.read(
                export.pieces(),
                met=Repeats().met,
                user_id=owner.user_id,
                tenant_id=owner.tenant_id,
                conversation_id=conversation,
            )
        case Source.WHATSAPP:
            found = whatsapp.survey(export.pieces())
            order, speaking = dates or found.order(), found.people(people)
            return lambda: whatsapp.read(
                export.pieces(),
                people,
                speaking=speaking,
                order=order,
                zone=zone,
                conversation=conversation,
            )


def _as_dict(
    counted: Count, shown: dict[str, list[Skipped]], dry: bool, problem: SwitchboardError | None
) -> dict[str, object]:
    return {
        "dry_run": dry,
        "messages": counted.read,
        "conversations": len(counted.conversations),
        "already_there": counted.known,
        "there_under_another_user": counted.anothers,
        "erased": counted.erased,
        "sent": counted.sent,
        "closed": counted.closed,
        "from": counted.first,
        "to": counted.last,
        "people": [
            {"user_id": person.user_id, "name": person.name, "messages": number}
            for person, number in counted.people.most_common()
        ],
        "skipped": {
            reason: {"count": number, "examples": [each._asdict() for each in shown[reason]]}
            for reason, number in counted.skipped.most_common()
        },
        "problem": None if problem is None else error_text(problem),
    }


def _print(counted: Count, shown: dict[str, list[Skipped]], dry: bool) -> None:
    found = f"{count(counted.read, 'message')} in {count(len(counted.conversations), 'conversation')}"
    if counted.first is not None and counted.last is not None:
        found += f", {moment(counted.first.timestamp())} to {moment(counted.last.timestamp())}"
    print(found)
    for person, number in counted.people.most_common():
        called = f" ({printable(person.name)})" if person.name and person.name != person.user_id else ""
        print(f"  {printable(person.user_id)}{called}: {number:,}")
    if dry:
        print("dry run: nothing was sent")
    else:
        closed = f"; {count(counted.closed, 'conversation')} closed" if counted.closed else ""
        print(f"sent {counted.sent:,}, already there {counted.known:,}{closed}")
        if counted.anothers:
            print(f"not sent, there under another user_id: {counted.anothers:,}. {_ANOTHERS}")
        if counted.erased:
            print(f"not sent, erased: {counted.erased:,}. {_ERASED}")
    if counted.skipped:
        print(f"skipped {sum(counted.skipped.values()):,}:")
    for reason, number in counted.skipped.most_common():
        print(f"  {reason}: {number:,}")
        for each in shown[reason]:
            print(f"    {printable(each.where)}: {error_text(each.message)}")
        if number > len(shown[reason]):
            print(f"    and {number - len(shown[reason]):,} more (--report FILE names them)")
