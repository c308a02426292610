"""Models that talk with people: rules or a language model, by the settings."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import NamedTuple

from models.answers import Responder
from models.understanding import Understander
from processors.text.tokens import TokenCounter
from streams.config.settings import Settings
from streams.llm.builtin_understander import BuiltinUnderstander
from streams.telemetry.metrics import Metrics


class ChatModels(NamedTuple):
    """Model that understands questions, and the model that answers, if there is one."""

    understander: Understander
    responder: Responder | None


async def open_chat_models(
    settings: Settings, metrics: Metrics, count: TokenCounter, resources: AsyncExitStack, name: str = "talk"
) -> ChatModels:
    """Return both; what must be closed at the end goes on ``resources``.

    ``name`` distinguishes services of one machine; see :func:`streams.llm.factory.open_asking`.

    Raises:
        ConfigurationError: a model is to be asked, and something about it is set wrongly.
    """
    builtin = BuiltinUnderstander()
    if not settings.talks_with_model:
        return ChatModels(builtin, None)
    # Imported here because the library takes a second to load.
    from streams.llm.factory import open_asking
    from streams.llm.responder import ModelResponder
    from streams.llm.understander import ModelUnderstander

    asking = await open_asking(settings, metrics, count, resources, name)
    timeout = settings.model_timeout_seconds
    return ChatModels(
        ModelUnderstander(asking, builtin) if settings.asks_model("understander") else builtin,
        ModelResponder(asking, count, timeout=timeout) if settings.asks_model("responder") else None,
    )
