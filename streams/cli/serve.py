"""``switchboard serve``: the HTTP API and the console, in the foreground."""

from __future__ import annotations

import typer

from streams.config.settings import load_settings


def run() -> None:
    """Serve the HTTP API and the console (port 8371) until Ctrl-C or SIGTERM. Logs go to stderr.

    Any number may run. What is down costs only what needs it: without the recall service nothing is found, and
    without Kafka no message is taken; each answer says which.
    """
    settings = load_settings()
    # The web server and the indexes take a while to import: only this command pays for them.
    from streams.server.serve import process

    raise typer.Exit(process.run(settings))
