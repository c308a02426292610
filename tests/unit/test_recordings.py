"""Recorded answers about the Notebook: a strong model's are kept, a weak model's mistakes are not."""

from __future__ import annotations

import json

import pytest

from benchmarks.notebook import beside, recorded
from benchmarks.notebook.labels import HERE, people
from processors.facts.candidates import objection
from processors.prompts import extraction, notes
from streams.llm.onnx_embedder import OnnxEmbedder

RECORDED = dict(recorded.recordings())
MISTAKES = recorded.mistakes()


@pytest.mark.parametrize("name", RECORDED)
def test_a_strong_models_notes_are_kept(name: str) -> None:
    one = RECORDED[name]
    assert recorded.score(one).dropped == 0
    statements = recorded.read(one).statements
    assert [objection(each, one.window) for each in statements] == [None] * len(statements)


#: Of a person read by the recordings: notes kept and ended, at least; facts that are noise, at most.
REPLAYED = {"lou": (26, 13, 0), "mirek": (26, 11, 1)}


@pytest.mark.parametrize("name", REPLAYED)
async def test_replayed_through_the_stages_they_score_no_worse(name: str) -> None:
    (person,) = (each for each in people(HERE / "dev") if each["person"] == name)
    embedder = OnnxEmbedder()
    found = await beside.by_recordings(person, embedder)
    await embedder.close()
    kept, ended, noise = REPLAYED[name]
    assert sum(found[f"kept_{level}"][0] for level in (1, 2, 3)) >= kept
    assert found["ended_told"][0] >= ended
    assert found["noise"][0] <= noise
    assert (found["dropped"], found["missed"]) == ({}, [])


@pytest.mark.parametrize("name", list(MISTAKES["mistakes"]))
def test_a_weak_models_mistakes_are_dropped(name: str) -> None:
    one, said = RECORDED[MISTAKES["conversation"]], MISTAKES["mistakes"][name]
    mistakes = said if isinstance(said, list) else []
    answer = json.dumps({"notes": said}) if isinstance(said, list) else json.dumps(said)
    (part,) = extraction.parts(answer, [one.window], one.known)
    reading = notes.read(part, one.window)
    assert [each.statement for each in reading.statements] == []
    assert len(reading.dropped) == len(mistakes)
    strong = json.loads(one.answer)["notes"]
    (part,) = extraction.parts(json.dumps({"notes": [*mistakes, *strong]}), [one.window], one.known)
    assert notes.read(part, one.window).statements == recorded.read(one).statements
