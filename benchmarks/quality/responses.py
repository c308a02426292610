"""Changes of the response filter to real answers, and the repetitions that it misses.

``python -m benchmarks.quality.responses FOLDER`` reads ``beam-dev.jsonl`` (``messages`` with ``role`` and
``content``) and takes the assistant's answers.

* As they are: answers that lose anything, and structure (list items, labels, headings, rows) among it.
* Said again: the whole answer; a paragraph, a heading with its list, or a sentence, somewhere below where it
  was said first; streamed at 30 tokens a second in random pieces.  Which share of the repeated characters goes,
  and which share of the others.  Not where it would become another thing: under a heading or a line that ends
  in ":", or before an item, whose list it would begin.
* Different: pairs of sentences that differ in one thing that matters (:mod:`benchmarks.quality.different`),
  side by side, apart and in lists; from how many of them anything goes.
* Waiting: on the answers as they are, how long characters wait, and the CPU time of a piece.
* Rates: doubled answers that give the same text at 15, 30, 60 and 200 tokens a second.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.quality import different
from processors.responses.canonical import canonical
from processors.responses.duplicates import words_of
from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import Duplicate, FilterState
from processors.responses.history import key, sentences_of
from streams.server.process.life import tune_garbage_collection

FILE = "beam-dev.jsonl"
_TOKEN = re.compile(r"[ \t]?\w{1,9}|[ \t]?[^\w\s]{1,3}|\s+")
DIFFERENT_PAIRS = 200
_PIECE_TOKENS = (1, 2, 3, 5, 8)
#: A block that begins with none of a list's marks; a line that leads on, with or without a rule below.
_FOLLOWS = r"(?![ \t]|[-*+] |\d+[.)] )"
_LEADS = re.compile(r"^(?:#.*|.*:[*_ ]*|\*\*[^.\n]*\*\*)$(?:\s*^-{3,}$)*\s*\Z", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class Streamed(NamedTuple):
    """A streamed answer: what a reader sees, what went, how long each visible character waited (seconds), and
    the CPU time of each piece (seconds)."""

    text: str
    taken: list[Duplicate]
    waits: list[float]
    pieces: list[float]


def stream(text: str, rate: float, pick: random.Random) -> Streamed:
    """Stream ``text`` at ``rate`` tokens a second in random pieces, with a clock that wakes the filter."""
    tokens, at, now = _TOKEN.findall(text), 0, 0.0
    response_filter, state = ResponseFilter(), FilterState()
    came: list[float] = []
    taken: list[Duplicate] = []
    waits: list[float] = []
    pieces: list[float] = []
    out = ""
    while at < len(tokens):
        size = pick.choice(_PIECE_TOKENS)
        piece, at = "".join(tokens[at : at + size]), at + size
        now += size / rate
        while (due := response_filter.wake_at(state)) is not None and due <= now:
            step = response_filter.tick(state, due)
            state, out = step.state, out + step.text
            taken += step.duplicates
            waits += [due - arrived for arrived in came[len(waits) : len(out)]]
        came += [now] * len(piece)
        began = time.thread_time()
        step = response_filter.push(state, piece, now, final=at >= len(tokens))
        pieces.append(time.thread_time() - began)
        state, out = step.state, out + step.text
        taken += step.duplicates
        waits += [now - arrived for arrived in came[len(waits) : len(out)]]
    return Streamed(out, [each for each in taken if not each.kept], waits, pieces)


def read_answers(path: Path) -> list[str]:
    """Return the assistant's answers."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [each["content"] for row in rows for each in row["messages"] if each["role"] == "assistant"]


def visible(text: str) -> int:
    """Return how many characters of ``text`` are not white space."""
    return sum(not character.isspace() for character in text)


def without_code(text: str) -> str:
    """Return ``text`` without its blocks of code."""
    return re.sub(r"(?ms)^\s*```.*?^\s*```", "\n\n", text)


def paragraph(text: str, pick: random.Random) -> str:
    """Return a paragraph of ``text``, or "" if there is none."""
    found = [
        part for part in re.split(r"\n\s*\n", without_code(text)) if re.match(r"[A-Z][^\n]{60,}[.!]\Z", part)
    ]
    return pick.choice(found) if found else ""


def section(text: str, pick: random.Random) -> str:
    """Return a heading of ``text`` with the list under it, or ""."""
    found = re.findall(r"(?m)^#{1,6} [^\n]+\n\n?(?:(?:[-*]|\d+\.) [^\n]+\n(?:[ ]+[^\n]+\n)*\n?)+", text + "\n")
    whole = [each.strip() for each in found if each.count("```") % 2 == 0]
    return pick.choice(whole) if whole else ""


def sentence(text: str, pick: random.Random) -> str:
    """Return a sentence of five words or more, or ""."""
    prose = [part for part in re.split(r"\n\s*\n", without_code(text)) if re.match(r"[A-Z][^\n:]+[.!]\Z", part)]
    found = [each for part in prose for each in _SENTENCE.split(part) if len(each.split()) >= 5]
    return pick.choice(found) if found else ""


def again(text: str, part: str, pick: random.Random) -> tuple[str, int]:
    """Return ``text`` with ``part`` said again between two blocks below, and where that begins."""
    first = text.index(part) + len(part)
    fences = [found.start() for found in re.finditer(r"(?m)^\s*```", text)]
    ends = [
        found.end()
        for found in re.finditer(r"\n\n", text)
        if found.start() >= first
        and sum(fence < found.start() for fence in fences) % 2 == 0
        and re.match(_FOLLOWS, text[found.end() :])
        and not _LEADS.search(text, 0, found.start())
    ]
    at = pick.choice(ends) if ends else len(text)
    before = text[:at] if ends else f"{text.rstrip()}\n\n"
    return f"{before}{part}\n\n{text[at:]}", len(before)


def measure_as_they_are(answers: list[str], show: int) -> None:
    """Print what answers lose that are passed on as they are."""
    losing, structure, shown = 0, 0, 0
    for text in answers:
        gone = [each for each in filter_text(text).duplicates if not each.kept]
        losing += bool(gone)
        structure += sum(
            re.match(r"\s*(?:[-*+#|]|\d+[.)]|[^.\n]{1,40}:)", each.sentence) is not None for each in gone
        )
        for each in gone[: show - shown]:
            print(f"    {each.sentence[:150]!r}\n      repeats {each.similar[:150]!r}")
            shown += 1
    print(
        f"  as they are: {losing} of {len(answers)} lose anything ({losing / len(answers):.2%}); "
        f"{structure} items"
    )


def measure_again(
    name: str,
    answers: list[str],
    choose: Callable[[str, random.Random], str],
    show: int,
) -> None:
    """Print which share of what is said again goes, and which share of the rest."""
    pick = random.Random(1)
    repeated = removed = others = wrong = cases = shown = 0
    for text in answers:
        part = choose(text, pick)
        if not part:
            continue
        if part == text:
            whole, at = f"{text.rstrip()}\n\n{text}", len(text.rstrip()) + 2
        else:
            whole, at = again(text, part, pick)
        alone = filter_text(text)
        usual, own = alone.text, {each.sentence for each in alone.duplicates}
        result = stream(whole, 30.0, pick)
        stays = max(0, visible(result.text) - visible(usual))
        cases, repeated = cases + 1, repeated + visible(part)
        removed += max(0, visible(part) - stays)
        others += visible(whole) - visible(part)
        wrong += sum(
            visible(each.sentence)
            for each in result.taken
            if not at <= each.position < at + len(part) and each.sentence not in own
        )
        if stays > 0.2 * visible(part) and shown < show:
            print(f"    stays: {part[:300]!r}\n      of {whole[max(0, at - 80) : at]!r}")
            shown += 1
    print(
        f"  {name} said again: {removed / repeated:.3f} of the repeated characters go, "
        f"{wrong / others:.5f} of the others ({cases} cases)"
    )


def measure_different(answers: list[str], show: int) -> None:
    """Print from how many pairs that differ in one thing that matters something goes."""
    pick = random.Random(4)
    said = [sentence(text, pick) for text in answers] + [sentence(text, pick) for text in answers]
    pairs = list(different.from_frames())
    pairs += different.from_sentences(filter(None, said), DIFFERENT_PAIRS - len(pairs), pick)
    lost = []
    for pair in pairs:
        a, b = pair.first, pair.second
        texts = (f"{a} {b}", f"{b}\n\n{a}", f"Note well:\n\n- {a}\n\nNote well:\n\n- {b}\n")
        if any(filter_text(text).text != text for text in texts):
            lost.append(pair)
    for pair in lost[:show]:
        print(f"    {pair}")
    languages, rules = {pair.language for pair in pairs}, {pair.rule for pair in pairs}
    print(
        f"  different: {len(lost)} of {len(pairs)} pairs lose anything ({len(rules)} rules, {len(languages)} "
        "languages)"
    )


def measure_waiting(answers: list[str]) -> None:
    """Print how long characters wait and what a piece costs, with the garbage collector as workers have it.

    The worst piece is the worse of two runs at its better one: a machine that others use stops for
    milliseconds now and then, never twice at the same piece.
    """
    gc.collect()
    tune_garbage_collection()
    runs, waits = [], list[float]()
    for _ in range(2):
        pick, pieces = random.Random(2), list[float]()
        for cached in (canonical, key, sentences_of, words_of):
            cached.cache_clear()
        for text in answers:
            result = stream(text, 30.0, pick)
            waits += result.waits
            pieces += result.pieces
        runs.append(pieces)
    waited, cost = np.array(waits), np.array(runs)
    print(
        f"  waiting: {(waited > 0.1).mean():.2%} of the characters wait longer than 100 ms, "
        f"{waited.mean() * 1e3:.1f} ms on average; {cost.mean() * 1e6:.0f} us of CPU time a piece, "
        f"at most {cost.min(axis=0).max() * 1e3:.1f} ms (in one run {cost.max() * 1e3:.1f} ms)"
    )


def measure_rates(answers: list[str]) -> None:
    """Print how often a doubled answer is the same at every rate."""
    same = 0
    for text in answers:
        whole = f"{text.rstrip()}\n\n{text}"
        same += len({stream(whole, rate, random.Random(3)).text for rate in (15.0, 30.0, 60.0, 200.0)}) == 1
    print(
        f"  rates: {same / len(answers):.1%} of the doubled answers are the same at 15, 30, 60 and 200 tokens/s"
    )


def main(arguments: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.responses", description=__doc__)
    parser.add_argument("folder", type=Path, help=f"holds {FILE}")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="take every Nth answer only")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N results of each kind to read")
    chosen = parser.parse_args(arguments)
    if not (chosen.folder / FILE).is_file():
        print(f"{chosen.folder} holds no {FILE}", file=sys.stderr)
        return 2
    answers = read_answers(chosen.folder / FILE)[:: chosen.part]
    print(f"{FILE}: {len(answers)} answers")
    measure_as_they_are(answers, chosen.show)
    measure_again("the whole answer", answers, lambda text, _: text, chosen.show)
    measure_again("a paragraph", answers, paragraph, chosen.show)
    measure_again("a heading with its list", answers, section, chosen.show)
    measure_again("a sentence", answers, sentence, chosen.show)
    measure_different(answers, chosen.show)
    measure_waiting(answers)
    measure_rates(answers[::4])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
