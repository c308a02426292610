"""Which earlier statement of a person a later one ends, with the built-in model of vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from models.statements import Kind
from processors.facts.merging.endings import Verdict, decide
from processors.facts.merging.statement_features import ComparedStatement
from streams.llm.onnx_embedder import OnnxEmbedder

START = datetime(2026, 2, 1, tzinfo=UTC)
OVER = (Verdict.ENDS, Verdict.REPLACES)


@pytest.fixture
async def embedder() -> AsyncIterator[OnnxEmbedder]:
    embedder = OnnxEmbedder()
    await embedder.start()
    yield embedder
    await embedder.close()


async def said(embedder: OnnxEmbedder, text: str, day: int, kind: Kind) -> ComparedStatement:
    (vector,) = await embedder.embed([text])
    importance = 3 if kind is Kind.INSTRUCTION else 2
    return ComparedStatement(
        text, np.asarray(vector, dtype=np.float32), kind, importance, START + timedelta(days=day)
    )


@pytest.mark.parametrize(
    ("kind", "old", "new", "is_over"),
    [
        (Kind.STATE, "I own a motorbike.", "I sold the motorbike in April.", True),
        (Kind.EVENT, "We're going to Malta in June.", "Malta is cancelled.", True),
        (Kind.INSTRUCTION, "Never mention my divorce.", "You can mention my divorce again.", True),
        (Kind.STATE, "My brother Tom lives in Oslo.", "Tom died last week.", True),
        (Kind.STATE, "My brother Tom lives in Oslo.", "Tom visited last week.", False),
        (Kind.STATE, "I own a motorbike.", "My uncle sold his motorbike.", False),
        (Kind.INSTRUCTION, "Never mention my divorce.", "Never mention my salary.", False),
        (Kind.STATE, "Badly allergic, I carry an EpiPen.", "Back from the doctor.", False),
    ],
)
async def test_a_later_statement_ends_what_it_denies(
    embedder: OnnxEmbedder, kind: Kind, old: str, new: str, is_over: bool
) -> None:
    (found,) = decide(await said(embedder, new, 60, kind), [await said(embedder, old, 0, kind)])
    assert (found.verdict in OVER) is is_over


async def test_of_several_only_the_one_that_is_meant_ends(embedder: OnnxEmbedder) -> None:
    texts = ["I own a motorbike.", "I own a boat.", "I love motorbike races.", "My son has a bike."]
    olds = [await said(embedder, text, 0, Kind.STATE) for text in texts]
    found = decide(await said(embedder, "I sold the motorbike in April.", 60, Kind.STATE), olds)
    assert [each.verdict in OVER for each in found] == [True, False, False, False]


@pytest.mark.parametrize(
    ("old", "new", "is_over"),
    [
        ("Always answer in French.", "Always answer in English.", True),
        ("Call me Sam.", "Call me Samantha.", True),
        ("Never mention my salary to anyone.", "Never mention my divorce to anyone.", False),
    ],
)
async def test_an_order_done_another_way_replaces_the_earlier(
    embedder: OnnxEmbedder, old: str, new: str, is_over: bool
) -> None:
    later = await said(embedder, new, 40, Kind.INSTRUCTION)
    (found,) = decide(later, [await said(embedder, old, 0, Kind.INSTRUCTION)])
    assert (found.verdict is Verdict.REPLACES) is is_over
