"""What the tests of Compose and of Kubernetes share: our commands, our settings, our health."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
import typer
from prometheus_client import CollectorRegistry

from streams.cli.main import app
from streams.config.settings import Settings, load_settings
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer


def parse(arguments: Sequence[str]) -> None:
    """Have the command line read arguments: it refuses what it does not know, and runs nothing."""
    command, left = typer.main.get_command(app), list(arguments)
    while hasattr(command, "commands"):
        command = command.commands[left.pop(0)]
    command.make_context("switchboard", left)


def settings_of(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return the settings that a container with this environment has; unknown names are refused."""
    for name in list(os.environ):
        if name.startswith(("SWITCHBOARD_", "GEMINI_API_KEY", "OPENAI_API_KEY")):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return load_settings()


@contextmanager
def health(ready: bool = True) -> Iterator[int]:
    """A service's own health server; yields its port."""
    state = HealthState(60)
    if ready:
        state.clear("starting")
    with HealthServer(0, CollectorRegistry(), state) as server:
        yield server.port
