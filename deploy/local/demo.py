"""``make demo``: the whole system on this machine, with conversations to look at.

Starts Kafka (unless ``SWITCHBOARD_BOOTSTRAP_SERVERS`` is set) and the services, sends ``examples/*.jsonl`` or
``INPUT=file``, shows how it goes, and prints what is known of each person.  Messages that a run before has
sent are not sent again.  At a terminal everything keeps running until Ctrl-C or ``make down``, to be
looked at from another one; otherwise, and with ``STAY=0``, it ends here.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Sequence

from deploy.local.terminal import end_with_terminal
from models.errors import SwitchboardError
from streams.config.printing import error_text, write_any_text

DEFAULT_KAFKA_PORT = 9092

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``python -m deploy.local.demo``; options default to variables of ``make``."""
    options = _options(arguments)
    write_any_text()
    try:
        # Explicitly, since a shell starts what it puts in the background with this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        end_with_terminal()
        # Here, since it takes a second or two, and Ctrl-C may come before it is over.
        from deploy.local import demo_session

        demo_session.show(options.input, options.kafka_port, options.stay, options.model)
    except SwitchboardError as error:
        from streams.cli.main import status_of

        sys.exit(_failed(error_text(error), status_of(error)))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        advice = "free some space, or set SWITCHBOARD_DATA_DIR to a folder on another disk"
        sys.exit(_failed(f"the disk is full: {advice}", 78))
    except KeyboardInterrupt:
        print("\nended; nothing is left running", file=sys.stderr)
        sys.exit(_INTERRUPTED)


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
    parser.add_argument(
        "--model",
        default=os.environ.get("MODEL", ""),
        help="who reads the conversations: builtin, scripted, gemini, or http://host:port/v1#name (MODEL=...); "
        "if there is a GEMINI_API_KEY, gemini, else builtin",
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


def _failed(message: str, status: int) -> int:
    print(f"\nmake demo: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
