"""Text from outside, made fit to be printed: nothing that others wrote controls a terminal.

Everything that is printed, logged or answered passes through here: messages hold escape sequences, servers put
them into their errors, and a mark that reverses the direction of writing makes one thing read like another.
"""

from __future__ import annotations

import re
import sys
import threading
import traceback
from typing import Any

import msgspec

from streams.config.redaction import redacted

#: C0 and C1 controls, DEL, line and paragraph separators, and the marks that set the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

#: The same, as UTF-8 within JSON, which escapes C0 by itself.
_CONTROLS_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]",
)

#: Lone surrogates (they come from undecodable bytes) cannot be written as UTF-8.
_SURROGATES = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """Return ``text`` on one line, its control characters shown as escapes (``\\n``, ``\\x1b``)."""
    text = _SURROGATES.sub("�", text)
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Return ``text`` with its line ends as they are, and every other control character as an escape."""
    return "\n".join(printable(line.removesuffix("\r")) for line in text.split("\n"))


def error_text(error: object) -> str:
    """Return the text of an error, line by line: without secrets and without what controls a terminal."""
    return printable_lines(redacted(str(error)))


def encode_json(value: Any) -> bytes:
    """Return ``value`` (structs included) as one line of JSON; what controls a terminal is escaped."""
    return _CONTROLS_IN_JSON.sub(
        lambda match: f"\\u{ord(match[0].decode()):04x}".encode(), msgspec.json.encode(value)
    )


def show_traceback(error: BaseException) -> None:
    """Show an error that nobody expected, without secrets and without what controls a terminal."""
    print(error_text("".join(traceback.format_exception(error))), end="", file=sys.stderr, flush=True)


def guard_threads() -> None:
    """From now on, show what a thread did not catch as :func:`show_traceback` does."""

    def show(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            show_traceback(args.exc_value)

    threading.excepthook = show


def write_any_text() -> None:
    """Let stdout and stderr take every text: what their encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
