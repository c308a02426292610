"""Addition of standing notes that became known after a context was packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from models.context import Context, ContextItem, FoundBy, LeftOut, Parts, Tier
from processors.retrieval.context.packing import Budget, Packer
from processors.retrieval.context.ranking import Candidate, Ranked, candidate_of, ranked
from processors.retrieval.context.remembering import untold
from processors.retrieval.context.wording import prompt_of
from processors.retrieval.recall.question import words_of
from processors.text.tokens import TokenCounter

_GONE = (LeftOut.ERASED, LeftOut.ENDED)


def words_made_from(context: Context) -> tuple[str, ...]:
    """Return the words of the last turns that a context was made from, as far as it shows them."""
    said = [item.text for item in context.items if item.tier is Tier.RECENT and item.id in context.made_from]
    return words_of(" ".join(said))


def lacks(context: Context, ids: Iterable[str]) -> bool:
    """Say whether a context was made without some of these standing notes."""
    known = {item.id for item in context.items if item.left_out is None or item.found_by is FoundBy.KIND}
    return any(each not in known for each in ids)


def with_notes(context: Context, notes: Sequence[Candidate], now: datetime, count: TokenCounter) -> Context:
    """Return a context packed again with all standing ``notes`` of the person that hold.

    Notes have the claim that they have when a context is made; what finds no room beside them is left out.
    Whatever else was left out stays out: a context is made again with the next turn.
    """
    items = {item.id: item for item in context.items}
    offered = [
        _as_before(note, items.get(note.id), now)
        for note in notes
        if note.id not in items or items[note.id].left_out not in _GONE
    ]
    ids = {each.candidate.id for each in offered}
    others = [item for item in context.items if item.id not in ids]
    inside = [item for item in others if item.left_out is None]
    told, lasting, facts = _of(inside, Tier.INSTRUCTIONS), list[Ranked](), list[Ranked]()
    for each in _of(inside, Tier.FACTS):
        (lasting if each.candidate.lasting else facts).append(each)
    new = [each.candidate for each in offered if each.candidate.id not in items]
    past = {each.candidate.id: each for each in _of(inside, Tier.EPISODES)}
    shown = untold([each.candidate for each in past.values()], new)
    packed = Packer(Budget(total=context.budget), count).again(
        others,
        instructions=[*told, *(each for each in offered if not each.candidate.lasting)],
        facts=facts,
        episodes=[past[each.id]._replace(candidate=each) for each in shown],
        lasting=[*lasting, *(each for each in offered if each.candidate.lasting)],
    )
    return msgspec.structs.replace(context, items=packed.items, tiers=packed.tiers, tokens=packed.tokens)


def prompt_of_notes(notes: Sequence[Candidate], now: datetime, budget: Budget, count: TokenCounter) -> str:
    """Return the prompt of a context that holds nothing but standing notes."""
    found = ranked(notes, now)
    packed = Packer(budget, count).pack(
        (),
        instructions=[each for each in found if not each.candidate.lasting],
        lasting=[each for each in found if each.candidate.lasting],
    )
    return prompt_of(packed.items)


def _as_before(note: Candidate, item: ContextItem | None, now: datetime) -> Ranked:
    """Return a note with the score that it had when the context was made, if it was known then."""
    if item is None or item.parts is None:
        return ranked([note], now)[0]
    return Ranked(note, item.score, item.parts)


def _of(items: Iterable[ContextItem], tier: Tier) -> list[Ranked]:
    return [
        Ranked(candidate_of(item), item.score, item.parts or _unknown(item.score))
        for item in items
        if item.tier is tier
    ]


def _unknown(score: float) -> Parts:
    return Parts(similarity=score, confidence=0.0, recency=0.0)
