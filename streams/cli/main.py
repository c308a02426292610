"""The command ``switchboard``.

Errors that are raised on purpose become one clear line on stderr and an exit status (sysexits.h):

====================== ======
ConfigurationError     78
NotFound               66
DependencyUnavailable  69
InvalidRecord          65
ConsistencyError       70
Ctrl-C                 130
====================== ======
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence

import typer

from models.errors import (
    ConfigurationError,
    ConsistencyError,
    DependencyUnavailable,
    InvalidRecord,
    NotFound,
    SwitchboardError,
)
from streams.cli.commands import COMMANDS
from streams.cli.loading import Entry, group_of
from streams.config.exits import (
    EXIT_CONFIGURATION,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_NOT_FOUND,
    EXIT_UNAVAILABLE,
)
from streams.config.printing import error_text, guard_threads, printable, show_traceback, write_any_text

_STATUS = {
    ConfigurationError: EXIT_CONFIGURATION,
    DependencyUnavailable: EXIT_UNAVAILABLE,
    NotFound: EXIT_NOT_FOUND,
    InvalidRecord: EXIT_INVALID,
    ConsistencyError: EXIT_FAILED,
}

#: How Python holds the bytes of an argument that it could not decode.
_UNDECODED = re.compile("[\udc80-\udcff]")


def _version(wanted: bool) -> None:
    if wanted:
        from streams.telemetry.version import installed_version

        print(f"switchboard {installed_version()}")
        raise typer.Exit


def _every_command(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    # The client library logs each failed connection; the commands say once, and better, what is wrong.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def application(commands: Mapping[str, Entry]) -> typer.Typer:
    """Return the command with these subcommands."""
    made = typer.Typer(
        name="switchboard",
        cls=group_of(commands),
        help="Conversation memory as a stream: chat messages go in on Kafka, facts about the people come out.",
        epilog="Start with the demo, which runs everything here; `switchboard settings` lists every setting.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_every_command)
    return made


app = application(COMMANDS)


def status_of(error: SwitchboardError) -> int:
    """Return the exit status that stands for an error."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 1)


def _as_utf8(argument: str) -> str:
    """Read an argument as UTF-8 where the locale could not: Python keeps such bytes as lone surrogates.

    Raises :class:`InvalidRecord` for what is no UTF-8 either: no id, name or question can be that.
    """
    if not _UNDECODED.search(argument):
        return argument
    try:
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        raise InvalidRecord("invalid_utf8", f"'{printable(argument)}' is not UTF-8: give it as UTF-8") from None


def run(arguments: Sequence[str] | None = None, command: typer.Typer = app) -> int:
    """Run one command and return its exit status."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        command(list(map(_as_utf8, given)), prog_name="switchboard", standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except SwitchboardError as error:
        print(f"switchboard: {error_text(error)}", file=sys.stderr)
        return status_of(error)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def main(command: typer.Typer = app) -> None:
    """Run the command that the process was started as, and end the process."""
    write_any_text()
    guard_threads()
    try:
        status = run(command=command)
    except Exception as error:  # noqa: BLE001 - a mistake of ours: Python would show it with whatever it repeats
        show_traceback(error)
        status = 1
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # `switchboard tail ... | head`: whoever read has seen enough; nothing is left to flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
