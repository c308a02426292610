"""``switchboard filter``: what the response filter would take out of a text, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from models.errors import InvalidRecord, NotFound
from processors.responses.filter import filter_text
from processors.responses.filter_state import Duplicate, FilterPolicy
from streams.cli.output import Json, count, print_json, printable
from streams.config.printing import printable_lines
from streams.config.settings import load_settings


def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text; - reads standard input.")] = "-",
    threshold: Annotated[
        float | None,
        typer.Option(help="Similarity from which a sentence is a duplicate. Default: the setting."),
    ] = None,
    json: Json = False,
) -> None:
    """Filter a text like a response, without Kafka: the same processor, all of the text at once.

    The text that remains goes to stdout; at a terminal the sentences taken out are shown struck through. What
    was taken out, what it repeats and how similar the two are goes to stderr; so does what is similar but
    stays, for it differs in something that may matter.
    """
    settings = load_settings()
    text = _read(file)
    result = filter_text(
        text,
        FilterPolicy(
            threshold=settings.content_similarity_threshold if threshold is None else threshold,
            window_sentences=settings.duplicate_window_sentences,
            fuzzy=settings.response_fuzzy == "on",
        ),
    )
    if json:
        print_json({"text": result.text, "duplicates": result.duplicates})
        return
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


def _struck(text: str, duplicates: Sequence[Duplicate]) -> Text:
    shown = Text()
    at = 0
    for duplicate in sorted(duplicates, key=lambda each: each.position):
        if duplicate.kept:
            continue
        end = duplicate.position + len(duplicate.sentence)
        shown.append(printable_lines(text[at : duplicate.position]))
        shown.append(printable_lines(text[duplicate.position : end]), style="strike dim")
        at = end
    return shown.append(printable_lines(text[at:]))


def _explain(duplicates: Sequence[Duplicate]) -> None:
    kept = sum(duplicate.kept for duplicate in duplicates)
    similar = f", {kept} similar kept" if kept else ""
    print(f"{count(len(duplicates) - kept, 'passage')} taken out{similar}", file=sys.stderr)
    for duplicate in duplicates:
        print(
            f"{duplicate.score:.2f} at {duplicate.position}: “{printable(duplicate.sentence)}”\n"
            f"  {'kept; is similar to' if duplicate.kept else 'repeats'} “{printable(duplicate.similar)}”",
            file=sys.stderr,
        )
