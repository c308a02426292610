"""Masking of secrets in messages before they are read, by the settings.

Masked before anything is made of it, models included: a fact, a summary or a step of consolidation that holds
half of a sentence no longer shows that the other half was a secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from models.windows import WindowMessage
from processors.retrieval.recall.masking import Mask, masking
from streams.config.settings import Settings
from streams.runtime.effects import Effects


def mask_of(settings: Settings) -> Mask:
    """Return the masker of the settings."""
    return masking(settings.own_patterns, off=settings.mask == "off")


def masked(text: str, mask: Mask, effects: Effects) -> str:
    """Return a text without what is not kept verbatim; count what it was."""
    text, found = mask(text)
    for kind, count in found.items():
        effects.count("masked_passages_total", kind, by=count)
    return text


def masked_messages(
    messages: Sequence[WindowMessage], mask: Mask, effects: Effects
) -> tuple[WindowMessage, ...]:
    """Return the messages with masked contents; count what it was."""
    return tuple(
        msgspec.structs.replace(each, content=masked(each.content, mask, effects)) for each in messages
    )


def masked_values(value: Any, mask: Mask) -> tuple[Any, Counter[str]]:
    """Return JSON without what is not kept verbatim in its texts, names of fields included, and what it was."""
    if isinstance(value, str):
        return mask(value)
    found: Counter[str] = Counter()
    if isinstance(value, list):
        items = [masked_values(each, mask) for each in value]
        return [each for each, _ in items], sum((count for _, count in items), found)
    if not isinstance(value, dict):
        return value, found
    fields = {}
    for name, each in value.items():
        (told, in_name), (kept, in_value) = mask(name), masked_values(each, mask)
        fields[told] = kept
        found += in_name + in_value
    return fields, found
