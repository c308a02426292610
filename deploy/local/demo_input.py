"""Input of the demo: files with one ``chat.messages.v1`` body per line, checked before anything is sent."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from deploy.local import called
from models.errors import InvalidRecord, NotFound
from models.messages import ChatMessage
from processors.text.validation import decode_chat_message
from streams.config.settings import Settings

#: A link in a checkout, a folder where the package is installed.
EXAMPLES = Path(__file__).with_name("examples")

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: So many broken lines are named; the first few show what is wrong with all.
_NAMED = 5


class InputMessage(NamedTuple):
    """One line of input: the record's value as it was written, and what it says."""

    value: bytes
    message: ChatMessage


def input_files(given: str, examples: Path = EXAMPLES) -> list[Path]:
    """Return the files to send: ``given`` (a file, or a folder of ``*.jsonl``), or the examples if empty.

    Raises :class:`NotFound` when there are none.
    """
    path = Path(given).expanduser() if given else examples
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not files:
            raise NotFound(f"there is nothing to send: {path} holds no *.jsonl file. {_how_to_give_one()}")
        return files
    if not path.exists():
        raise NotFound(f"there is no file {path}. {_how_to_give_one()}")
    return [path]


def read_messages(files: Sequence[Path], settings: Settings) -> list[InputMessage]:
    """Return the messages of all files, in their order.

    Raises :class:`InvalidRecord` naming file, line and reason of what the services would refuse, and
    :class:`NotFound` when a file cannot be read or no message is in any.
    """
    messages: list[InputMessage] = []
    broken: list[str] = []
    reason = ""
    for file in files:
        for number, line in _lines(file):
            try:
                messages.append(InputMessage(line, _check(line, settings)))
            except InvalidRecord as error:
                reason = reason or error.reason
                broken.append(f"  {file}, line {number}: {error}")
    if broken:
        more = [f"  and {len(broken) - _NAMED:,} more"] if len(broken) > _NAMED else []
        count = "one line" if len(broken) == 1 else f"{len(broken):,} lines"
        raise InvalidRecord(
            reason,
            "\n".join(
                [
                    f"nothing was sent, because {count} cannot be processed:",
                    *broken[:_NAMED],
                    *more,
                    "Mend or remove them. Each line is one JSON object like those in examples/*.jsonl.",
                ]
            ),
        )
    if not messages:
        names = ", ".join(str(file) for file in files)
        raise NotFound(f"there is nothing to send: no message is in {names}. {_how_to_give_one()}")
    return messages


def _check(line: bytes, settings: Settings) -> ChatMessage:
    return decode_chat_message(
        None, line, max_content_bytes=settings.max_content_bytes, arrived_ms=int(time.time() * 1000)
    )


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold something, with their numbers from 1."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                if text.strip():
                    yield number, text.strip()
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}. {_how_to_give_one()}") from error


def _how_to_give_one() -> str:
    return (
        "Give a file with one chat message per line, like examples/amara.jsonl: "
        f"`{called.demo(input='file')}`. Without one the examples are sent."
    )
