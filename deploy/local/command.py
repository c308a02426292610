"""The installed command: ``switchboard`` with the demo, which the package ``streams`` does not know."""

from __future__ import annotations

from streams.cli import main as cli
from streams.cli.commands import COMMANDS, RUN
from streams.cli.loading import Entry

DEMO_COMMANDS = {
    "demo": Entry(
        RUN,
        "demo:run",
        "Run everything on this machine, with conversations to look at; Ctrl-C or `switchboard down` ends it.",
        "deploy.local",
    ),
    "down": Entry(
        RUN, "down:run", "End what the demo started, and nothing else.  The data stays.", "deploy.local"
    ),
}

app = cli.application({**DEMO_COMMANDS, **COMMANDS})


def main() -> None:
    """Entry point of the installed command."""
    cli.main(app)


if __name__ == "__main__":
    main()
