"""The built-in extractor: rules, and what the embeddings admit and drop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from models.errors import DependencyUnavailable
from models.facts import Category
from models.messages import Role
from models.ports import Extractor, Vectors
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.statements import extract
from streams.adapters.builtin_extractor import (
    ADMITTED_CONFIDENCE,
    PROTOTYPES,
    SMALL_TALK,
    BuiltinExtractor,
)
from streams.adapters.onnx_embedder import OnnxEmbedder

KNOWN = "I love tea."
UNKNOWN = "I dream about sailing around the world."
WEAK = "I want to travel to Japan."


def window(text: str) -> Window:
    message = WindowMessage(
        message_id="m1",
        user_id="ann",
        role=Role.USER,
        content=text,
        sent_at=datetime(2025, 3, 1, tzinfo=UTC),
        arrived_at=datetime(2025, 3, 1, tzinfo=UTC),
        index=0,
        offset=0,
    )
    return Window(
        window_id="w1",
        conversation_id="c1",
        user_id="ann",
        reason=WindowReason.CLOSED,
        message_ids=("m1",),
        messages=(message,),
        from_index=0,
        to_index=0,
        overlap=0,
        source=WindowSource(topic="t", partition=0, first_offset=0, last_offset=0),
    )


class Pointing:
    """An embedder with one axis per prototype; ``like`` says which one a text points at."""

    model, dimensions = "pointing", 64
    prototypes = (*(text for category in Category for text in PROTOTYPES.get(category, ())), *SMALL_TALK)

    def __init__(self, **like: str) -> None:
        self.like = {UNKNOWN: like.get("unknown"), WEAK: like.get("weak")}
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            target = self.like.get(text) or text
            axis = self.prototypes.index(target) if target in self.prototypes else self.dimensions - 1
            vectors[row, axis] = 1.0
        return vectors


async def statements(extractor: Extractor, *texts: str) -> list[list[str]]:
    return [[found.statement for found in each] for each in await extractor.extract([window(t) for t in texts])]


async def test_without_an_embedder_the_rules_decide_alone() -> None:
    extractor = BuiltinExtractor()
    (found,) = await extractor.extract([window(f"{KNOWN} {UNKNOWN} {WEAK}")])
    assert found == extract(window(f"{KNOWN} {UNKNOWN} {WEAK}"))
    assert [each.statement for each in found] == ["User loves tea", "User wants to travel to Japan"]
    assert extractor.name != BuiltinExtractor(Pointing()).name


async def test_near_a_prototype_an_unknown_sentence_is_admitted_in_its_category() -> None:
    embedder = Pointing(unknown=PROTOTYPES[Category.PROFILE][0])
    ((found,),) = await BuiltinExtractor(embedder).extract([window(UNKNOWN)])
    assert found.statement == "User dreams about sailing around the world"
    assert (found.category, found.confidence) == (Category.PROFILE, ADMITTED_CONFIDENCE)
    assert found.quote == UNKNOWN


@pytest.mark.parametrize("near", [SMALL_TALK[0], None])
async def test_near_small_talk_or_nothing_it_is_not(near: str | None) -> None:
    embedder = Pointing(unknown=near) if near else Pointing()
    assert await statements(BuiltinExtractor(embedder), UNKNOWN) == [[]]


async def test_a_weak_statement_near_small_talk_is_dropped() -> None:
    assert await statements(BuiltinExtractor(Pointing(weak=SMALL_TALK[0])), WEAK) == [[]]
    assert await statements(BuiltinExtractor(Pointing()), WEAK) == [["User wants to travel to Japan"]]


async def test_what_the_rules_are_sure_of_is_not_embedded() -> None:
    embedder = Pointing()
    assert await statements(BuiltinExtractor(embedder), KNOWN) == [["User loves tea"]]
    assert embedder.calls == []


async def test_all_windows_are_embedded_in_one_call() -> None:
    embedder = Pointing()
    extractor = BuiltinExtractor(embedder)
    await extractor.extract([window(UNKNOWN), window(KNOWN), window(WEAK), window(UNKNOWN)])
    assert embedder.calls[1:] == [[UNKNOWN, WEAK]]  # the first call is for the prototypes, once
    await extractor.extract([window(UNKNOWN)])
    assert embedder.calls[2:] == [[UNKNOWN]]


async def test_no_windows() -> None:
    assert await BuiltinExtractor(Pointing()).extract([]) == []


async def test_an_embedder_that_is_down_is_told_on() -> None:
    class Down(Pointing):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            raise DependencyUnavailable("embedder", "down")

    with pytest.raises(DependencyUnavailable):
        await BuiltinExtractor(Down()).extract([window(UNKNOWN)])


async def test_with_the_real_model() -> None:
    embedder = OnnxEmbedder()
    extractor = BuiltinExtractor(embedder)
    texts = ["I could eat noodles every day.", "I'm so glad to hear that.", KNOWN]
    found = await extractor.extract([window(text) for text in texts])
    assert [[each.statement for each in every] for every in found] == [
        ["User could eat noodles every day"],
        [],
        ["User loves tea"],
    ]
    assert found[0][0].category is Category.PREFERENCE
    assert found == await extractor.extract([window(text) for text in texts])
    await embedder.close()
