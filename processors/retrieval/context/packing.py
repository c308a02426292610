"""Giving each tier its share of the budget (requirement 3.6).

The last messages come first and always fit; search results are next.  Standing notes, instructions and lasting
facts, are in whatever is spoken of: the most relevant of them, up to half of the budget.  Other facts and what
was said before fill the budget in the order of relevance, each sure of a least share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from models.context import ContextItem, FoundBy, LeftOut, Tier, TierUse
from models.turns import Turn
from processors.retrieval.context import wording
from processors.retrieval.context.ranking import Ranked, diverse, is_related
from processors.text.tokens import TokenCounter

#: Of what was left out, so much text is shown.
_SHOWN = 240

#: What is added to the score of a standing fact where facts are put in order: as much as a similarity of .25.
STANDING = 0.15


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, in all and by tier.

    ``recent`` and ``tools`` are the most that these tiers take; ``standing`` is the share of ``total`` that
    standing notes (instructions and lasting facts) take at most.  Other facts, and what was said before, fill
    the rest: the best ``fewest`` of each are sure of ``least`` tokens, if they need them.  ``recent_turns``
    bounds the last messages: five exchanges, as far as ``recent`` goes.
    """

    total: int = 1500
    recent: int = 500
    tools: int = 400
    standing: float = 0.5
    least: int = 100
    fewest: int = 5
    recent_turns: int = 10


class Packed(NamedTuple):
    """Everything that was found: what is in, tier by tier, then what is left out; and what each tier took."""

    items: tuple[ContextItem, ...]
    tiers: tuple[TierUse, ...]
    tokens: int


class _Tier:
    """A tier that is being filled: ``share`` is what it may take at best, ``limit`` what there is room for.

    Both are tokens, the heading included.
    """

    def __init__(self, tier: Tier, share: int, limit: int, heading: int) -> None:
        self.tier = tier
        self.share = share
        self.limit = max(0, min(share, limit))
        self.tokens = 0
        self.inside: list[ContextItem] = []
        self.outside: list[ContextItem] = []
        self._heading = heading

    def room(self) -> int:
        """Return the tokens that one more item may have."""
        return self.limit - (self.tokens or self._heading)

    def take(self, item: ContextItem) -> LeftOut | None:
        """Take an item if it fits; if not, leave it out and return why."""
        if item.tokens <= self.room():
            self.tokens = (self.tokens or self._heading) + item.tokens
            self.inside.append(item)
            return None
        too_large = self._heading + item.tokens > self.share
        return self.leave(item, LeftOut.TOO_LARGE if too_large else LeftOut.NO_ROOM)

    def leave(self, item: ContextItem, why: LeftOut, like: str = "") -> LeftOut:
        """Leave an item out."""
        shown = item.text[:_SHOWN]
        cut = item.cut or shown != item.text
        self.outside.append(msgspec.structs.replace(item, left_out=why, like=like, text=shown, cut=cut))
        return why

    def use(self) -> TierUse:
        """Return the budget's use."""
        inside, outside = len(self.inside), len(self.outside)
        return TierUse(tier=self.tier, limit=self.limit, tokens=self.tokens, items=inside, left_out=outside)


class Packer:
    """Fills the tiers, in the order of their claims.  ``count`` counts tokens, of what reads as ``reads``."""

    def __init__(self, budget: Budget, count: TokenCounter, reads: wording.Wording = wording.PLAIN) -> None:
        self._budget = budget
        self._count = count
        self._reads = reads
        self._left = budget.total
        self._tiers: list[_Tier] = []

    def pack(
        self,
        recent: Sequence[Turn],
        instructions: Sequence[Ranked] = (),
        facts: Sequence[Ranked] = (),
        episodes: Sequence[Ranked] = (),
        tools: Sequence[Ranked] = (),
        lasting: Sequence[Ranked] = (),
    ) -> Packed:
        """Return the items that fit into the prompt.  The order of the arguments' items does not matter.

        ``lasting`` are facts that are in whatever is spoken of.  ``recent`` are the latest turns of the
        conversation; one that is among ``episodes``, too, counts here.
        """
        said = {turn.turn_id for turn in recent}
        past = [each for each in episodes if each.candidate.id not in said]
        self._recent(recent)
        self._remembered(instructions, facts, past, tools, lasting)
        return self._packed()

    def again(
        self,
        packed: Sequence[ContextItem],
        instructions: Sequence[Ranked],
        facts: Sequence[Ranked],
        episodes: Sequence[Ranked],
        lasting: Sequence[Ranked],
    ) -> Packed:
        """Pack items beside the last messages of ``packed``; whatever was left out of it stays out."""
        tier = self._open(Tier.RECENT, self._budget.recent)
        for item in packed:
            if item.tier is Tier.RECENT and item.left_out is None:
                tier.take(item)
        self._close(tier)
        self._remembered(instructions, facts, episodes, (), lasting)
        for tier in self._tiers:
            tier.outside += [item for item in packed if item.tier is tier.tier and item.left_out is not None]
        return self._packed()

    def _remembered(
        self,
        instructions: Sequence[Ranked],
        facts: Sequence[Ranked],
        past: Sequence[Ranked],
        tools: Sequence[Ranked],
        lasting: Sequence[Ranked],
    ) -> None:
        """Fill every tier but that of the last messages, whatever room they leave."""
        self._fill(Tier.TOOLS, _best_first(tools), self._budget.tools)
        for_facts = self._least(Tier.FACTS, facts)
        for_episodes = self._least(Tier.EPISODES, [each for each in past if is_related(each.candidate)])
        most = int(self._budget.total * self._budget.standing)
        standing = self._standing(instructions, lasting, min(most, self._left - for_facts - for_episodes))
        told = [each for each in instructions if each.candidate.id in standing]
        self._fill(Tier.INSTRUCTIONS, _best_first(told), self._left, out=_others(instructions, told))
        sure = [each for each in lasting if each.candidate.id in standing]
        self._facts(sure, [*facts, *_others(lasting, sure)], for_episodes)
        self._episodes(past)

    def _packed(self) -> Packed:
        inside = [item for tier in self._tiers for item in tier.inside]
        outside = [item for tier in self._tiers for item in tier.outside]
        tokens = sum(tier.tokens for tier in self._tiers)
        return Packed((*inside, *outside), tuple(tier.use() for tier in self._tiers), tokens)

    def _standing(self, instructions: Sequence[Ranked], lasting: Sequence[Ranked], room: int) -> set[str]:
        """Return the ids of the standing notes that fit into ``room`` tokens, headings included."""
        kinds = {each.candidate.id: Tier.INSTRUCTIONS for each in instructions}
        opened: set[Tier] = set()
        chosen: set[str] = set()
        for each in _best_first([*instructions, *lasting]):
            kind = kinds.get(each.candidate.id, Tier.FACTS)
            tokens = self._item(kind, each).tokens + (0 if kind in opened else self._heading(kind))
            if tokens <= room:
                room -= tokens
                opened.add(kind)
                chosen.add(each.candidate.id)
        return chosen

    def _open(self, tier: Tier, share: int, reserved: int = 0) -> _Tier:
        return _Tier(tier, share, self._left - reserved, self._heading(tier))

    def _heading(self, tier: Tier) -> int:
        return self._count(self._reads.headings.get(tier, ""))

    def _close(self, tier: _Tier) -> None:
        self._left -= tier.tokens
        self._tiers.append(tier)

    def _recent(self, turns: Sequence[Turn]) -> None:
        """Take the latest turns, the last one cut if need be."""
        tier = self._open(Tier.RECENT, self._budget.recent)
        newest = sorted(turns, key=lambda turn: (turn.index, turn.turn_id), reverse=True)
        stopped: LeftOut | None = None
        for place, turn in enumerate(newest):
            item = self._message(turn, turn.text)
            if place >= self._budget.recent_turns:
                tier.leave(item, LeftOut.ENOUGH)
            elif stopped is not None:
                tier.leave(item, LeftOut.NO_ROOM)
            elif place == 0 and item.tokens > tier.room():
                stopped = tier.take(self._shorter(turn, tier.room()) or item)
            else:
                stopped = tier.take(item)
        tier.inside.reverse()
        self._close(tier)

    def _fill(
        self,
        kind: Tier,
        found: Sequence[Ranked],
        share: int,
        reserved: int = 0,
        out: Sequence[Ranked] = (),
    ) -> _Tier:
        """Take whatever fits, in the order given; ``out`` found no room before."""
        tier = self._open(kind, share, reserved)
        for each in found:
            tier.take(self._item(kind, each))
        for each in _best_first(out):
            tier.leave(self._item(kind, each), LeftOut.NO_ROOM)
        self._close(tier)
        return tier

    def _facts(self, sure: Sequence[Ranked], others: Sequence[Ranked], reserved: int) -> None:
        """Take the standing ones, and of the others those that differ, the best first."""
        kept, instead = diverse(_best_first(others))
        standing = {each.candidate.id for each in sure}
        tier = self._fill(Tier.FACTS, [*_best_first(sure), *kept], self._left, reserved)
        scores = {
            each.candidate.id: each.score + (STANDING if each.candidate.id in standing else 0.0)
            for each in (*sure, *others)
        }
        tier.inside.sort(key=lambda item: (-scores[item.id], item.id))
        self._leave_alike(tier, others, instead)

    def _episodes(self, found: Sequence[Ranked]) -> None:
        """Take what bears on what was just said and differs, the best first."""
        kept, instead = diverse(_best_first(found))
        related = [each for each in kept if is_related(each.candidate)]
        tier = self._fill(Tier.EPISODES, related, self._left)
        for each in _others(kept, related):
            tier.leave(self._item(Tier.EPISODES, each), LeftOut.UNLIKE)
        self._leave_alike(tier, found, instead)

    def _leave_alike(self, tier: _Tier, found: Sequence[Ranked], instead: Mapping[str, str]) -> None:
        for each in _best_first(found):
            if each.candidate.id in instead:
                tier.leave(self._item(tier.tier, each), LeftOut.LIKE_ANOTHER, instead[each.candidate.id])

    def _least(self, kind: Tier, found: Sequence[Ranked]) -> int:
        """Return the tokens that a tier is sure of: what its best ones take, up to the least share."""
        if not found:
            return 0
        costs = [self._item(kind, each).tokens for each in _best_first(found)[: self._budget.fewest]]
        return min(self._budget.least, self._heading(kind) + sum(costs))

    def _message(self, turn: Turn, text: str, *, cut: bool = False) -> ContextItem:
        return ContextItem(
            tier=Tier.RECENT,
            id=turn.turn_id,
            text=text,
            tokens=self._reads.cost(Tier.RECENT, text, self._count, turn.role, turn.speaker),
            found_by=FoundBy.RECENT,
            cut=cut,
            role=turn.role,
            speaker=turn.speaker,
            message_ids=(turn.message_id,),
            conversation_id=turn.conversation_id,
            at=turn.sent_at,
            arrived_at=turn.arrived_at,
        )

    def _shorter(self, turn: Turn, room: int) -> ContextItem | None:
        text = wording.cut(turn.text, room, lambda text: self._message(turn, text).tokens)
        return self._message(turn, text, cut=True) if text else None

    def _item(self, kind: Tier, found: Ranked) -> ContextItem:
        each = found.candidate
        return ContextItem(
            tier=kind,
            id=each.id,
            text=each.text,
            tokens=self._reads.cost(kind, each.text, self._count, each.role, each.speaker),
            found_by=each.found_by,
            cut=each.cut,
            role=each.role,
            speaker=each.speaker,
            score=found.score,
            parts=found.parts,
            message_ids=each.message_ids,
            conversation_id=each.conversation_id,
            at=each.at,
            arrived_at=each.arrived_at,
        )


def _best_first(found: Sequence[Ranked]) -> list[Ranked]:
    return sorted(found, key=lambda each: (-each.score, each.candidate.id))


def _others(found: Sequence[Ranked], but: Sequence[Ranked]) -> list[Ranked]:
    names = {each.candidate.id for each in but}
    return [each for each in found if each.candidate.id not in names]
