"""A deployment whose model speaks OpenAI's API: memo, price, estimates and stand-ins."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from memo_rig import Rig, rig

from models.answers import Dialogue, Ended, ToolRound
from models.memo import Memo, Outcome
from models.ports import Extracted
from processors.prompts import answer, examples

pytestmark = pytest.mark.kafka

__all__ = ["rig"]

PRICED = "scripted=1/2/0.5"


def asked_of(rig: Rig, **given: Any) -> dict[str, Any]:
    return {"model_api": "openai", "model_url": f"{rig.server.url}/v1", "model_name": "scripted", **given}


async def memo_of(rig: Rig) -> Memo:
    (memo,) = [memo for _, memo in await rig.memos() if memo is not None]
    return memo


async def test_a_window_is_asked_once_and_cached_tokens_cost_less(rig: Rig) -> None:
    extractor = await rig.extractor(**asked_of(rig, model_prices=PRICED))
    (found,) = await extractor.extract([examples.window()])
    assert isinstance(found, Extracted) and len(found.statements) > 2
    memo = await memo_of(rig)
    assert (memo.outcome, memo.model) == (Outcome.ANSWERED, "scripted")
    cached = memo.cached_tokens
    assert 0 < cached < memo.input_tokens
    paid = (memo.input_tokens - cached + 0.5 * cached + 2 * memo.output_tokens) / 1_000_000
    assert memo.cost_usd == pytest.approx(paid)
    await rig.empty_redis()
    assert await (await rig.extractor(**asked_of(rig))).extract([examples.window()]) == [found]
    assert rig.server.count() == 1


async def test_a_window_beyond_the_context_is_read_by_the_built_in(rig: Rig) -> None:
    rig.server.context_tokens = 200
    extractor = await rig.extractor(**asked_of(rig))
    (found,) = await extractor.extract([examples.window()])
    assert isinstance(found, Extracted)
    assert found.by.endswith("(beyond the model's context)")


async def test_a_call_keeps_its_id_through_the_memo(rig: Rig) -> None:
    responder = (await rig.chat_models(**asked_of(rig))).responder
    assert responder is not None
    made = answer.prompt(examples.ANSWER_ITEMS, "Do I have any siblings, tell me?", may_search=True)
    asked = Dialogue(**{**{n: getattr(made, n) for n in made.__struct_fields__}, "user_id": "mara"})

    async def heard(dialogue: Dialogue) -> Ended:
        async with aclosing(responder.stream(dialogue)) as stream:
            *_, ended = [piece async for piece in stream]
        assert isinstance(ended, Ended) and ended.trouble is None
        return ended

    rig.server.scripts.append(
        lambda body: (
            '\x00call {"name": "search_memory", "args": {"query": "siblings"}}'
            if not any("functionResponse" in str(each) for each in body["contents"])
            else "A sister."
        )
    )
    (call,) = (await heard(asked)).calls
    assert call.id and (await heard(asked)).calls == (call,)
    again = Dialogue(
        **{
            **{n: getattr(asked, n) for n in asked.__struct_fields__},
            "rounds": (ToolRound(calls=(call,), results=("A sister, Anna.",)),),
        }
    )
    await heard(again)
    assert rig.server.calls[-1].body["messages"][-1]["tool_call_id"] == call.id
    assert rig.server.count() == 2
