"""Measure the built-in summarizer on DialogSum: ``python -m benchmarks.quality.summaries FOLDER``.

Reads ``dialogsum-dev.jsonl`` (``dialogue``, ``summary``).  Prints ROUGE-L (Lin 2004) beside the first sentences
within the same bound and beside what the summarizer had before it read dialogues as dialogues, for the half of
the dialogues on which its weights were chosen and for the other; then the compression of the ranges that the
token table cuts when all dialogues are one long conversation, how often a threshold of one token asks, and the
CPU time of what is long: a message of near-identical sentences, and talks of nothing but to-dos.
The references are written by people in their own words: a sanity check, not a contest.  Speakers' names count
in none of the texts.  Exits 2 if the file is absent.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import fmean

from models.messages import Role
from models.summaries import SessionSummary, SummaryRequest
from models.windows import WindowMessage, WindowSource
from processors.conversations.token_table import TokenTable, accept, add, due, opened
from processors.summaries.building import summary_tokens
from processors.summaries.extractive import roll_up, summarize_messages
from processors.text.sentences import sentences
from processors.text.tokens import message_tokens
from streams.adapters.builtin_summarizer import SMALLEST, BuiltinSummarizer
from streams.adapters.tokenizer import cl100k_counter

#: A line of the file.
Row = dict[str, str]

FILE = "dialogsum-dev.jsonl"
SEED = 1
#: Recall and F1 of summaries that took sentences by their words alone, on all of the file.
BEFORE = (0.218, 0.178)
THRESHOLD = 1200
BOUND = 60
count = cl100k_counter()
_BEGAN = datetime(2025, 1, 1, tzinfo=UTC)


def read_dialogue(text: str, start: int = 0) -> list[WindowMessage]:
    """Return the messages of ``#Person1#: Hello`` lines."""
    said = [line.partition(": ") for line in text.splitlines() if ": " in line]
    return [
        WindowMessage(
            message_id=f"m{index}",
            user_id=speaker.strip("#"),
            role=Role.USER,
            content=content,
            sent_at=_BEGAN,
            arrived_at=_BEGAN,
            index=index,
            offset=index,
        )
        for index, (speaker, _, content) in enumerate(said, start=start)
    ]


def lines(summary: SessionSummary) -> list[str]:
    """Return the sentences of a summary, list by list."""
    profile = summary.profile
    told = (profile.preferences, profile.constraints, summary.key_facts, summary.decisions)
    return [line for part in (*told, summary.open_questions, summary.todos) for line in part]


def first_sentences(messages: list[WindowMessage]) -> list[str]:
    """Return the baseline: sentences from the start that fit the same bound."""
    taken: list[str] = []
    for sentence in (sentence for message in messages for sentence in sentences(message.content)):
        if summary_tokens(SessionSummary(key_facts=(*taken, sentence)), count) > BOUND:
            break
        taken.append(sentence)
    return taken


def words(text: str) -> list[str]:
    """Return the words of a text without the speakers' names."""
    return re.findall(r"\w+", re.sub(r"#?\bPerson\d\b#?:?", "", text).lower())


def rouge_l(reference: list[str], told: list[str]) -> tuple[float, float]:
    """Return recall and F1 of the longest common subsequence."""
    row = [0] * (len(told) + 1)
    for word in reference:
        previous = row
        row = [0]
        for i, other in enumerate(told):
            row.append(previous[i] + 1 if word == other else max(previous[i + 1], row[i]))
    recall, precision = row[-1] / (len(reference) or 1), row[-1] / (len(told) or 1)
    return recall, 2 * recall * precision / ((recall + precision) or 1)


def halves(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows by the half they belong to, in the order of the file."""
    order = list(range(len(rows)))
    Random(SEED).shuffle(order)
    chosen = set(order[: len(rows) // 2])
    return {
        "weights chosen on": [row for i, row in enumerate(rows) if i in chosen],
        "checked on": [row for i, row in enumerate(rows) if i not in chosen],
        "all": rows,
    }


def told_by(messages: list[WindowMessage]) -> dict[str, list[str]]:
    """Return the lines of each way to summarize."""
    return {
        "built-in": lines(summarize_messages(messages, BOUND, count)),
        "first sentences": first_sentences(messages),
    }


def ranges(messages: list[WindowMessage]) -> Iterator[tuple[int, int, float]]:
    """Yield ``(tokens of the messages, tokens of the summary, seconds)`` per range of the token table."""
    summarizer, table = BuiltinSummarizer(count), TokenTable()
    source = WindowSource(topic="benchmark", partition=0, first_offset=0, last_offset=0)
    for message in messages:
        table = add(table, [message_tokens(message.role, message.content, count)])
        while (plan := due(table, THRESHOLD)) is not None and not plan.roll_up:
            part = tuple(messages[plan.from_index : plan.to_index + 1])
            request = SummaryRequest(
                request_id="request",
                conversation_id="benchmark",
                user_id="benchmark",
                from_index=plan.from_index,
                to_index=plan.to_index,
                messages=part,
                tokens=plan.tokens,
                threshold=THRESHOLD,
                source=source,
                arrived_at=_BEGAN,
            )
            started = time.perf_counter()
            summary = asyncio.run(summarizer.summarize(request)).summary
            seconds = time.perf_counter() - started
            tokens = summary_tokens(summary, count)
            yield sum(table.counts[: len(part)]), tokens, seconds
            # Each summary alone, so that every range starts from the same context.
            table = TokenTable(accept(opened(table, plan, "request", 0.0), "request", "s", 0).from_index)


def requests_at_threshold_one(messages: list[WindowMessage]) -> int:
    """Return how many summaries a conversation asks for if every token is too many."""
    table, contents, asked = TokenTable(), dict[str, SessionSummary](), 0
    for message in messages:
        table = add(table, [message_tokens(message.role, message.content, count)])
        while (plan := due(table, 1)) is not None:
            asked += 1
            if plan.roll_up:
                summary = roll_up([contents[name] for name in plan.replaces], SMALLEST, count)
            else:
                summary = summarize_messages(messages[plan.from_index : plan.to_index + 1], SMALLEST, count)
            contents[f"s{asked}"] = summary
            tokens = summary_tokens(summary, count)
            table = accept(opened(table, plan, f"s{asked}", 0.0), f"s{asked}", f"s{asked}", tokens)
    return asked


def milliseconds(contents: list[str]) -> float:
    """Return the CPU time of a summary of what two people said in turn; the best of three."""
    said = "\n".join(f"#{'AB'[i % 2]}#: {content}" for i, content in enumerate(contents))
    messages, taken = read_dialogue(said), list[float]()
    for _ in range(3):
        started = time.thread_time()
        summarize_messages(messages, BOUND, count)
        taken.append((time.thread_time() - started) * 1e3)
    return min(taken)


def measure_length() -> None:
    """Print what a very long message takes, and talks of twice as many to-dos."""
    long = " ".join(f"The tram number {i} goes to the old harbour in the evening." for i in range(4800))
    print(f"a message of {count(long)} tokens of near-identical sentences: {milliseconds([long]):.0f} ms")
    for many in (400, 800):
        to_dos = [f"I need to buy the milk number {i} at {i % 12 + 1}:30 today." for i in range(many)]
        print(f"a talk of {many} to-dos: {milliseconds(to_dos):.0f} ms")


def main(arguments: list[str]) -> int:
    """Print the table."""
    path = Path(arguments[0] if arguments else "") / FILE
    if not arguments or not path.is_file():
        print(
            f"usage: python -m benchmarks.quality.summaries FOLDER   (with {FILE})",
            file=sys.stderr,
        )
        return 2
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    print(f"{len(rows)} dialogues, summaries of at most {BOUND} tokens: ROUGE-L recall / F1")
    for half, part in halves(rows).items():
        scores: dict[str, list[tuple[float, float]]] = {}
        for row in part:
            reference = words(row["summary"])
            for name, told in told_by(read_dialogue(row["dialogue"])).items():
                scores.setdefault(name, []).append(rouge_l(reference, words(" ".join(told))))
        print(f"  {half} ({len(part)})")
        for name, values in scores.items():
            print(f"    {name:16} {fmean(a for a, _ in values):.3f} / {fmean(b for _, b in values):.3f}")
    print(f"    {'before':16} {BEFORE[0]:.3f} / {BEFORE[1]:.3f}")
    conversation: list[WindowMessage] = []
    for row in rows:
        conversation += read_dialogue(row["dialogue"], start=len(conversation))
    cut = list(ranges(conversation))
    kept = sum(after for _, after, _ in cut) / sum(before for before, _, _ in cut)
    print(f"{len(cut)} ranges above {THRESHOLD} tokens: {1 - kept:.1%} less (seed 004: 93 to 95 %)")
    print(
        f"  summary {fmean(after for _, after, _ in cut):.0f} tokens, {fmean(s for *_, s in cut) * 1e3:.1f} ms"
    )
    print(f"40 messages at a threshold of one token ask {requests_at_threshold_one(conversation[:40])} times")
    measure_length()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
