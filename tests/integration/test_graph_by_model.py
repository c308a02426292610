"""The graph asked of a model on a real broker, Valkey and server: in the call that asks for facts."""

from __future__ import annotations

import msgspec
import pytest

from deploy.local.model_faults import Fault
from models.ports import Extracted
from models.windows import Window
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


def told(count: int) -> list[Window]:
    """Return windows of one person, each of which says where a friend lives."""
    base, found = examples.window(), []
    for number in range(count):
        first = msgspec.structs.replace(
            base.messages[0], content=f"My friend Ann{'ab' * number}e lives in Bonn."
        )
        found.append(
            msgspec.structs.replace(
                base,
                window_id=f"w-{number}",
                conversation_id=f"c-{number}",
                messages=(first, *base.messages[1:]),
            )
        )
    return found


@pytest.mark.parametrize(("fault", "calls"), [(None, 2), (Fault.NO_JSON, 2 + 4)])
async def test_windows_that_wait_share_calls(rig: Rig, fault: Fault | None, calls: int) -> None:
    """And what such a call does not answer is asked about alone; each is remembered by itself."""
    reader = (await rig.readers(graph_reader="gemini", model_windows_per_call=4)).graph
    assert reader is not None
    if fault is not None:
        rig.server.fail(fault)
    windows = told(6)
    found = await reader.relate(windows)
    for window, statements in zip(windows, found, strict=True):
        assert {each.source.conversation_id for each in statements} == {window.conversation_id}
        assert any(each.relation == "lives_in" for each in statements)
    assert rig.server.count() == calls
    assert await reader.relate(windows[2:5]) == found[2:5]
    assert rig.server.count() == calls
