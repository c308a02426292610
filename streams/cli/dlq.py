"""``switchboard dlq``: records that could not be processed, and what to do with them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Annotated

import typer

from models.errors import ConfigurationError
from streams.cli import progress
from streams.cli.output import Json, count, moment, print_json, print_table, printable
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings, load_settings
from streams.queries import dead_letters
from streams.queries.dead_letters import Letter, Place, Whole
from streams.runtime.deadletters import DeadRecord

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Look at records that could not be processed; retry or drop them.",
)

Topic = Annotated[str, typer.Argument(help="For example chat.messages.v1.", show_default=False)]
Places = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PARTITION:OFFSET...]", help="As `list` says.", show_default=False),
]
Reason = Annotated[str, typer.Option("--reason", help="All dead letters with this reason.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters of the queue.")]

_PLACE = re.compile(r"(\d{1,9}):(\d{1,18})")
_SHOWN_BYTES = 4096


@app.command("list")
def list_letters(
    topic: Annotated[str, typer.Argument(help="A topic; without one, all queues in groups.")] = "",
    reason: Reason = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show the latest so many.")] = 50,
    json: Json = False,
) -> None:
    """List dead letters that were neither retried nor dropped."""
    settings = load_settings()
    if not topic:
        groups = progress.run("reading dead letters", dead_letters.groups_of(settings, by_cause=True))
        if json:
            print_json(groups)
        elif not groups:
            print("there are no dead letters")
        else:
            rows = [
                (g.queue, g.reason, g.field, g.stage, f"{g.count:,}", moment(g.last_at / 1000), g.message)
                for g in groups
            ]
            print_table(("queue", "reason", "field", "stage", "letters", "latest", "why"), rows, right=(4,))
        return
    queue = dead_letters.queue_named(settings, topic)
    letters = progress.run("reading dead letters", dead_letters.letters_of(settings, queue.name))
    letters = [letter for letter in letters if reason in ("", letter.reason)]
    if json:
        print_json(letters[-limit:])
        return
    if not letters:
        print(
            f"there are no dead letters in {queue.name}"
            + (f" with the reason {printable(reason)}" if reason else "")
        )
        return
    print_table(
        ("place", "at", "reason", "refused", "bytes", "lay at", "why"),
        map(_row, letters[-limit:]),
        right=(3, 4),
    )
    if len(letters) > limit:
        print(f"and {count(len(letters) - limit, 'earlier letter')} (--limit)")


def _row(letter: Letter) -> tuple[str, ...]:
    lay = f"{letter.source_partition}:{letter.source_offset}"
    when = moment(letter.at / 1000)
    return str(letter.place), when, letter.reason, str(letter.refused), f"{letter.size:,}", lay, letter.message


@app.command()
def show(
    topic: Topic,
    place: Annotated[str, typer.Argument(metavar="PARTITION:OFFSET", show_default=False)],
    json: Json = False,
) -> None:
    """Print one dead letter: reason, place, and the record; put together again if it was split."""
    settings = load_settings()
    queue = dead_letters.queue_named(settings, topic)
    [whole] = progress.run(
        "reading the letter", dead_letters.read_letters(settings, queue.name, [_place(place)])
    )
    if json:
        print_json(as_dict(whole))
        return
    letter, record = whole
    for label, value in (
        ("reason", letter.reason),
        ("why", letter.message),
        ("stage", letter.stage),
        ("lay at", f"{letter.topic} {letter.source_partition}:{letter.source_offset}"),
        ("at", moment(letter.at / 1000)),
        ("refused", count(letter.refused, "time")),
        ("retry", letter.retryable or f"switchboard dlq retry {printable(topic)} {letter.place}"),
    ):
        print(f"{label:8} {printable(value)}")
    if record is not None:
        _print_record(letter, record)


def _print_record(letter: Letter, record: DeadRecord) -> None:
    key = "(none)" if record.key is None else record.key.decode(errors="backslashreplace")
    print(f"{'key':8} {printable(key)}")
    for name, value in record.headers:
        text = "(none)" if value is None else value.decode(errors="backslashreplace")
        print(f"{'header':8} {printable(name)}: {printable(text)}")
    value = record.value
    if value is None:
        print(f"{'value':8} (none)")
        return
    print(f"{'value':8} {count(letter.size, 'byte')}")
    print(printable(value[:_SHOWN_BYTES].decode(errors="backslashreplace")))
    if len(value) > _SHOWN_BYTES:
        print(f"and {count(len(value) - _SHOWN_BYTES, 'more byte')} (--json has all)")


def as_dict(whole: Whole) -> dict[str, object]:
    """Return a letter with its record; what is no UTF-8 as ``\\\\xff`` in text, all of it in hex."""
    letter, record = whole
    if record is None:
        return {"letter": letter, "record": None}
    value = record.value
    return {
        "letter": letter,
        "record": {
            "key": None if record.key is None else record.key.decode(errors="backslashreplace"),
            "text": None if value is None else value.decode(errors="backslashreplace"),
            "hex": None if value is None else value.hex(),
            "headers": [
                [name, None if header is None else header.decode(errors="backslashreplace")]
                for name, header in record.headers
            ],
            "complete": record.complete,
        },
    }


@app.command()
def retry(
    topic: Topic,
    places: Places = None,
    reason: Reason = "",
    every: All = False,
    trace: Annotated[
        bool, typer.Option("--trace/--no-trace", help="Leave them in the trace that they were of.")
    ] = True,
    json: Json = False,
) -> None:
    """Send records once more to the topic where they lay; refused again, they are listed again."""
    again = partial(dead_letters.retry, keep_trace=trace)
    _settle(topic, places, reason, every, json, again, "sent again", only_retryable=True)


@app.command()
def drop(
    topic: Topic, places: Places = None, reason: Reason = "", every: All = False, json: Json = False
) -> None:
    """Take dead letters off the list; the queue keeps them until its retention ends."""
    _settle(topic, places, reason, every, json, dead_letters.drop, "dropped", only_retryable=False)


def _settle(
    topic: str,
    places: list[str] | None,
    reason: str,
    every: bool,
    json: bool,
    action: Callable[[Settings, TopicSpec, Collection[Place], Callable[[int], None]], Awaitable[list[Letter]]],
    done: str,
    *,
    only_retryable: bool,
) -> None:
    if sum((bool(places), bool(reason), every)) != 1:
        raise ConfigurationError("say which letters: PARTITION:OFFSET, or --reason REASON, or --all")
    settings = load_settings()
    queue = dead_letters.queue_named(settings, topic)
    wanted = list(map(_place, places or ()))

    async def go(tell: Callable[[str], None]) -> tuple[list[Letter], list[Letter]]:
        left: list[Letter] = []
        if not wanted:
            letters = await dead_letters.letters_of(settings, queue.name)
            letters = [letter for letter in letters if reason in ("", letter.reason)]
            left = [letter for letter in letters if only_retryable and letter.retryable]
            wanted.extend(letter.place for letter in letters if letter not in left)
        if not wanted:
            return [], left
        total = count(len(wanted), "letter")
        return await action(settings, queue, wanted, lambda many: tell(f"{many:,} of {total} {done}")), left

    with progress.showing(f"reading {queue.name}") as tell:
        settled, left = asyncio.run(go(tell))
    if json:
        print_json({done.replace(" ", "_"): settled, "left": left})
        return
    print(f"{done}: {count(len(settled), 'letter')} of {queue.name}")
    for letter in left:
        print(f"left     {letter.place}: {printable(letter.retryable)}")


def _place(text: str) -> Place:
    match = _PLACE.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{printable(text)!r} is no place: write PARTITION:OFFSET, for example 3:1842")
    return Place(int(match[1]), int(match[2]))
