"""Removal of what was erased, or no longer holds, from a context that is packed."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from models.context import Context, ContextItem, LeftOut


def without(context: Context, gone: Mapping[str, LeftOut]) -> Context:
    """Return a context without what is gone since it was made, by id; of what was erased the text is gone, too.

    What else was left out stays out: a context is made again with the next turn.
    """
    items = [_gone(item, gone[item.id]) if item.id in gone else item for item in context.items]
    tiers = []
    for use in context.tiers:
        before = [item for item in context.items if item.tier is use.tier and item.left_out is None]
        inside = [item for item in items if item.tier is use.tier and item.left_out is None]
        lost = sum(item.tokens for item in before) - sum(item.tokens for item in inside)
        tokens = use.tokens - lost if inside else 0
        left_out = use.left_out + len(before) - len(inside)
        tiers.append(msgspec.structs.replace(use, tokens=tokens, items=len(inside), left_out=left_out))
    return msgspec.structs.replace(
        context,
        items=tuple(sorted(items, key=lambda item: item.left_out is not None)),
        tiers=tuple(tiers),
        tokens=sum(use.tokens for use in tiers),
    )


def _gone(item: ContextItem, why: LeftOut) -> ContextItem:
    if why is LeftOut.ERASED:
        return msgspec.structs.replace(item, left_out=why, text="", speaker="", message_ids=())
    return msgspec.structs.replace(item, left_out=why)
