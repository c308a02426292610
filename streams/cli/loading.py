"""Commands whose modules are loaded when somebody asks for them.

All of them together take seconds of CPU (clients of Kafka, Qdrant, Redis, models); each needs a part of
that, and a list of them nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

#: What a command is for Typer: it keeps the class to itself.
_Command = Any


class Entry(NamedTuple):
    """A command that may be loaded.

    ``panel`` of the help lists it.  ``place`` is ``module:attribute`` in ``package``: a function, or a
    Typer of several.  ``help`` is the first paragraph of its own, for lists: a test compares them.
    """

    panel: str
    place: str
    help: str
    package: str = "streams.cli"


class _OnDemand(MutableMapping[str, _Command]):
    """Commands by name; the first look at one loads it."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = dict(entries)
        self._loaded: dict[str, _Command] = {}
        self._listing = False

    @contextmanager
    def listing(self) -> Iterator[None]:
        """Give for each command one of its name and help alone, meanwhile: nothing is loaded."""
        self._listing = True
        try:
            yield
        finally:
            self._listing = False

    def __getitem__(self, name: str) -> _Command:
        if self._listing:
            entry = self._entries[name]
            return TyperCommand(name, help=entry.help, rich_help_panel=entry.panel)
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._entries[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: _Command) -> None:
        self._entries.setdefault(name, Entry("", "", ""))
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._entries[name]
        self._loaded.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def group_of(entries: Mapping[str, Entry]) -> type[TyperGroup]:
    """Return the class of a group that has these commands, by name."""

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands = self._on_demand = _OnDemand(entries)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            with self._on_demand.listing():
                super().format_help(ctx, formatter)

        def shell_complete(self, ctx: Any, incomplete: str) -> Any:
            with self._on_demand.listing():
                return super().shell_complete(ctx, incomplete)

    return Group


def _load(name: str, entry: Entry) -> _Command:
    module, _, attribute = entry.place.partition(":")
    found = getattr(import_module(f"{entry.package}.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    _join_lines(command)
    return command


def _join_lines(command: _Command) -> None:
    """Let the terminal wrap the help: Typer keeps the line breaks of a docstring's later paragraphs."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    for below in getattr(command, "commands", {}).values():
        _join_lines(below)
