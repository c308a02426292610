"""Which extractor a worker uses, as ``SWITCHBOARD_EXTRACTOR`` says."""

from __future__ import annotations

from contextlib import AsyncExitStack

from models.ports import Extractor
from streams.adapters.builtin_extractor import BuiltinExtractor
from streams.settings import Settings
from streams.telemetry.metrics import Metrics


async def open_extractor(settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Extractor:
    """Return the extractor; what must be closed at the end goes on ``resources``.

    Raises:
        ConfigurationError: Gemini is to be asked, and something about it is set wrongly.
    """
    if settings.extractor == "builtin":
        return BuiltinExtractor()
    # Imported here because the library takes a second to load.
    from streams.adapters.gemini.extractor import GeminiExtractor
    from streams.adapters.gemini.factory import open_asking

    asking = await open_asking(settings, metrics, resources)
    return GeminiExtractor(asking, BuiltinExtractor(), metrics, settings.gemini_windows_per_call)
