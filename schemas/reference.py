"""The reference in ``docs/reference``, made of the settings, the operations, the topics and the commands.

``python -m schemas.reference`` writes it; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from schemas.generate import FOLDER as SCHEMAS
from streams.cli.main import app
from streams.clients.catalog import load_catalog
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.config.settings.text import describe
from streams.server.api.catalog import OPERATIONS
from streams.server.api.operations import Operation
from streams.server.api.problems import GENERAL, KINDS, OF_BODIES, OF_THE_SERVER, Kind

FOLDER = SCHEMAS.parent / "docs" / "reference"

_NOTE = "<!-- Made by python -m schemas.reference: change what it is made of. -->\n"


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {
        "settings.md": _page("Settings", _SETTINGS, _settings()),
        "operations.md": _page("HTTP operations", _OPERATIONS, _operations()),
        "problems.md": _page("Problems", _PROBLEMS, _problems()),
        "topics.md": _page("Topics", _TOPICS, _topics()),
        "commands.md": _page("Commands", _COMMANDS, _commands()),
    }


_SETTINGS = (
    "Each is an environment variable with a default that works on one machine; it is checked at start, and a "
    "typo in a name is refused. `switchboard settings` prints them with their values."
)
_OPERATIONS = (
    "At `http://127.0.0.1:8371`. `GET /v1/openapi.json` describes them with their schemas. Errors are "
    "`application/problem+json` with a stable `type` ([all of them](problems.md)), what is wrong (`detail`) "
    "and what to do (`advice`). A list comes in pages: `next` of one is given as `cursor` of the "
    "following request (`start` in `GET /v1/facts`)."
)
_PROBLEMS = (
    "An error is `application/problem+json` (RFC 9457). Its `type` is `urn:switchboard:problem:` with one of "
    "these names, and stays as it is: branch on it. `detail` says what is wrong, `advice` what to do, and "
    "`trace_id` finds the request in the log of `serve`; what was refused is logged with "
    "`SWITCHBOARD_LOG_LEVEL=debug`."
)
_TOPICS = (
    "One file each in `schemas/topics`, with JSON Schemas in `schemas/json`, examples in `schemas/examples`. "
    "A topic with a dead-letter queue has a `<topic>.dlq`."
)
_COMMANDS = "`switchboard COMMAND --help` says the same. What writes a result has `--json`."


def _page(title: str, introduction: str, lines: Iterable[str]) -> str:
    return "\n".join([_NOTE, f"# {title}", "", introduction, "", *lines]).rstrip() + "\n"


#: Defaults that each machine has its own of.
_OF_THE_MACHINE = {"SWITCHBOARD_INSTANCE_ID": "<host name>"}


def _settings() -> Iterator[str]:
    yield "| variable | default | what it is |"
    yield "| --- | --- | --- |"
    home = str(Path.home())
    for row in describe(Settings.model_construct()):
        default = _OF_THE_MACHINE.get(row.env, row.default.replace(home, "~"))
        unit = f" ({row.unit})" if row.unit else ""
        allowed = f"; allowed: {row.allowed}" if row.allowed else ""
        yield f"| `{row.env}` | {_code(default)}{unit} | {_cell(row.description + allowed)} |"


def _operations() -> Iterator[str]:
    for each in OPERATIONS:
        yield from _operation(each)


def _operation(each: Operation) -> Iterator[str]:
    yield f"## `{each.method} {each.path}`"
    yield ""
    yield " ".join(filter(None, (each.summary, " ".join(each.description.split()))))
    yield ""
    needs = "no token" if each.scope.value == "none" else f"scope `{each.scope.value}`"
    problems = ", ".join(f"`{kind.name}` ({kind.status.value})" for kind in each.problems)
    yield f"Needs {needs}; answers {each.status}." + (f" Problems of its own: {problems}." if problems else "")
    yield ""


def _problems() -> Iterator[str]:
    yield "| name | status | what to do | where |"
    yield "| --- | --- | --- | --- |"
    for each in KINDS:
        yield f"| `{each.name}` | {each.status.value} | {_cell(each.advice)} | {_where(each)} |"


def _where(kind: Kind) -> str:
    """Say who answers with a kind of problem."""
    for kinds, where in (
        (GENERAL, "any operation"),
        (OF_BODIES, "any operation that writes"),
        (OF_THE_SERVER, "before there is an operation"),
    ):
        if kind in kinds:
            return where
    return ", ".join(f"`{each.method} {each.path}`" for each in OPERATIONS if kind in each.problems)


def _topics() -> Iterator[str]:
    for spec in load_catalog(""):
        if not spec.dead_letter_of:
            yield from _topic(spec)


def _topic(spec: TopicSpec) -> Iterator[str]:
    yield f"## `{spec.name}`"
    yield ""
    yield " ".join(spec.description.split())
    yield ""
    kept = (
        "for ever" if spec.retention_ms in (None, -1) else f"{int(spec.retention_ms or 0) / 86_400_000:g} days"
    )
    yield f"- key: {_cell(spec.key)}; {spec.partitions} partitions; `{spec.cleanup_policy}`, kept {kept}"
    writers, readers = ", ".join((spec.owner, *spec.writers)), ", ".join(spec.readers) or "nobody's group"
    looked_up = f"; looked up by {', '.join(spec.looked_up_by)}" if spec.looked_up_by else ""
    yield f"- written by {writers}; read by {readers}{looked_up}"
    if spec.shared:
        yield "- shared: the same topic for all generations"
    if spec.dead_letter:
        yield f"- what cannot be read goes to `{spec.name}.dlq`"
    yield ""


def _commands() -> Iterator[str]:
    root = typer.main.get_command(app)
    yield from _command(root, "switchboard", typer.Context(root, info_name="switchboard"))


def _command(command: Any, name: str, context: typer.Context) -> Iterator[str]:
    """Yield what is said of a command, or of those below it."""
    if hasattr(command, "commands"):
        for word, below in sorted(command.commands.items()):
            yield from _command(below, f"{name} {word}", typer.Context(below, context, info_name=word))
        return
    usage = " ".join(piece for each in command.params for piece in each.get_usage_pieces(context))
    yield from (
        f"## `{name}`",
        "",
        _cell(command.help or ""),
        "",
        "```text",
        f"{name} {usage}".rstrip(),
        "```",
        "",
    )
    options = [each for each in command.params if each.param_type_name == "option"]
    for option in options:
        names = ", ".join(f"`{each}`" for each in [*option.opts, *option.secondary_opts])
        yield f"- {names}: {_cell(option.help or '')}"
    if options:
        yield ""


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").strip()


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
