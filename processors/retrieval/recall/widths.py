"""Digits and signs of other scripts as ASCII, sign by sign: a text folded so is as long as it was."""

from __future__ import annotations

import unicodedata

#: Decimal digits of all scripts, full-width forms (``：``), the ideographic space.
_FOLDED = {code: str(unicodedata.decimal(chr(code))) for code in range(128, 0x20000) if chr(code).isdecimal()}
_FOLDED |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_FOLDED[0x3000] = " "


def folded(text: str) -> str:
    """Return a text with ASCII for digits of any script and for full-width forms."""
    return text if text.isascii() else text.translate(_FOLDED)
