"""The graph asked of a model on a real broker, Valkey and server: once, within its budget."""

from __future__ import annotations

import pytest

from processors.prompts import examples
from tests.integration.memo_rig import Rig, rig

pytestmark = pytest.mark.kafka

__all__ = ["rig"]


async def test_what_is_tied_is_asked_once_and_counted_as_graph(rig: Rig) -> None:
    reader = (await rig.readers(graph_reader="gemini")).graph
    assert reader is not None and reader.name == "gemini-2.5-flash-lite/graph-3"
    [[home]] = await reader.relate([examples.window()])
    assert (home.user_id, home.relation, home.object.name) == ("mara", "lives_in", "Munich")
    await rig.empty_redis()
    again = (await rig.readers(graph_reader="gemini")).graph
    assert again is not None and await again.relate([examples.window()]) == [(home,)]
    assert rig.server.count() == 1
    [(_, memo)] = await rig.memos()
    assert memo is not None and (memo.purpose, memo.user_id) == ("graph", "mara") and memo.cost_usd > 0
    over = (await rig.readers(graph_reader="gemini", model_budget_usd=0.0)).graph
    other = examples.window()
    assert over is not None and await over.relate([other]) == [(home,)], "known, whatever the budget is"


async def test_over_the_budget_nothing_is_asked(rig: Rig) -> None:
    reader = (await rig.readers(graph_reader="gemini", model_budget_usd=0.0)).graph
    assert reader is not None and await reader.relate([examples.window()]) == [()]
    assert rig.server.count() == 0


async def test_nobody_is_asked_unless_the_setting_says_so(rig: Rig) -> None:
    assert (await rig.readers(graph_reader="builtin")).graph is None
