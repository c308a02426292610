"""The graph asked of a model on a real broker, Valkey and server: in the call that asks for facts."""

from __future__ import annotations

import pytest

from models.ports import Extracted
from processors.prompts import examples
from tests.integration.memo_rig import Rig, rig

pytestmark = pytest.mark.kafka

__all__ = ["rig"]


async def test_facts_and_what_is_tied_are_asked_for_in_one_call(rig: Rig) -> None:
    readers = await rig.readers(graph_reader="gemini")
    reader = readers.graph
    assert reader is not None and reader.name == "gemini-2.5-flash-lite/extraction-5-graph"
    (found,) = await readers.extractor.extract([examples.window()])
    assert isinstance(found, Extracted) and found.statements
    [[home]] = await reader.relate([examples.window()])
    assert (home.user_id, home.relation, home.object.name) == ("mara", "lives_in", "Munich")
    await rig.empty_redis()
    again = (await rig.readers(graph_reader="gemini")).graph
    assert again is not None and await again.relate([examples.window()]) == [(home,)]
    assert rig.server.count() == 1
    [(_, memo)] = await rig.memos()
    assert memo is not None and (memo.purpose, memo.user_id) == ("extraction", "mara") and memo.cost_usd > 0
    over = (await rig.readers(graph_reader="gemini", model_budget_usd=0.0)).graph
    other = examples.window()
    assert over is not None and await over.relate([other]) == [(home,)], "known, whatever the budget is"
