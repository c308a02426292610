"""Measure the built-in summarizer on Notebook people: ``python -m benchmarks.quality.summaries [FOLDER]``.

The range is a session of a person, or half of one.  Of the notes of importance 2 and 3 that are told in it and
that nothing in it ends, the share that the summary shows (the terms of the note stand in it), beside the first
sentences of the person within the same bound; then the CPU time of what is long, without the vectors.
``--show N`` prints the first N summaries, to be read.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.notebook.labels import HERE, Person, people, window_of
from models.messages import Role
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.summaries.building import context_text, summary_tokens
from processors.summaries.extractive import Scored, summarize_messages
from processors.summaries.reading import read
from processors.text.sentences import sentences
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader, ReaderModel
from streams.llm.tokenizer import cl100k_counter

BOUND = 150
count = cl100k_counter()

Messages = tuple[WindowMessage, ...]


def ranges(person: Person, parts: int) -> Iterator[Messages]:
    """Yield each session of a person, cut into equal ``parts``."""
    for session in person["sessions"]:
        messages = window_of(person, session).messages
        size = -(-len(messages) // parts)
        yield from (messages[at : at + size] for at in range(0, len(messages), size))


def notes_of(person: Person, messages: Messages) -> list[dict[str, Any]]:
    """Return the notes worth having that a range tells and does not end."""
    inside = {message.message_id for message in messages}
    return [
        note
        for note in person["notes"]
        if note["importance"] >= 2
        and inside & set(note["evidence"])
        and not (note.get("ends") and note["ends"]["by"] in inside)
    ]


def has(text: str, note: dict[str, Any]) -> bool:
    """Tell whether a text has the terms of a note."""
    folded = text.lower()
    return all(any(term.lower() in folded for term in alternatives) for alternatives in note["terms"])


def first_sentences(messages: Messages) -> SessionSummary:
    """Return the baseline: sentences of the person from the start that fit the same bound."""
    taken: list[str] = []
    own = (message for message in messages if message.role is Role.USER)
    for sentence in (sentence for message in own for sentence in sentences(message.content)):
        if summary_tokens(SessionSummary(key_facts=(*taken, f"user: {sentence}")), count) > BOUND:
            break
        taken.append(f"user: {sentence}")
    return SessionSummary(key_facts=tuple(taken))


async def summarized(reader: OnnxReader, embedder: OnnxEmbedder, messages: Messages) -> SessionSummary:
    """Return the summary, as the adapter makes it."""
    units = read(messages)
    readings = await reader.read([unit.sentence for unit in units])
    vectors = await embedder.embed([unit.text for unit in units])
    return summarize_messages(messages, [*map(Scored, units, readings, vectors)], BOUND, count)


async def measure(known: Sequence[Person], show: int) -> None:
    """Print the shares, and some summaries."""
    reader, embedder = OnnxReader(), OnnxEmbedder(timeout=600, cache_size=100_000)
    for parts, name in ((1, "session"), (2, "half of a session")):
        shown = first = told = tokens = made = 0
        for person in known:
            for messages in ranges(person, parts):
                summary = await summarized(reader, embedder, messages)
                text, start = context_text(summary), context_text(first_sentences(messages))
                notes = notes_of(person, messages)
                told += len(notes)
                shown += sum(has(text, note) for note in notes)
                first += sum(has(start, note) for note in notes)
                tokens, made = tokens + summary_tokens(summary, count), made + 1
                if show > 0 and parts == 1:
                    show -= 1
                    missing = [note["text"] for note in notes if not has(text, note)]
                    print(f"\n{messages[0].message_id}\n{text}\nmissing: {missing}")
        print(
            f"{name:18} {made} ranges, {told} notes: shown {shown / max(1, told):.3f},"
            f" by the first sentences {first / max(1, told):.3f}; {tokens / max(1, made):.0f} tokens"
        )
    await reader.close()
    await embedder.close()


def milliseconds(contents: list[str]) -> float:
    """Return the CPU time of a summary of messages of one person, without vectors; the best of three."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    messages = [
        WindowMessage(
            message_id=f"m{n}",
            user_id="u",
            role=Role.USER,
            content=content,
            sent_at=now,
            arrived_at=now,
            index=n,
            offset=n,
        )
        for n, content in enumerate(contents)
    ]
    taken, model = [], ReaderModel()
    for _ in range(3):
        started = time.thread_time()
        units = read(messages)
        readings = model.read([unit.sentence for unit in units])
        nowhere = np.zeros((len(units), 384), dtype=np.float32)
        summarize_messages(messages, [*map(Scored, units, readings, nowhere)], BOUND, count)
        taken.append((time.thread_time() - started) * 1e3)
    return min(taken)


def measure_length() -> None:
    """Print what a very long message takes, and very many messages."""
    sentence = "The tram number {n} goes to the old harbour in the evening and I take it home."
    for name, contents in (
        ("one message", [" ".join(sentence.format(n=n) for n in range(3800))]),
        ("messages", [sentence.format(n=n) for n in range(3800)]),
    ):
        print(f"{count(' '.join(contents))} tokens in {name}: {milliseconds(contents):.0f} ms")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / "dev")
    parser.add_argument("--show", type=int, default=0)
    arguments = parser.parse_args()
    asyncio.run(measure(people(arguments.folder), arguments.show))
    measure_length()


if __name__ == "__main__":
    main()
