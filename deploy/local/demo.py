"""``switchboard demo``: the whole system on this machine, with conversations to look at."""

from __future__ import annotations

import errno
import signal
import sys
from typing import Annotated

import typer

from deploy.local.terminal import end_with_terminal
from models.errors import ConfigurationError
from streams.config.exits import EXIT_INTERRUPTED

DEFAULT_KAFKA_PORT = 9092


def run(
    given: Annotated[
        str, typer.Option("--input", envvar="INPUT", help="File or folder to send; the examples without it.")
    ] = "",
    kafka_port: Annotated[
        int,
        typer.Option(envvar="KAFKA_PORT", min=1, max=65535, help="Where the demo's own Kafka listens."),
    ] = DEFAULT_KAFKA_PORT,
    model: Annotated[
        str,
        typer.Option(
            envvar="MODEL",
            help="The model that reads: builtin, scripted, gemini, or http://host/v1#name; without it "
            "gemini, if there is a GEMINI_API_KEY, else builtin.",
        ),
    ] = "",
    stay: Annotated[
        bool | None,
        typer.Option(envvar="STAY", help="Keep everything running at the end; the default at a terminal."),
    ] = None,
) -> None:
    """Run everything on this machine, with conversations to look at; Ctrl-C or `switchboard down` ends it.

    Starts Kafka (unless SWITCHBOARD_BOOTSTRAP_SERVERS is set) and the services, sends the examples, shows how
    it goes, and prints what is known of each person.  Messages that a run before has sent are not sent again.
    """
    try:
        # Explicitly, since a shell starts what it puts in the background with this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        end_with_terminal()
        print("Switchboard demo: loading ...")
        # Here, since it takes seconds the first time, and Ctrl-C may come before it is over.
        from deploy.local import demo_session

        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        demo_session.show(given, kafka_port, at_terminal if stay is None else stay, model)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        advice = "free some space, or set SWITCHBOARD_DATA_DIR to a folder on another disk"
        raise ConfigurationError(f"the disk is full: {advice}") from error
    except KeyboardInterrupt:
        print("\nended; nothing is left running", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
