"""Looking a conversation up in the topic of turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.errors import DependencyUnavailable
from streams.config.settings import Settings
from streams.stores import turn_topic
from streams.stores.turn_topic import TurnTopic


class Waits:
    """A lookup that others hold up."""

    async def find(self, *_: Any, **__: Any) -> None:
        await asyncio.Event().wait()


async def test_a_reading_that_takes_too_long_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_topic, "_READ_SECONDS", 0.01)
    lookup: Any = Waits()
    with pytest.raises(DependencyUnavailable, match="try again"):
        await TurnTopic(Settings(), lookup).turns("default", "c")
