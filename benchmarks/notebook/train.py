"""Train the weights of the built-in extractor on Notebook people: ``python -m benchmarks.notebook.train``.

Trained on ``people/``, ``chats.jsonl``, ``notes.jsonl``, ``plain_notes.txt``, ``not_notes.jsonl`` and
``small_talk.txt``; kinds besides on ``kinds/``, whose people do not make the choice of what is kept better.
``dev/`` and ``chats_unseen.jsonl`` are only looked at.  Prints how those fare that no weight was fitted to:
``people/`` and ``chats.jsonl`` left out by fifths, then the two others.  Needs scikit-learn (extra ``dev``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks.notebook.labels import HERE, Labelled, chats, labelled, labelled_chat, people, single
from benchmarks.notebook.offline import table, units_kept
from processors.extraction.features import NAMES, surface, texts
from processors.extraction.keeper import KINDS, WEIGHTS
from streams.llm.onnx_embedder import OnnxEmbedder

Floats = NDArray[np.float32]

#: Single sentences that are no notes are denser with traps than chat is.
_WEIGHT_OF_SINGLES = 0.5
#: The chats have twice as many sentences as the people, and far fewer notes: with their full weight
#: people who tell much are forgotten.
_WEIGHT_OF_CHATS = 0.15
#: Inverse of the regularization, of what is kept and of its kind.
_STRENGTH, _STRENGTH_OF_KINDS = 0.2, 1.0
_FOLDS = 5

#: Questions of an assistant that ask for nothing in particular.
_ASKED = (
    "Anything else?",
    "How can I help you today?",
    "What would you like to do next?",
    "Shall I go on?",
    "Does that help?",
    "Is there anything else on your mind?",
    "Do you want another example?",
)


def examples() -> list[Labelled]:
    """Return every labelled unit that is trained on, and those that nobody can label."""
    found = [each for person in people(HERE / "people") for each in labelled(person)]
    for name, keep in (("notes", True), ("not_notes", False)):
        for number, line in enumerate((HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            units = single(
                f"{name}-{number % 97}",
                row["text"],
                keep,
                row["kind"] if keep else "",
                row.get("importance", 0),
            )
            own = row.get("own") or []
            found += [
                each
                for each in units
                if not any(each.unit.text in part or part in each.unit.text for part in own)
            ]
    for n, line in enumerate((HERE / "plain_notes.txt").read_text(encoding="utf-8").splitlines()):
        kind, importance, text = line.split(" ", 2)
        found += single(f"notes-{n % 97}", text, True, kind, int(importance))
        if " || " not in text:  # whatever was asked, a plain statement is one
            found += single(
                f"notes-{n % 97}", f"{_ASKED[n % len(_ASKED)]} || {text}", True, kind, int(importance)
            )
    small_talk = (HERE / "small_talk.txt").read_text(encoding="utf-8").splitlines()
    for n, line in enumerate(small_talk):
        found += single(f"not_notes-{n % 97}", line, False)
        if " || " not in line:
            found += single(f"not_notes-{n % 97}", f"{_ASKED[n % len(_ASKED)]} || {line}", False)
    return found


async def _embed(wanted: Sequence[str]) -> Floats:
    embedder = OnnxEmbedder(timeout=3600)
    vectors = await embedder.embed(wanted)
    await embedder.close()
    return vectors


def embedded(wanted: Sequence[str], cache: Path) -> dict[str, Floats]:
    """Return the vector of each text; those found before are kept in ``cache``."""
    known: dict[str, Floats] = {}
    if cache.exists():
        with np.load(cache, allow_pickle=False) as file:
            known = dict(zip(file["texts"].tolist(), file["vectors"].astype(np.float32), strict=True))
    missing = [text for text in dict.fromkeys(wanted) if text not in known]
    if missing:
        known |= zip(missing, asyncio.run(_embed(missing)), strict=True)
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, texts=np.array([*known]), vectors=np.stack([*known.values()]).astype(np.float16))
    return known


def features(units: Sequence[Labelled], vectors: dict[str, Floats]) -> Floats:
    """Return the features of units, a row each."""
    cues = np.stack([surface(each.unit) for each in units])
    rows = np.stack([vectors[text] for text in texts([each.unit for each in units])]).reshape(len(units), -1)
    return np.hstack([cues, rows])


def _fit(x: Floats, y: NDArray[Any], weight: Floats | None = None, strength: float = _STRENGTH) -> Floats:
    model = LogisticRegression(C=strength, max_iter=2000).fit(x, y, sample_weight=weight)
    rows: Floats = np.hstack([model.coef_, model.intercept_[:, np.newaxis]]).astype(np.float32)
    return rows


def _linear(x: Floats, rows: Floats) -> Floats:
    scores: Floats = x @ rows[:, :-1].T + rows[:, -1]
    return scores


def _keep(rows: Floats, x: Floats) -> Floats:
    scores = _linear(x, rows)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    kept: Floats = 1.0 - shares[:, 0] / shares.sum(axis=1)
    return kept


def train(cache: Path) -> None:
    """Fit, print and store."""
    told = examples()
    plain = [each for chat in chats(HERE / "chats.jsonl") for each in labelled_chat(chat)]
    known = [*told, *plain]
    dev = [each for person in people(HERE / "dev") for each in labelled(person)]
    unseen = [each for chat in chats(HERE / "chats_unseen.jsonl") for each in labelled_chat(chat)]
    kinds = [each for person in people(HERE / "kinds") for each in labelled(person)]
    wanted = [text for each in (*known, *dev, *unseen, *kinds) for text in texts([each.unit])]
    vectors = embedded(wanted, cache)
    x, is_labelled = features(known, vectors), np.array([each.keep is not None for each in known])
    classes = np.array([each.importance if each.keep else 0 for each in known])
    single_ones = np.array(
        [each.group.startswith(("notes-", "not_notes-")) and not each.keep for each in known]
    )
    weight = np.where(single_ones, _WEIGHT_OF_SINGLES, 1.0).astype(np.float32)
    weight[len(told) :] = _WEIGHT_OF_CHATS
    groups = np.array([each.group for each in known])
    guessed = np.zeros(len(known), dtype=np.float32)
    for inside, outside in GroupKFold(_FOLDS).split(x, classes, groups):
        inside = inside[is_labelled[inside]]
        guessed[outside] = _keep(_fit(x[inside], classes[inside], weight[inside]), x[outside])
    by_unit = _by_unit(told, guessed[: len(told)])
    print("people/, left out by turns\n" + table(people(HERE / "people"), by_unit))
    print("chats.jsonl, left out by turns\n" + units_kept(plain, guessed[len(told) :]))
    keep = _fit(x[is_labelled], classes[is_labelled], weight[is_labelled])
    print("dev/\n" + table(people(HERE / "dev"), _by_unit(dev, _keep(keep, features(dev, vectors)))))
    print("chats_unseen.jsonl\n" + units_kept(unseen, _keep(keep, features(unseen, vectors))))
    kept = [each for each in (*known, *kinds) if each.keep and each.kind != ""]
    kind = _fit(features(kept, vectors), _kinds(kept), strength=_STRENGTH_OF_KINDS)
    kept_of_dev = [each for each in dev if each.keep and each.kind != ""]
    found = _linear(features(kept_of_dev, vectors), kind).argmax(axis=1)
    print(f"dev/\n  kinds: {np.mean(found == _kinds(kept_of_dev)):.3f} of {len(kept_of_dev)} are right")
    cheap = _fit(x[is_labelled][:, : len(NAMES)], classes[is_labelled] > 0, weight[is_labelled])
    np.savez_compressed(
        WEIGHTS,
        keep=keep.astype(np.float16),
        kind=kind.astype(np.float16),
        cheap=cheap.astype(np.float16),
        names=np.array(NAMES),
    )
    print(f"written: {WEIGHTS}")


def _kinds(kept: Sequence[Labelled]) -> NDArray[Any]:
    order = {kind.value: place for place, kind in enumerate(KINDS)}
    return np.array([order[each.kind] for each in kept])


def _by_unit(units: Sequence[Labelled], probabilities: Floats) -> dict[tuple[str, str, int], float]:
    return {
        (each.group, each.unit.message.message_id, each.unit.number): float(p)
        for each, p in zip(units, probabilities, strict=True)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("build/notebook-vectors.npz"))
    train(parser.parse_args().cache)
