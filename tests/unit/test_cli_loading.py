"""Commands are loaded when they are asked for, and all of them can be."""

from __future__ import annotations

import subprocess
import sys


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
