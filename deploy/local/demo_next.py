"""The demo's closing words: commands that work when they are copied."""

from __future__ import annotations

import os
import shlex

from deploy.local import called
from deploy.local import demo_report as report
from deploy.local.demo_parts import Parts
from streams.config.redaction import credentials_of
from streams.config.settings import Settings
from streams.config.settings.access import SECRETS
from streams.config.settings.text import PREFIX, env_name


def print_next(parts: Parts, stay: bool) -> None:
    """Print what to try next, and before it what whoever tries it needs in the environment."""
    report.heading("What to try next")
    given = shown(parts.settings, stay)
    hidden = [name for name, value in given.items() if _is_secret(name, value)]
    open_ones = [f"{name}={shlex.quote(value)}" for name, value in given.items() if name not in hidden]
    export = f"export {' '.join(open_ones)}" if open_ones else ""
    if stay:
        print("In another terminal, first:" if export else "In another terminal:")
    elif export:
        print("First, for the settings that this demo was given:")
    if export:
        print(f"  {export}")
    if hidden:
        print(f"  (and {', '.join(hidden)}, as given)")
    command = called.switchboard()
    own = called.demo(input="yours.jsonl")
    ask = f'{command} search "..." --user NAME'
    if stay:
        commands = [
            (f"http://127.0.0.1:{parts.settings.api_port}/", "the console, in a browser"),
            (ask, "ask the memory"),
            (f"{command} tail memory.facts.v1", "read along as facts change"),
            (f"{command} conversations show ID", "windows, tokens and ranges of a conversation"),
            (f"{command} status", "who runs, and how far each has read"),
            (own, "your own conversations (after Ctrl-C here)"),
        ]
    else:
        commands = [
            (
                called.demo(stay=""),
                f"keep it running: the console is http://127.0.0.1:{parts.settings.api_port}/",
            ),
            (ask, "ask the memory; it needs nothing running"),
            (own, "your own conversations"),
        ]
    width = max(len(command) for command, _ in commands)
    for command, what in commands:
        print(f"  {command.ljust(width)}  {what}")


def shown(settings: Settings, stay: bool) -> dict[str, str]:
    """Return the variables without which a command would ask elsewhere than this demo, and their values.

    Whether one was exported or stood before the command nobody can see: each is there that differs from its
    default.  Of a broker that ends with the demo there is nothing to be said.
    """
    fields = {env_name(name, field): name for name, field in Settings.model_fields.items()}
    given = {name: value for name, value in os.environ.items() if name.startswith(PREFIX) and name in fields}
    given[env_name("api_port")] = str(settings.api_port)
    if stay:
        given[env_name("bootstrap_servers")] = settings.bootstrap_servers
    if (folder := env_name("data_dir")) in given:
        given[folder] = str(settings.data_dir.absolute())
    return {name: value for name, value in given.items() if not _is_default(settings, fields[name])}


def _is_default(settings: Settings, name: str) -> bool:
    default = Settings.model_fields[name].get_default(call_default_factory=True)
    return bool(getattr(settings, name) == default)


def _is_secret(variable: str, value: str) -> bool:
    return variable in map(env_name, SECRETS) or bool(credentials_of(value))
