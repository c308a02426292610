"""``make demo``: the whole system on this machine, with conversations to look at.

Starts Kafka (unless ``SWITCHBOARD_BOOTSTRAP_SERVERS`` is set) and the services, sends ``examples/*.jsonl`` or
``INPUT=file``, shows how it goes, and prints what is known of each person.  Messages that a run before has
sent are not sent again.  At a terminal everything keeps running until Ctrl-C or ``make down``, to be
looked at from another one; otherwise, and with ``STAY=0``, it ends here.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from deploy.local import demo_report as report
from deploy.local.demo_input import EXAMPLES, InputMessage, input_files, read_messages
from deploy.local.demo_parts import DEFAULT_KAFKA_PORT, Parts
from deploy.local.demo_run import Run, response_text
from models.errors import SwitchboardError
from streams.cli.main import status_of
from streams.cli.output import count
from streams.settings import load_settings
from streams.settings_text import env_name

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``python -m deploy.local.demo``; options default to variables of ``make``."""
    options = _options(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    # A broker that has just started sends its clients from door to door; they find it, and log each step.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        _demo(options)
    except SwitchboardError as error:
        sys.exit(_failed(str(error), status_of(error)))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        advice = "free some space, or set SWITCHBOARD_DATA_DIR to a folder on another disk"
        sys.exit(_failed(f"the disk is full: {advice}", 78))
    except KeyboardInterrupt:
        print("\nended; nothing is left running", file=sys.stderr)
        sys.exit(_INTERRUPTED)


def _demo(options: argparse.Namespace) -> None:
    settings = load_settings()
    files = input_files(options.input)
    messages = read_messages(files, settings)
    progress = report.Progress()
    progress.say(_welcome(files, messages))
    with Parts(settings, options.kafka_port, lambda text: progress.say(f"  {text}")) as parts:
        asyncio.run(Run(parts, messages, progress, response_text()).run())
        _print_next(parts, options.stay)
        if options.stay:
            _stay(parts)
    if not options.stay:
        print("All that was started has ended; the data stays.")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--input", default=os.environ.get("INPUT", ""), help="file or folder to send (INPUT=...)"
    )
    parser.add_argument(
        "--kafka-port",
        type=int,
        default=os.environ.get("KAFKA_PORT") or DEFAULT_KAFKA_PORT,
        help="where the demo's own Kafka listens (KAFKA_PORT=...)",
    )
    stay = os.environ.get("STAY", "")
    parser.add_argument(
        "--stay",
        action=argparse.BooleanOptionalAction,
        default=stay not in ("0", "no", "false") if stay else sys.stdin.isatty() and sys.stdout.isatty(),
        help="keep everything running at the end (STAY=1); the default at a terminal",
    )
    options = parser.parse_args(arguments)
    if not 0 < options.kafka_port < 65536:
        parser.error(f"KAFKA_PORT={options.kafka_port} is no port: give one from 1 to 65535")
    return options


def _welcome(files: Sequence[Path], messages: Sequence[InputMessage]) -> str:
    people = len({line.message.user_id for line in messages})
    conversations = len({line.message.conversation_id for line in messages})
    where = "examples" if files[0].parent == EXAMPLES and len(files) > 1 else ", ".join(map(str, files))
    return (
        f"Switchboard demo: {count(len(messages), 'message')} of {count(people, 'person', 'people')} in "
        f"{count(conversations, 'conversation')} ({where})"
    )


def _print_next(parts: Parts, stay: bool) -> None:
    report.heading("What to try next")
    different = {
        name: value
        for name, value in (
            ("bootstrap_servers", parts.settings.bootstrap_servers),
            ("api_port", parts.settings.api_port),
        )
        if os.environ.get(env_name(name), str(type(parts.settings).model_fields[name].default)) != str(value)
    }
    if stay:
        if different:
            exports = " ".join(f"{env_name(name)}={value}" for name, value in different.items())
            print(f"In another terminal, first: export {exports}")
        else:
            print("In another terminal:")
        commands = [
            ('.venv/bin/switchboard search "..." --user NAME', "ask the memory"),
            (".venv/bin/switchboard tail memory.facts.v1", "read along as facts change"),
            (".venv/bin/switchboard conversations show ID", "windows, tokens and ranges of a conversation"),
            (".venv/bin/switchboard status", "who runs, and how far each has read"),
            ("make demo INPUT=yours.jsonl", "your own conversations (after Ctrl-C here)"),
        ]
    else:
        commands = [
            ('.venv/bin/switchboard search "..." --user NAME', "ask the memory; it needs nothing running"),
            ("make demo", "again: nothing is added twice"),
            ("make demo INPUT=yours.jsonl", "your own conversations"),
            ("make demo STAY=1", "keep it running, to look around with `switchboard`"),
        ]
    width = max(len(command) for command, _ in commands)
    for command, what in commands:
        print(f"  {command.ljust(width)}  {what}")
    print(f"  logs of the services: {parts.folder / 'logs'}")


def _stay(parts: Parts) -> None:
    """Keep everything running until a signal; a part that ends by itself is an error."""
    print("\nEverything keeps running. Ctrl-C here, or `make down`, ends it.", flush=True)
    try:
        while True:
            parts.check()
            time.sleep(0.5)
    except KeyboardInterrupt:
        print("\nending ...", flush=True)


def _failed(message: str, status: int) -> int:
    print(f"\nmake demo: {message}", file=sys.stderr)
    return status


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
