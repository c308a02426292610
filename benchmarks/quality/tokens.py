"""Compare the token counter with tiktoken on a folder's texts: ``python -m benchmarks.quality.tokens FOLDER``.

Reads each ``.json``, ``.jsonl``, ``.csv`` and ``.txt`` file of the folder; a text is a line, and every string
inside the JSON.  Exits 1 if any count differs, 2 if there is nothing to read.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import quicktok
import tiktoken
from tiktoken_ext import openai_public

from streams.llm.tokenizer import cl100k_counter

VOCABULARY_SIZE = 100_256


def tiktoken_counter() -> Callable[[str], int]:
    """Return tiktoken's count over quicktok's vocabulary; tiktoken alone would download its own."""
    source = inspect.getsource(openai_public.cl100k_base)
    pattern = re.search(r'"pat_str": r"""(.+?)""",', source)
    if pattern is None:
        raise SystemExit(
            "this tiktoken keeps the cl100k pattern elsewhere: look into tiktoken_ext.openai_public"
        )
    vocabulary = quicktok.get_encoding("cl100k_base")
    ranks = {vocabulary.decode_single_token_bytes(rank): rank for rank in range(VOCABULARY_SIZE)}
    encoding = tiktoken.Encoding(
        "cl100k_base", pat_str=pattern.group(1), mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def strings(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        yield from strings(list(value.values()))


def texts(path: Path) -> Iterator[str]:
    """Yield the file's lines, and every string of the JSON that it holds."""
    content = path.read_text(encoding="utf-8")
    lines = content.splitlines()
    yield from lines
    if path.suffix == ".json":
        yield from strings(json.loads(content))
    elif path.suffix == ".jsonl":
        for line in lines:
            yield from strings(json.loads(line))


def timed(count: Callable[[str], int], corpus: list[str]) -> tuple[list[int], float]:
    """Return the counts and the texts per second."""
    started = time.perf_counter()
    counts = [count(text) for text in corpus]
    return counts, len(corpus) / (time.perf_counter() - started)


def main(arguments: list[str]) -> int:
    """Print one line per file and a total."""
    folder = Path(arguments[0]) if arguments else Path()
    files = sorted(path for path in folder.glob("*") if path.suffix in {".json", ".jsonl", ".csv", ".txt"})
    if not arguments or not files:
        print(
            "usage: python -m benchmarks.quality.tokens FOLDER   (with .json, .jsonl, .csv or .txt files)",
            file=sys.stderr,
        )
        return 2
    ours, reference = cl100k_counter(), tiktoken_counter()
    total = differing = 0
    print(f"{'file':32} {'texts':>9} {'tokens':>11} {'differ':>7} {'ours/s':>11} {'tiktoken/s':>11}")
    for path in files:
        corpus = list(dict.fromkeys(texts(path)))
        if not corpus:
            continue
        counts, rate = timed(ours, corpus)
        expected, reference_rate = timed(reference, corpus)
        wrong = sum(a != b for a, b in zip(counts, expected, strict=True))
        total, differing = total + len(corpus), differing + wrong
        row = f"{path.name:32} {len(corpus):9,} {sum(counts):11,} {wrong:7,}"
        print(f"{row} {rate:11,.0f} {reference_rate:11,.0f}")
    print(f"{total:,} texts, {differing:,} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
