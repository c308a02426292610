"""Overlapping windows over one conversation (requirement 1.1): where they begin and end, what they repeat.

With size 10 and overlap 3 a window ends at its tenth message and the next begins with its last three:
[1-10], [8-17], [15-24], ...  A pause of the conversation ends a window early (``idle``); the next one still
begins with the last three messages, so a statement that spans the pause keeps its context.
"""

from __future__ import annotations

import msgspec

from models.errors import ConfigurationError


class WindowSizes(msgspec.Struct, frozen=True):
    """Messages in a window, and how many of them the next window repeats.

    Raises:
        ConfigurationError: unless ``0 <= overlap < size``.
    """

    size: int = 10
    overlap: int = 3

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.size:
            raise ConfigurationError(
                f"a window of {self.size} messages cannot overlap by {self.overlap}: "
                "the overlap must be at least 0 and smaller than the size"
            )


class Span(msgspec.Struct, frozen=True):
    """A window by absolute indices (inclusive); its first ``overlap`` messages were in the one before."""

    from_index: int
    to_index: int
    overlap: int


class WindowCursor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the open window of a conversation begins, and how many of its messages the last one had."""

    from_index: int = 0
    overlap: int = 0

    def pending(self, next_index: int) -> bool:
        """Say whether the open window holds a message that no window had."""
        return next_index > self.from_index + self.overlap

    def full_at(self, sizes: WindowSizes) -> int:
        """Return the index after the message that makes the open window full."""
        return self.from_index + sizes.size

    def close(self, next_index: int, sizes: WindowSizes) -> tuple[Span, WindowCursor]:
        """End the open window before ``next_index``; return it and the cursor of the next one."""
        span = Span(self.from_index, next_index - 1, self.overlap)
        overlap = min(sizes.overlap, next_index - self.from_index)
        return span, WindowCursor(next_index - overlap, overlap)
