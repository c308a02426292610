"""How an item of a context reads in the prompt, one line each, and what that costs in tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from models.context import Context, ContextItem, Tier
from models.messages import Role
from processors.text.lexicon import MONTHS
from processors.text.tokens import TokenCounter, message_tokens

#: What a reader needs to know where an earlier statement was not seen to have ended.
_LATER_HOLDS = "(where two disagree, the later one holds)"

#: What stands above each tier; it is paid for by the tier.
HEADINGS = {
    Tier.INSTRUCTIONS: f"Instructions of the user {_LATER_HOLDS}:\n",
    Tier.TOOLS: "Found by search:\n",
    Tier.FACTS: f"Known about the user {_LATER_HOLDS}:\n",
    Tier.EPISODES: "Said before:\n",
    Tier.RECENT: "Last messages:\n",
}

#: Tiers whose items name the day on which they were said.
_DATED = (Tier.INSTRUCTIONS, Tier.FACTS, Tier.EPISODES)

#: A day that takes as many tokens as any.
_SOME_DAY = datetime(2026, 10, 20)

#: Ends a text that was cut.
ELLIPSIS = " …"

#: Where a text may be cut.  Rough, because it is done for each turn that was found.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def line(tier: Tier, text: str, role: Role | None = None, speaker: str = "", at: datetime | None = None) -> str:
    """Return the line of an item: the text as it is for a message, on one line for anything else.

    An instruction, a fact and what was said before name their day, if ``at`` is known.
    """
    who = speaker or (role.value if role is not None else "")
    if tier is Tier.RECENT:
        return f"{who}: {text.strip()}\n"
    said = " ".join(text.split())
    day = f" ({day_of(at)})" if at is not None and tier in _DATED else ""
    return f"- {who}: {said}{day}\n" if who else f"- {said}{day}\n"


def day_of(at: datetime) -> str:
    """Return a day in short: ``2 Mar 2026``."""
    return f"{at.day} {MONTHS[at.month - 1][:3].capitalize()} {at.year}"  # whatever the locale is


def cost(tier: Tier, text: str, count: TokenCounter, role: Role | None = None, speaker: str = "") -> int:
    """Return the tokens of an item: of its line, or what the chat format takes for a message, if more."""
    tokens = count(line(tier, text, role, speaker, _SOME_DAY))
    if tier is Tier.RECENT and role is not None:
        tokens = max(tokens, message_tokens(role.value, text, count))
    return tokens


class Cost(Protocol):
    """Cost of an item in tokens."""

    def __call__(
        self, tier: Tier, text: str, count: TokenCounter, role: Role | None = None, speaker: str = ""
    ) -> int:
        """Return the tokens of an item."""
        ...


class Wording(NamedTuple):
    """How a prompt reads, as far as it costs: what stands above a tier, and what its items take."""

    headings: Mapping[Tier, str]
    cost: Cost


PLAIN = Wording(HEADINGS, cost)


def prompt(context: Context) -> str:
    """Return the text of everything that is in, under its headings: ``context.tokens`` tokens at most."""
    return prompt_of(context.items)


def prompt_of(items: Iterable[ContextItem]) -> str:
    """Return the text of the items that are in, under the headings of their tiers."""
    tiers: dict[Tier, list[ContextItem]] = {tier: [] for tier in Tier}
    for item in items:
        if item.left_out is None:
            tiers[item.tier].append(item)
    parts: list[str] = []
    for tier, heading in HEADINGS.items():
        if tiers[tier]:
            parts += [heading, *[_line(item) for item in tiers[tier]]]
    return "".join(parts)


def _line(item: ContextItem) -> str:
    return line(item.tier, item.text, item.role, item.speaker, item.at)


def cut(text: str, limit: int, cost_of: Callable[[str], int]) -> str:
    """Return the beginning of a text that costs ``limit`` at most, ending in "…"; ``""`` if nothing fits."""
    low, high = 0, min(len(text), 12 * max(limit, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if cost_of(text[:middle].rstrip() + ELLIPSIS) <= limit:
            low = middle
        else:
            high = middle - 1
    kept = text[:low].rstrip()
    if not kept:
        return ""
    # not in the middle of a word, unless it has hardly any other
    at = kept.rfind(" ")
    if low < len(text) and not text[low].isspace() and at > len(kept) // 2:
        kept = kept[:at].rstrip()
    return kept + ELLIPSIS


def excerpt(text: str, wanted: Collection[str], limit: int, words_of: Callable[[str], Iterable[str]]) -> str:
    """Return consecutive sentences, ``limit`` characters at most, with the one that has most of ``wanted``.

    A text that is short enough comes back as it is, on one line.
    """
    said = " ".join(text.split())
    if len(said) <= limit:
        return said
    sentences = _SENTENCE_END.split(said)
    words = frozenset(wanted)
    shared = [len(words.intersection(words_of(sentence))) for sentence in sentences]
    first = last = shared.index(max(shared))
    length = len(sentences[first])
    while True:
        if last + 1 < len(sentences) and length + len(sentences[last + 1]) < limit:
            last += 1
            length += len(sentences[last]) + 1
        elif first > 0 and length + len(sentences[first - 1]) < limit:
            first -= 1
            length += len(sentences[first]) + 1
        else:
            break
    found = " ".join(sentences[first : last + 1])
    shown = found if len(found) <= limit else found[:limit].rsplit(" ", 1)[0]
    ends = last == len(sentences) - 1 and shown == found
    return f"{'… ' if first else ''}{shown}{'' if ends else ELLIPSIS}"
