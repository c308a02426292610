"""``switchboard filter``: what the response filter would take out of a text, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from models.errors import InvalidRecord, NotFound
from processors.responses.filter import filter_text
from processors.responses.filter_state import Duplicate, FilterPolicy
from streams.cli.output import count, printable
from streams.printing import printable_lines
from streams.settings import load_settings


def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text; - reads standard input.")] = "-",
    threshold: Annotated[
        float | None,
        typer.Option(help="Similarity from which a sentence is a duplicate. Default: the setting."),
    ] = None,
) -> None:
    """Filter a text like a response, without Kafka: the same processor, all of the text at once.

    The text that remains goes to stdout; at a terminal the sentences taken out are shown struck through. What
    was taken out, what it repeats and how similar the two are goes to stderr.
    """
    settings = load_settings()
    text = _read(file)
    result = filter_text(
        text,
        FilterPolicy(
            threshold=settings.content_similarity_threshold if threshold is None else threshold,
            window_sentences=settings.duplicate_window_sentences,
        ),
    )
    if sys.stdout.isatty():
        Console(highlight=False, soft_wrap=True).print(_struck(text.rstrip("\r\n"), result.duplicates))
    else:
        # As bytes, like it was read: whatever the terminal's encoding and line ends are.
        sys.stdout.buffer.write(result.text.encode())
    sys.stdout.flush()
    _explain(result.duplicates)


def _read(file: str) -> str:
    try:
        # Line ends as they are: what is not filtered must come out byte for byte.
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode()
    except OSError as error:
        raise NotFound(f"cannot read {file}: {error.strerror}; name a text file, or - for stdin") from error
    except UnicodeDecodeError as error:
        raise InvalidRecord(
            "invalid_utf8", f"{file} is not UTF-8 at byte {error.start}; convert it first"
        ) from error


def _struck(text: str, duplicates: tuple[Duplicate, ...]) -> Text:
    shown = Text()
    at = 0
    for duplicate in duplicates:
        end = duplicate.position + len(duplicate.sentence)
        shown.append(printable_lines(text[at : duplicate.position]))
        shown.append(printable_lines(text[duplicate.position : end]), style="strike dim")
        at = end
    return shown.append(printable_lines(text[at:]))


def _explain(duplicates: tuple[Duplicate, ...]) -> None:
    print(f"{count(len(duplicates), 'sentence')} taken out", file=sys.stderr)
    for duplicate in duplicates:
        print(
            f"{duplicate.score:.2f} at {duplicate.position}: “{printable(duplicate.sentence)}”\n"
            f"  repeats “{printable(duplicate.similar)}”",
            file=sys.stderr,
        )
