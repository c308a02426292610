"""``switchboard state``: let a service start over, or read a topic again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from models.errors import ConfigurationError
from streams.admin.topics import reset
from streams.admin.topics.groups import Member, Rewound
from streams.cli.output import Json, count, print_json
from streams.cli.worker import Service
from streams.clients.catalog import Catalog, catalog_for
from streams.config.settings import Settings, load_settings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Let a service start over from what the topics hold, or read a topic again. Stop its workers first.",
)

ServiceName = Annotated[Service, typer.Argument(help="Whose state.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before anything is changed.")]


@app.command("reset")
def reset_state(service: ServiceName, yes: Yes = False, json: Json = False) -> None:
    """Forget what a service has computed; let it read its topics again.

    For a service that stops because its state and its topics contradict each
    other, as when a topic was deleted and made again. Only the changelogs of
    the service lose anything: facts stay. The embedded index is emptied and
    fills again.
    """
    settings = load_settings()
    catalog = catalog_for(settings)
    plan = sys.stderr if json else sys.stdout
    print(
        f"{service} will start over from what the topics at {settings.bootstrap_servers} hold now:", file=plan
    )
    for does, what in _plan(catalog, settings, service):
        print(f"  {does:<11} {what}", file=plan)
    _confirm(yes)
    done = asyncio.run(reset.reset_state(catalog, settings, service, _say_waiting))
    if json:
        told = {"service": service, "forgotten": done.changelogs, "kept_facts": done.kept and done.kept.facts}
        collection = reset.index_collection(settings, service)
        emptied = None if done.emptied is None else str(done.emptied)
        rewound = [each._asdict() for each in done.rewound]
        print_json(told | {"emptied": emptied, "rewound": rewound, "delete_by_hand": collection})
        return
    for name in done.changelogs:
        print(f"forgot      {name}")
    if done.emptied is not None:
        print(f"emptied     {done.emptied}")
    if done.kept is not None:
        print(f"kept        {count(done.kept.facts, 'fact')}")
        if done.kept.unreadable:
            print(f"left out    {count(done.kept.unreadable, 'record')} that cannot be read as facts")
    _print_rewound(done.rewound)
    if collection := reset.index_collection(settings, service):
        print(f"now delete  {collection}")
    print(f"Done. Start again: switchboard worker {service}")


@app.command("rewind")
def rewind(
    service: ServiceName,
    topic: Annotated[str, typer.Argument(help="Which of its topics.", show_default=False)],
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Let a service read one topic again from its beginning.

    A view that was lost is filled again without this. To have all vectors made
    anew: switchboard state rewind recall memory.embedding-requests.v1
    """
    settings = load_settings()
    catalog = catalog_for(settings)
    name = reset.rewindable(catalog, service, topic).name
    print(
        f"{service} will read {name} at {settings.bootstrap_servers} from its beginning; nothing is removed.",
        file=sys.stderr if json else sys.stdout,
    )
    _confirm(yes)
    rewound = asyncio.run(reset.rewind(catalog, settings, service, topic, _say_waiting))
    if json:
        print_json({"service": service, "rewound": [rewound._asdict()]})
        return
    _print_rewound([rewound])
    print(f"Done. Start again: switchboard worker {service}")


def _plan(catalog: Catalog, settings: Settings, service: str) -> list[tuple[str, str]]:
    rows = [("forgets", spec.name) for spec in reset.forgotten_by_reset(catalog, service)]
    rows += [("reads again", spec.name) for spec in reset.reread_by_reset(catalog, service)]
    if folder := reset.index_folder(settings, service):
        rows.append(("empties", f"{folder} (the index; fills again)"))
    if collection := reset.index_collection(settings, service):
        rows.append(("by hand", f"delete the index before you start a worker again: {collection}"))
    return rows


def _confirm(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError("nobody is here to be asked, so nothing was changed: add --yes")
    typer.confirm("Go on?", abort=True)


def _say_waiting(members: Sequence[Member], seconds: float) -> None:
    names = ", ".join(map(str, members))
    print(f"waiting up to {seconds:.0f} s for the session of {names} to end ...", file=sys.stderr)


def _print_rewound(rewound: Sequence[Rewound]) -> None:
    for topic in rewound:
        print(f"rewound     {topic.topic}: {count(topic.records, 'record')} to read")
