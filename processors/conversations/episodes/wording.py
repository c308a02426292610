"""Text of an episode, for readers and for the embedder."""

from __future__ import annotations

from collections.abc import Sequence

from processors.conversations.episodes.state import KeptTurn

#: Characters of an episode that are embedded.  The built-in model reads 256 tokens, so each turn gets a share:
#: or the vector would be that of the first few turns.
EMBEDDED_CHARACTERS = 1_200


def text_of(turns: Sequence[KeptTurn]) -> str:
    """Return the turns as text, a line each, after the speaker's name or role."""
    return "\n".join(f"{turn.speaker or turn.role}: {turn.text}" for turn in turns if turn.text)


def embedded_text(turns: Sequence[KeptTurn], characters: int = EMBEDDED_CHARACTERS) -> str:
    """Return the embedding text: of each turn as much as fits into ``characters`` if all get the same share.

    What short turns leave goes to longer ones.
    """
    texts = [turn.text for turn in turns if turn.text]
    share, left, waiting = 0, characters, sorted(map(len, texts))
    for number, length in enumerate(waiting):
        share = left // (len(waiting) - number)
        if length > share:
            break
        share, left = length, left - length
    return "\n".join(_cut(text, share) for text in texts).strip()


def _cut(text: str, length: int) -> str:
    """Return the beginning of a text, in whole words if it has any."""
    if len(text) <= length:
        return text
    whole, space, _ = text[: length + 1].rpartition(" ")
    return whole if space and whole.strip() else text[:length]
