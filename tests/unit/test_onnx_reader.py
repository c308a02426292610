"""The reader model on the real weights: batches, words, context, close."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from math import log
from pathlib import Path

import pytest

from models.errors import ConfigurationError, DependencyUnavailable
from models.readings import Sentence
from streams.llm import onnx_reader
from streams.llm.onnx_reader import OnnxReader, ReaderModel

SENTENCES = [
    Sentence("Any allergies?", "Penicillin."),
    Sentence(
        "Nobody asked. … Shall we go on?",
        "My sister Lena moved to Porto in March, she has a flat by the river.",
    ),
    Sentence("", "haha ok"),
    Sentence("", "word " * 300),
]


@pytest.fixture
async def reader() -> AsyncIterator[OnnxReader]:
    reader = OnnxReader()
    yield reader
    await reader.close()


async def test_a_sentence_reads_the_same_alone_and_among_others(reader: OnnxReader) -> None:
    together = await reader.read(SENTENCES)
    alone = [(await reader.read([each]))[0] for each in SENTENCES]
    for one, other in zip(together, alone, strict=True):
        assert one.levels == pytest.approx(other.levels, abs=1e-4)


async def test_the_question_decides_about_a_short_answer(reader: OnnxReader) -> None:
    allergy, task = await reader.read(
        [Sentence("Any allergies?", "Nuts."), Sentence("What should the salad be made of?", "Nuts.")]
    )
    assert allergy.levels[0] < 0.2
    assert allergy.levels[3] > task.levels[3]


async def test_words_say_what_weighed_most(reader: OnnxReader) -> None:
    text = "So I'm allergic to penicillin, none of that."
    (reading,) = await reader.read([Sentence("", text)])
    weighed = dict(zip(text.split(), reading.words, strict=True))
    assert max(weighed, key=weighed.__getitem__) in ("allergic", "penicillin,")


async def test_words_and_context_add_up(reader: OnnxReader) -> None:
    """The parts of words and context add up to the log odds, but for a constant that all sentences share."""
    first, second = await reader.read(SENTENCES[:2])

    def towards(levels: tuple[float, ...]) -> float:
        return sum(map(log, levels[1:])) / 3 - log(levels[0])

    gap = sum(first.words) + first.around - sum(second.words) - second.around
    assert gap == pytest.approx(towards(first.levels) - towards(second.levels), abs=1e-2)


async def test_nothing_is_read_after_close(reader: OnnxReader) -> None:
    await reader.close()
    with pytest.raises(DependencyUnavailable, match="closed"):
        await reader.read(SENTENCES)


async def test_what_is_queued_at_close_fails_as_unavailable(reader: OnnxReader) -> None:
    first = asyncio.create_task(reader.read(SENTENCES))
    second = asyncio.create_task(reader.read(SENTENCES))
    await asyncio.sleep(0)
    await reader.close()
    found = await asyncio.gather(first, second, return_exceptions=True)
    assert isinstance(found[1], DependencyUnavailable)


def test_a_missing_model_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(onnx_reader, "MODEL_FILE", tmp_path / "reader.onnx")
    with pytest.raises(ConfigurationError, match="reinstall"):
        ReaderModel().read(SENTENCES)
