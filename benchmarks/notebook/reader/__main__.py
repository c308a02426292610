"""Train the reader model, which decides what is kept: ``python -m benchmarks.notebook.reader [--fold N]``.

Trained on ``people/``, ``kinds/``, ``chats*.jsonl``, ``notes.jsonl``, ``plain_notes.txt``, ``not_notes.jsonl``,
``small_talk.txt`` and ``acts.jsonl``.  ``dev/`` and ``chats_unseen.jsonl`` are looked at,
``unseen/`` not even that.  With ``--fold`` a fifth is left out and looked at, and nothing is written.
Needs the extra ``training``; about 15 minutes on two cores.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Sequence

import numpy as np

from benchmarks.notebook.labels import HERE, Labelled, chats, labelled_chat, people
from benchmarks.notebook.offline import table, units_kept
from benchmarks.notebook.reader.encoder import Encoder
from benchmarks.notebook.reader.export import write
from benchmarks.notebook.reader.samples import Sample, known, of_people, told
from benchmarks.notebook.reader.training import averaged, fit, readings
from models.readings import ACTS, KINDS
from processors.extraction.keeper import MODEL_FILE

_FOLDS = 5


def main() -> None:
    """Fit, print, and write the model unless a fold was left out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fold", type=int, help=f"number of the part that is left out, 0 to {_FOLDS - 1}")
    parser.add_argument("--seeds", type=int, default=2, help="models that are fitted and averaged")
    parser.add_argument("--unseen", action="store_true", help="look at unseen/ as well, which chooses nothing")
    asked = parser.parse_args()
    samples = known()
    left = [each for each in samples if asked.fold is not None and _fold(each.group) == asked.fold]
    known_ones = [each for each in samples if asked.fold is None or _fold(each.group) != asked.fold]
    model = averaged([fit(known_ones, seed) for seed in range(asked.seeds)])
    if asked.fold is None:
        write(model)
        print(f"written: {MODEL_FILE}")
    else:
        _report_left_out(model, left, asked.fold)
    for folder in ("dev", "unseen") if asked.unseen else ("dev",):
        _report_people(model, folder, [*of_people(folder)])
    marked = [each for chat in chats(HERE / "chats_unseen.jsonl") for each in labelled_chat(chat)]
    print("chats_unseen.jsonl\n" + units_kept(marked, _kept(model, marked)))


def _fold(group: str) -> int:
    return zlib.crc32(group.encode()) % _FOLDS


def _report_left_out(model: Encoder, left: Sequence[Sample], fold: int) -> None:
    here = [each for each in told() if _fold(each.group) == fold]
    _report_people(
        model, "people", [each for each in here if not each.group.startswith(("notes-", "not_notes-"))]
    )
    for path in (each for each in sorted(HERE.glob("chats*.jsonl")) if each.stem != "chats_unseen"):
        marked = [each for chat in chats(path) if _fold(chat["person"]) == fold for each in labelled_chat(chat)]
        print(f"{path.name}, left out\n" + units_kept(marked, _kept(model, marked)))
    written = [each for each in left if each.group.startswith("acts-")]
    found = [int(np.argmax(each.acts)) for each in readings(model, [each.sentence for each in written])]
    for number, act in enumerate(ACTS):
        right = sum(guess == number == each.act for guess, each in zip(found, written, strict=True))
        precision, recall = (
            right / max(1, found.count(number)),
            right / max(1, sum(e.act == number for e in written)),
        )
        print(f"  {act.value:10} precision {precision:.2f} recall {recall:.2f}")


def _report_people(model: Encoder, folder: str, units: Sequence[Labelled]) -> None:
    found = readings(model, [each.unit.sentence for each in units])
    chances = {
        (each.group, each.unit.message.message_id, each.unit.number): 1 - reading.levels[0]
        for each, reading in zip(units, found, strict=True)
    }
    names = {each.group for each in units}
    print(f"{folder}/\n" + table([each for each in people(HERE / folder) if each["person"] in names], chances))
    kinds = [
        KINDS[int(np.argmax(reading.kinds))] == each.kind
        for each, reading in zip(units, found, strict=True)
        if each.keep and each.kind
    ]
    print(f"  kinds: {np.mean(kinds):.3f} of {len(kinds)} are right")


def _kept(model: Encoder, units: Sequence[Labelled]) -> list[float]:
    return [1 - each.levels[0] for each in readings(model, [each.unit.sentence for each in units])]


if __name__ == "__main__":
    main()
