"""Tokens of a chat message (requirement 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from models.messages import Role

#: The port: how many tokens a text is.  Total: it answers for every ``str``, and 0 for the empty one.
TokenCounter = Callable[[str], int]

#: What the chat format adds around every message: the marks where it begins and ends.
MESSAGE_OVERHEAD = 4


@lru_cache(maxsize=16)
def overheads(count: TokenCounter) -> Mapping[str, int]:
    """Return the token overhead of a message by role."""
    return {role: count(role) + MESSAGE_OVERHEAD for role in Role}


def message_tokens(role: str, content: str, count: TokenCounter) -> int:
    """Return the tokens of one message: its content, its role and the overhead.

    "Hello" from ``user`` is 1 + 1 + 4 = 6 (requirement 5.1).  Text that looks like a special token
    (``<|endoftext|>``) is counted as the ordinary text that it is.
    """
    return count(content) + overheads(count)[role]
