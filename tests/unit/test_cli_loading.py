"""Commands are loaded when they are asked for, and all of them can be."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import typer

from streams.cli.main import app


def test_each_command_loads_under_its_name() -> None:
    root: Any = typer.main.get_command(app)
    assert len(root.commands) > 25
    for name in root.commands:
        command = root.get_command(None, name)
        assert command.name == name and command.help, name
    assert root.get_command(None, "nonsense") is None


def test_one_command_loads_no_others() -> None:
    code = (
        "import sys; from streams.cli.main import run; status = run(['settings', '--help']);"
        "loaded = {'qdrant_client', 'qdrant_edge', 'faust', 'mcp', 'google.genai', 'redis'} & set(sys.modules);"
        "sys.exit(f'{status}: {loaded}' if status or loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_faust_is_loaded_by_workers_alone() -> None:
    """It takes a third of a second, and what serves or asks has no use for it."""
    code = (
        "import sys; from importlib import import_module; from streams.cli.main import _COMMANDS;"
        "import streams.serve.process;"
        "[import_module('streams.cli.' + place.partition(':')[0]) for place in _COMMANDS.values()];"
        "loaded = {'faust', 'mode'} & set(sys.modules);"
        "sys.exit(f'{loaded}' if loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
