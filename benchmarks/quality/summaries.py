"""Measure the built-in summarizer on DialogSum: ``python -m benchmarks.quality.summaries FOLDER``.

Reads ``dialogsum-dev.jsonl`` (``dialogue``, ``summary``).  A sanity check, not a contest: the references are
written by people in their own words, ours are sentences of the dialogue.  Prints ROUGE-1 and ROUGE-L recall
(Lin 2004) beside the first sentences within the same bound, and the compression of the ranges that the token
table cuts when all dialogues are one long conversation.  Exits 2 if the file is absent.
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
from statistics import fmean

from models.messages import Role
from models.summaries import SessionSummary, SummaryRequest
from models.windows import WindowMessage, WindowSource
from processors.conversations.token_table import TokenTable, accept, add, due, opened
from processors.summaries.building import summary_tokens
from processors.summaries.extractive import summarize_messages
from processors.text.sentences import sentences
from processors.text.tokens import message_tokens
from streams.adapters.builtin_summarizer import BuiltinSummarizer
from streams.adapters.tokenizer import cl100k_counter

FILE = "dialogsum-dev.jsonl"
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
    return re.findall(r"\w+", re.sub(r"#Person\d#", "", text).lower())


def rouge_1(reference: list[str], told: list[str]) -> float:
    """Return the share of the reference's words that are told (types, not tokens)."""
    return len(set(reference) & set(told)) / (len(set(reference)) or 1)


def rouge_l(reference: list[str], told: list[str]) -> float:
    """Return the length of the longest common subsequence as a share of the reference."""
    row = [0] * (len(told) + 1)
    for word in reference:
        previous = row
        row = [0]
        for i, other in enumerate(told):
            row.append(previous[i] + 1 if word == other else max(previous[i + 1], row[i]))
    return row[-1] / (len(reference) or 1)


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
            summary = asyncio.run(summarizer.summarize(request))
            seconds = time.perf_counter() - started
            tokens = summary_tokens(summary, count)
            yield sum(table.counts[: len(part)]), tokens, seconds
            # Each summary alone, so that every range starts from the same context.
            table = TokenTable(
                accept(opened(table, plan, 0.0), "s", plan.from_index, plan.to_index, 0).from_index
            )


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
    scores: dict[str, list[tuple[float, float]]] = {"built-in": [], "first sentences": []}
    conversation: list[WindowMessage] = []
    for row in rows:
        messages = read_dialogue(row["dialogue"])
        conversation += read_dialogue(row["dialogue"], start=len(conversation))
        reference = words(row["summary"])
        for name, told in (
            ("built-in", lines(summarize_messages(messages, BOUND, count))),
            ("first sentences", first_sentences(messages)),
        ):
            found = words(" ".join(told))
            scores[name].append((rouge_1(reference, found), rouge_l(reference, found)))
    print(f"{len(rows)} dialogues, summaries of at most {BOUND} tokens")
    for name, values in scores.items():
        print(
            f"  {name:16} ROUGE-1 {fmean(a for a, _ in values):.3f}   ROUGE-L {fmean(b for _, b in values):.3f}"
        )
    cut = list(ranges(conversation))
    kept = sum(after for _, after, _ in cut) / sum(before for before, _, _ in cut)
    print(f"{len(cut)} ranges above {THRESHOLD} tokens: {1 - kept:.1%} less (seed 004: 93 to 95 %)")
    print(
        f"  summary {fmean(after for _, after, _ in cut):.0f} tokens, {fmean(s for *_, s in cut) * 1e3:.1f} ms"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
