"""Commands whose modules are loaded when somebody asks for them.

All of them together take a second of CPU (clients of Kafka, Qdrant, Redis, models); each needs a part of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

#: What a command is for Typer: it keeps the class to itself.
_Command = Any


class _OnDemand(MutableMapping[str, _Command]):
    """Commands by name; the first look at one loads it."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)
        self._loaded: dict[str, _Command] = {}

    def __getitem__(self, name: str) -> _Command:
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._places[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: _Command) -> None:
        self._places.setdefault(name, "")
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._loaded.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def group_of(places: Mapping[str, str]) -> type[TyperGroup]:
    """Return the class of a group that has these commands.

    ``places`` says by name ``module:attribute`` under ``streams.cli``: a function, or a Typer of several.
    """

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands = _OnDemand(places)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)

    return Group


def _load(name: str, place: str) -> _Command:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(f"streams.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command
