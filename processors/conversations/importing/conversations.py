"""The conversations of a JSON array, each decoded by itself: a broken one costs itself alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from processors.conversations.importing.drafts import Skipped
from processors.conversations.importing.elements import elements
from processors.text.surrogates import without_halves

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def conversations(pieces: Iterable[bytes]) -> Iterator[tuple[str, dict[str, Any] | Skipped]]:
    """Yield where each conversation stands, and itself, or why it cannot be read.

    Raises :class:`InvalidRecord` for a file that is no array, or is cut off.
    """
    for element in elements(pieces):
        where = f"line {element.line}, conversation {element.number}"
        if element.data is None:
            why = "the conversation is larger than 64 MiB"
            yield where, Skipped(where, "conversation_too_large", why, broken=True)
            continue
        try:
            try:
                found = _decode(element.data)
            except msgspec.DecodeError:  # half an emoji somewhere, as JavaScript cuts titles
                found = _decode(without_halves(element.data))
            yield where, found
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            yield (
                where,
                Skipped(where, "invalid_json", f"the conversation cannot be read: {error}", broken=True),
            )
