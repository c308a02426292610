"""A deployment whose model speaks OpenAI's API: memo, price, estimates and stand-ins."""

from __future__ import annotations

from typing import Any

import pytest
from memo_rig import Rig, rig

from models.memo import Memo, Outcome
from models.ports import Extracted
from processors.prompts import examples

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
