"""cl100k tokens through quicktok: exact, and offline because the vocabulary is in its wheel."""

from __future__ import annotations

from typing import cast

import quicktok

from processors.text.tokens import TokenCounter


def cl100k_counter() -> TokenCounter:
    """Return a counter of cl100k tokens; it agrees with ``tiktoken`` (``disallowed_special=()``) to the token.

    It never raises for a ``str``: JSON may escape half of a surrogate pair (``"\\ud83d"``), which UTF-8 cannot
    hold, and such halves are replaced as ``tiktoken`` replaces them.
    """
    count = cast(TokenCounter, quicktok.get_encoding("cl100k_base").count)

    def count_tokens(text: str) -> int:
        try:
            return count(text)
        except TypeError:
            # The binding's answer to a str that UTF-8 cannot hold.
            return count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    return count_tokens
