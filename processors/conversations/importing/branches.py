"""The branches of a conversation: a message that was edited, or answered anew, begins another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

#: Why a message is not imported that the person does not see any more.
OTHER_BRANCH = "it stands on a branch that was edited or answered anew"

#: The message before each one, by name; one whose parent is not among them begins the conversation.
Parents = Mapping[str, str | None]


def leaves(parents: Parents) -> list[str]:
    """Return the last message of each branch."""
    inner = set(parents.values())
    return [name for name in parents if name not in inner]


def path(parents: Parents, leaf: str | None) -> list[str]:
    """Return the names from the root to ``leaf``; a circle, which no tree has, is walked once."""
    found: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in found:
        found[leaf] = None
        leaf = parents[leaf]
    return list(reversed(found))


def shown_leaf(parents: Parents, named: object, time_of: Callable[[str], float]) -> str | None:
    """Return the leaf that a person sees: the one that is ``named``, or that of the latest message.

    The last message of a branch may have no time, so all of it counts.
    """
    if isinstance(named, str) and named in parents:
        return named
    return max(leaves(parents), key=lambda leaf: max(map(time_of, path(parents, leaf))), default=None)
