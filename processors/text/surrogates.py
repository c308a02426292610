r"""Halves of characters: JSON may hold ``"\ud83d"`` alone, where JavaScript has cut a text inside an emoji.

No UTF-8 can be written of one, and strict decoders refuse the whole value.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def without_halves(value: bytes, instead: bytes = b"") -> bytes:
    """Return JSON whose escapes are all whole characters; ``instead`` stands for each half."""
    return _ESCAPE.sub(lambda found: instead if found["half"] else found[0], value)
