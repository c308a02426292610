"""Commands are loaded when they are asked for, and all of them can be."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import typer

from streams.cli.commands import COMMANDS
from streams.cli.main import app


def test_each_command_loads_under_its_name() -> None:
    root: Any = typer.main.get_command(app)
    assert len(root.commands) > 25
    for name in root.commands:
        command = root.get_command(None, name)
        assert command.name == name and command.help, name
        # What a list says of it stands in a table, so that a list loads nothing.
        assert COMMANDS[name].help == command.help.partition("\n\n")[0], name
        assert not command.short_help and not command.hidden and not command.deprecated, name
    assert root.get_command(None, "nonsense") is None


def test_what_serves_or_asks_starts_without_faust_and_mcp() -> None:
    """Faust is for workers, and MCP for who asks over it; together they were half of a start."""
    code = (
        "import sys; from importlib import import_module; from streams.cli.commands import COMMANDS;"
        "import streams.server.serve.process;"
        "[import_module('streams.cli.' + entry.place.partition(':')[0]) for entry in COMMANDS.values()];"
        "loaded = {'faust', 'mode', 'aiohttp', 'mcp', 'mcp_types'} & set(sys.modules);"
        "sys.exit(f'{loaded}' if loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
