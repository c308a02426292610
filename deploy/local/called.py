"""Commands as whoever ran the demo types them: by ``make`` in a checkout, by name where it is installed."""

from __future__ import annotations

import os


def switchboard() -> str:
    """Return the command ``switchboard``: in a checkout its folder may not be on PATH."""
    return ".venv/bin/switchboard" if _by_make() else "switchboard"


def demo(**options: str) -> str:
    """Return the demo's command; ``options`` as it has them, in lower case (``stay=""`` is a flag)."""
    if _by_make():
        return " ".join(["make demo", *(f"{name.upper()}={value or 1}" for name, value in options.items())])
    given = [f"--{name.replace('_', '-')} {value}".rstrip() for name, value in options.items()]
    return " ".join(["switchboard demo", *given])


def down() -> str:
    """Return the command that ends the demo."""
    return "make down" if _by_make() else "switchboard down"


def _by_make() -> bool:
    return bool(os.environ.get("MAKELEVEL"))
