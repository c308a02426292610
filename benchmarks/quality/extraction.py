"""How much the built-in extractor finds, and whether its slots carry a change of mind.

``python -m benchmarks.quality.extraction FOLDER [--misses] [--lost] [--show N] [--json FILE]``.

*Recall*: each conversation of CarMem (``carmem-dev.jsonl``) reveals one preference.  It counts as found when
a statement mentions the revealed attribute: at least half of its words (of its topic's words where the
attribute is only "Yes", "No" or the like), compared by their first five letters; "AC" and "Wi-Fi" are words,
``strict`` leaves out those of two letters.  Printed for all people, and for every other one, whose words
were not looked at.

*Maintenance*: what a person says later about that preference (the same, no longer, another) must do to a fact
of the conversation, through the facts stage: give it more evidence; end or contradict it; supersede it.  Of all
conversations, and of those where the preference was found and the later words state anything.  What is only
asked for once ("find me ...") ends nothing that was told, by design: so it is also printed how often what was
held holds no longer, in any way, after something else was told or set.

``--misses`` lists what was not found, ``--lost`` the changes of mind that changed nothing.  ``--show N`` prints
N statements of each set that is there (also ``locomo-dev.json``, one speaker as the user, and
``beam-dev.jsonl``), for precision is judged by reading.
Exits 2 without the file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from models.facts import Fact, FactStatus
from models.messages import Role
from models.statements import Statement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.reading import read_window
from processors.facts.candidates import objection, to_candidate
from processors.facts.confidence import PASSIVE_FROM
from streams.agents.memory.facts import FACTS, Facts
from streams.runtime.testing import StageHarness
from streams.settings import Settings

FILE, LOCOMO, BEAM = "carmem-dev.jsonl", "locomo-dev.json", "beam-dev.jsonl"
STEM = 5
WINDOW = 10
STOPWORDS = frozenset(
    (
        *("the", "and", "for", "not", "with", "only", "from", "yes", "first", "degree", "celcius", "price"),
        *("preference", "preferred", "preferences", "favorite", "type", "need", "willingness", "relevant"),
        "considers",
    )
)
QUESTIONS = {
    "equal": "question_equal_preference",
    "negate": "question_negate_preference",
    "different": "question_different_preference",
}
_BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
Turns = list[tuple[Role, str]]


def window(name: str, turns: Turns, began: datetime = _BEGAN) -> Window:
    """One window over all of these turns."""
    messages = tuple(
        WindowMessage(
            message_id=f"{name}-{n}",
            user_id="person",
            role=role,
            content=content,
            sent_at=began + timedelta(minutes=n),
            arrived_at=began + timedelta(minutes=n),
            index=n,
            offset=n,
        )
        for n, (role, content) in enumerate(turns)
    )
    return Window(
        window_id=name,
        conversation_id=name,
        user_id="person",
        reason=WindowReason.CLOSED,
        message_ids=tuple(message.message_id for message in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(topic="dialogue", partition=0, first_offset=0, last_offset=len(messages) - 1),
    )


def turns(conversation: dict[str, Any]) -> Turns:
    """The turns of a CarMem conversation."""
    return [
        (Role.USER if speaker == "USER" else Role.ASSISTANT, text)
        for turn in conversation["extraction_conversation"]
        for speaker, text in turn.items()
    ]


def stems(text: str, *, strict: bool) -> set[str]:
    """The words that count, cut to a stem."""
    text = re.sub(r"\(.*?\)", "", text)
    if not strict:
        text = re.sub(r"\b(\w{1,2})-(\w{1,2})\b", r"\1\2", text)
    return {
        word.casefold()[:STEM]
        for word in re.findall(r"[A-Za-z0-9]+", text)
        if word.casefold() not in STOPWORDS
        and (len(word) > 2 or word.isdigit() or (len(word) == 2 and word.isupper() and not strict))
    }


def is_found(preference: str, statements: list[Statement], *, strict: bool = False) -> bool:
    """Whether one of the statements mentions what "main; sub; detail; attribute" reveals."""
    *_, detail, attribute = (part.strip() for part in preference.split(";"))
    wanted = stems(attribute, strict=strict) or stems(detail, strict=strict)
    return any(len(wanted & stems(found.statement, strict=strict)) * 2 >= len(wanted) for found in statements)


def maintained(kind: str, before: Window, statements: list[Statement], later: Window) -> tuple[bool, bool]:
    """Whether what was said later does to a fact of the conversation what ``kind`` wants, in its stage, and
    whether one holds no longer.
    """
    harness = StageHarness(Facts(Settings()).stage())
    known = {fact.fact_id: fact for fact in _learn(harness, before, statements)}
    changed = _learn(harness, later, read_window(later))
    now = [fact for fact in changed if fact.fact_id in known]
    right = any(_is_wanted(kind, known[fact.fact_id], fact) for fact in now)
    return right, any(fact.status is not FactStatus.ACTIVE for fact in now)


def _learn(harness: StageHarness, said: Window, statements: list[Statement]) -> list[Fact]:
    """Feed the candidates of a window; return the facts that changed."""
    taken = [each for each in statements if objection(each, said) is None]
    harness.outputs.clear()
    for each in taken:
        harness.feed(harness.record(to_candidate(each, said, "rules")))
    return harness.values(FACTS, Fact)


def _is_wanted(kind: str, old: Fact, new: Fact) -> bool:
    if kind == "different":
        return new.status is FactStatus.SUPERSEDED
    if kind == "negate":
        return new.status in (FactStatus.ENDED, FactStatus.CONTRADICTED)
    return new.status is FactStatus.ACTIVE and new.evidence_count > old.evidence_count


def show_lost(kind: str, statements: list[Statement], later: Window) -> None:
    """Print a change of mind that met no slot."""
    print(f"## {kind}: {later.messages[0].content}")
    for name, of in (("had", statements), ("got", read_window(later))):
        for each in of:
            slot = f"{each.attribute} = {each.value} ({each.polarity}, {each.assertion}, {each.confidence})"
            print(f"   {name}: {each.statement}   [{slot}]")


def measure(people: list[dict[str, Any]], *, list_misses: bool, list_lost: bool) -> dict[str, Any]:
    """Read all conversations; print what is asked for, and return the figures."""
    found: dict[str, list[bool]] = defaultdict(list)
    kept: dict[str, list[bool]] = defaultdict(list)
    met: dict[str, list[bool]] = defaultdict(list)
    surely: dict[str, list[bool]] = defaultdict(list)
    count = windows = 0
    started = time.process_time()
    for n, person in enumerate(people):
        for each in person["data"]:
            before = window("before", turns(each))
            statements = read_window(before)
            count, windows = count + len(statements), windows + 1
            hit = is_found(each["user_preference"], statements)
            strict = is_found(each["user_preference"], statements, strict=True)
            strength = each["meta_info"]["preference_strength_modulation"]
            for name in ("all", f"people {'not ' if n % 2 else ''}looked at", strength):
                found[name].append(hit)
                found[f"{name}, strict"].append(strict)
            for kind, question in QUESTIONS.items():
                said = [(Role.USER, each["maintenance_questions"][question])]
                later = window("after", said, _BEGAN + timedelta(days=30))
                right, ended = maintained(kind, before, statements, later)
                kept[kind].append(right)
                told = [each for each in read_window(later) if each.confidence >= PASSIVE_FROM]
                if hit and told and kind != "equal":
                    surely[kind].append(ended)
                if list_lost and hit and not right:
                    show_lost(kind, statements, later)
                if hit and read_window(later):
                    met[kind].append(right)
            if list_misses and not hit:
                print(f"## {each['user_preference']}")
                print("\n".join(f"   {role[0]} {text}" for role, text in turns(each)))
                print("\n".join(f"   -> {statement.statement}" for statement in statements))
    seconds = time.process_time() - started

    def share(of: dict[str, list[bool]]) -> dict[str, Any]:
        return {name: {"share": sum(hits) / max(1, len(hits)), "of": len(hits)} for name, hits in of.items()}

    return {
        "recall": share(found),
        "maintenance": share(kept),
        "maintenance, both read": share(met),
        "told or set, holds no longer": share(surely),
        "statements per conversation": count / windows,
        "windows per second of CPU": windows * (1 + len(QUESTIONS)) / seconds,
    }


def table(figures: dict[str, Any]) -> str:
    """Return the figures for people."""
    lines = []
    for name, found in figures.items():
        if isinstance(found, dict):
            lines += [
                f"{name:29} {what:34} {each['share']:.3f} of {each['of']}" for what, each in found.items()
            ]
        else:
            lines.append(f"{name:29} {found:.2f}")
    return "\n".join(lines)


# --- statements to read ------------------------------------------------------------------------------------


def carmem_windows(path: Path) -> Iterator[Window]:
    """A window for each conversation."""
    for line in path.read_text(encoding="utf-8").splitlines():
        for each in json.loads(line)["data"]:
            yield window("carmem", turns(each))


def locomo_windows(path: Path) -> Iterator[Window]:
    """Windows of ten turns of each dated session; the first speaker is the user."""
    for each in json.loads(path.read_text(encoding="utf-8")):
        talk = each["conversation"]
        for name, session in talk.items():
            if not re.fullmatch(r"session_\d+", name):
                continue
            began = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            said = [
                (Role.USER if turn["speaker"] == talk["speaker_a"] else Role.ASSISTANT, turn["text"])
                for turn in session
            ]
            for at in range(0, len(said), WINDOW):
                yield window("locomo", said[at : at + WINDOW], began)


def beam_windows(path: Path) -> Iterator[Window]:
    """Windows of ten messages."""
    for line in path.read_text(encoding="utf-8").splitlines():
        said = [(Role(each["role"]), each["content"]) for each in json.loads(line)["messages"]]
        for at in range(0, len(said), WINDOW):
            yield window("beam", said[at : at + WINDOW])


def show(folder: Path, count: int) -> None:
    """Print a random ``count`` of the statements of each set."""
    for file, windows in ((FILE, carmem_windows), (LOCOMO, locomo_windows), (BEAM, beam_windows)):
        if not (folder / file).is_file():
            print(f"left out: no {file} in {folder}")
            continue
        found = [statement for each in windows(folder / file) for statement in read_window(each)]
        print(f"== {file}: {len(found)} statements")
        for each in random.Random(0).sample(found, min(count, len(found))):
            slot = f"{each.subject} {each.attribute or '-'} = {each.value or '-'}"
            quote = " ".join(each.quote.split())[:200]
            print(f"{each.statement}\n    {slot} ({each.polarity}, {each.assertion})\n    {quote}")


def main(arguments: list[str]) -> int:
    """Read the folder and measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.extraction")
    parser.add_argument("folder", type=Path, help=f"holds {FILE}")
    parser.add_argument("--misses", action="store_true", help="list what was not found")
    parser.add_argument("--lost", action="store_true", help="list the changes of mind that changed nothing")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print N statements of each set instead"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    chosen = parser.parse_args(arguments)
    path = chosen.folder / FILE
    if not path.is_file():
        print(f"{chosen.folder} holds no {FILE}", file=sys.stderr)
        return 2
    if chosen.show:
        show(chosen.folder, chosen.show)
        return 0
    people = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    figures = measure(people, list_misses=chosen.misses, list_lost=chosen.lost)
    print(table(figures))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
