"""What search finds for all questions of the sets, before it is ranked; kept in a folder from run to run.

Weights are fitted to it, and filling a memory and asking it takes minutes.  What is kept is of one state of the
sets and of the code that fills and searches; in another state all of it is found anew.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

import benchmarks
from benchmarks.quality.recall import fitting
from benchmarks.quality.recall.memory import Memory, opened
from benchmarks.quality.recall.sets import SETS, Asked, Person, load
from processors.recall.features import Candidate
from processors.recall.question import Question
from streams.search import Wanted

_ROOT = Path(benchmarks.__file__).parent.parent
_CODE = ("models", "processors", "streams")
#: What comes after the search: it may be changed, and what was found stays.
_RANKS = {
    Path("processors/recall", f"{name}.py")
    for name in ("answering", "feature_weights", "features", "ordering", "ranking", "rarity", "signs")
}
_OURS = ("gathering", "memory", "sets")

#: Of a candidate its number among the person's, its cosine, and whether it is tied to whom the question names.
Row = tuple[int, float | None, bool]


class Kept(msgspec.Struct, array_like=True):
    """What was found for one person's questions; a candidate that several found stands there once."""

    person: str
    candidates: list[Candidate]
    questions: list[tuple[Asked, Question, list[Row]]]


async def of_person(memory: Memory, person: Person) -> Kept:
    """Ask everything about a person whom the memory knows."""
    numbers: dict[Candidate, int] = {}
    questions = []
    for asked in person.questions:
        found = await memory.search.gather(Wanted(query=asked.query, user_id=person.name))
        rows: list[Row] = []
        for each in found.candidates:
            alone = msgspec.structs.replace(each, cosine=None, tied=False)
            rows.append((numbers.setdefault(alone, len(numbers)), each.cosine, each.tied))
        questions.append((asked, found.question, rows))
    return Kept(person.name, [*numbers], questions)


def cases(set_: str, kept: Kept) -> list[fitting.Case]:
    """Return the cases of a person."""
    return [
        fitting.case(
            set_,
            kept.person,
            asked,
            question,
            [
                msgspec.structs.replace(kept.candidates[number], cosine=cosine, tied=tied)
                for number, cosine, tied in rows
            ],
        )
        for asked, question, rows in kept.questions
    ]


async def gathered(folder: Path, names: Iterable[str], cache: Path | None, sample: int) -> list[fitting.Case]:
    """Return the cases of all sets, of the first ``sample`` people of each; 0: of all."""
    found: list[fitting.Case] = []
    for name, people in load(folder, names).items():
        people = people[: sample or None]
        began = time.perf_counter()
        kept = _stored(cache, folder, name, people)
        if kept is None:
            kept = await _asked(name, people, cache)
            _store(cache, folder, name, people, kept)
        for each in kept:
            found += cases(name, each)
        _say(f"{name}: {sum(len(each.questions) for each in kept)} questions", began)
    return found


async def _asked(name: str, people: Sequence[Person], cache: Path | None) -> list[Kept]:
    kept = []
    with tempfile.TemporaryDirectory(prefix="switchboard-recall-") as place:
        async with opened(Path(place), None if cache is None else cache / "vectors.npz") as memory:
            for person in people:
                began = time.perf_counter()
                await memory.remember(person.messages)
                kept.append(await of_person(memory, person))
                _say(f"  {name}, {person.name}: {len(person.messages)} messages", began)
    return kept


def _say(text: str, began: float) -> None:
    print(f"{text}, {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


def _place(cache: Path, folder: Path, name: str, people: Sequence[Person]) -> Path:
    state = hashlib.sha256((folder / SETS[name][0]).read_bytes())
    for path in _sources():
        state.update(path.as_posix().encode() + b"\0" + (_ROOT / path).read_bytes())
    return cache / f"{name}-{len(people)}-{state.hexdigest()[:16]}.msgpack"


def _sources() -> Iterator[Path]:
    for part in _CODE:
        paths = (path.relative_to(_ROOT) for path in sorted((_ROOT / part).rglob("*.py")))
        yield from (path for path in paths if path not in _RANKS)
    yield from (Path("benchmarks/quality/recall", f"{name}.py") for name in _OURS)


def _stored(cache: Path | None, folder: Path, name: str, people: Sequence[Person]) -> list[Kept] | None:
    path = None if cache is None else _place(cache, folder, name, people)
    return msgspec.msgpack.decode(path.read_bytes(), type=list[Kept]) if path and path.is_file() else None


def _store(cache: Path | None, folder: Path, name: str, people: Sequence[Person], kept: list[Kept]) -> None:
    if cache is None:
        return
    path = _place(cache, folder, name, people)
    for old in cache.glob(f"{name}-{len(people)}-*.msgpack"):
        old.unlink()
    cache.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".half")
    half.write_bytes(msgspec.msgpack.encode(kept))
    half.replace(path)
