"""``switchboard version``: what runs here."""

from __future__ import annotations

from streams.telemetry.version import code_version


def show() -> None:
    """Print the version, and the commit that it was built from."""
    print(f"switchboard {code_version()}")
