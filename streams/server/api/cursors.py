"""Where the next page of a list begins, as a text that says nothing to others."""

from __future__ import annotations

import base64
import binascii

from streams.server.api.problems import INVALID_REQUEST, Problem


def cursor_of(of: str, after: str) -> str:
    """Return the cursor of the page of a list (``of`` names it) that begins after an item."""
    return base64.urlsafe_b64encode(f"{of}\x1f{after}".encode()).decode().rstrip("=")


def after(of: str, cursor: str) -> str:
    """Return the item that a page begins after.

    Raises:
        Problem: 400; it is no cursor, or one of another list.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        made_of, _, item = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition("\x1f")
    except (binascii.Error, ValueError):
        made_of, item = "", ""
    if made_of != of or not item:
        raise Problem(INVALID_REQUEST, "cursor is not the `next` of a page of this list: begin without one.")
    return item
