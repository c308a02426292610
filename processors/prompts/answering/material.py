"""Material of an answer: all that was found, by tiers, and what of it is in the prompt (requirement 3)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from models.answers import AnswerItem
from models.context import Context, ContextItem, FoundBy, LeftOut, Tier, TierUse
from models.messages import Role
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.prompts import answer
from processors.prompts.answering import plain
from processors.retrieval.context.packing import Budget, Packer
from processors.retrieval.context.ranking import Candidate, candidate_of, ranked
from processors.retrieval.context.remembering import offered
from processors.retrieval.context.wording import Wording, excerpt
from processors.retrieval.recall.question import words_of
from processors.text.tokens import TokenCounter

#: How items read in the prompt of an answer: a record each, without headings.
RECORDS = Wording({}, answer.cost)

#: Characters of a remembered turn that are shown.
_EXCERPT = 240

#: The order of records in a prompt: what is known first, then what was said, the question at the end.
_ORDER = (Tier.INSTRUCTIONS, Tier.FACTS, Tier.EPISODES, Tier.RECENT)
_PLACES = {tier: place for place, tier in enumerate((*_ORDER, Tier.TOOLS))}


class Found(NamedTuple):
    """Statements, what was said, and instructions.  ``similarity`` is how well each answers, 0..1.

    ``floor``: the similarity below which a statement does not bear on the question.
    """

    facts: tuple[Candidate, ...] = ()
    said: tuple[Candidate, ...] = ()
    instructions: tuple[Candidate, ...] = ()
    floor: float = 0.0

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all of it."""
        return tuple(each.id for each in (*self.instructions, *self.facts, *self.said))


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question and what is at hand to answer it.

    ``turn`` is the question as a turn of its conversation, ``recent`` those before it; ``found`` what a search
    with the question found, ``context`` what was made after the turn before, if there is one.  ``standing`` are
    the instructions and lasting facts of the person.  ``style`` is what the application wants besides;
    ``blind``: memory does not answer, so nothing is known of it.
    """

    turn: Turn
    understanding: QueryUnderstanding
    recent: tuple[Turn, ...] = ()
    found: Found = Found()
    context: Context | None = None
    standing: Found = Found()
    style: str = ""
    blind: bool = False


class Material(NamedTuple):
    """Everything that was found, what is in first, and the tokens of each tier."""

    items: tuple[AnswerItem, ...]
    tiers: tuple[TierUse, ...]
    tokens: int

    def inside(self) -> list[AnswerItem]:
        """Return the items in the prompt, without the model's own searches, in the prompt's order."""
        inside = [item for item in self.items if item.tier in _ORDER and item.left_out is None]
        return sorted(inside, key=_place)

    def searched(self, ids: Iterable[str]) -> list[AnswerItem]:
        """Return the items of a search that are in the prompt, without standing notes, which come first."""
        wanted = set(ids)
        tools = [item for item in self.items if item.tier is Tier.TOOLS and item.left_out is None]
        return [item for item in tools if item.id in wanted]

    def above(self, ids: Iterable[str]) -> list[AnswerItem]:
        """Return the items of a search that stand in the prompt as standing notes."""
        wanted = set(ids)
        standing = (Tier.INSTRUCTIONS, Tier.FACTS)
        return [item for item in self.inside() if item.id in wanted and item.tier in standing]


def material(
    asked: Asked,
    searched: Sequence[Found],
    room: int,
    now: datetime,
    count: TokenCounter,
    numbers: dict[str, int],
) -> Material:
    """Pack everything that was found into ``room`` tokens.

    ``numbers`` is what each item that was in a prompt of this answer is called there; new ones are added.
    """
    context = _of_context(asked.context)
    results = (*searched, asked.found)
    notes = _standing(asked.standing, context, results)
    tools = _first_of((each for found in searched for each in (*found.facts, *found.said)), notes)
    taken = {each.id for each in tools} | {asked.turn.turn_id, *(turn.turn_id for turn in asked.recent)}
    facts = _first_of((*asked.found.facts, *context.facts), taken | notes.keys())
    said = _first_of((*asked.found.said, *context.said), taken)
    wanted = words_of(asked.turn.text)
    known = [*notes.values(), *facts, *tools]
    packed = Packer(Budget(total=max(0, room)), count, RECORDS).pack(
        [*asked.recent, asked.turn],
        instructions=ranked([each for each in notes.values() if not each.lasting], now),
        facts=ranked(facts, now),
        episodes=ranked([_shortened(each, wanted) for each in offered(said, known, {})], now),
        tools=ranked([_shortened(each, wanted) for each in tools], now),
        lasting=ranked([each for each in notes.values() if each.lasting], now),
    )
    return Material(_numbered(packed.items, numbers), packed.tiers, packed.tokens)


def _standing(standing: Found, context: Found, results: Sequence[Found]) -> dict[str, Candidate]:
    """Return the standing notes by their id, each as similar as whatever found it says."""
    notes: dict[str, Candidate] = {}
    for found in (standing, context, *results):
        for each in (*found.instructions, *(fact for fact in found.facts if fact.lasting)):
            known = notes.get(each.id)
            if known is None or known.similarity < each.similarity:
                notes[each.id] = each
    return notes


def _numbered(items: Sequence[ContextItem], numbers: dict[str, int]) -> tuple[AnswerItem, ...]:
    for item in sorted(items, key=_place):
        if item.left_out is None and item.id not in numbers:
            numbers[item.id] = len(numbers) + 1
    made = []
    for item in items:
        n = numbers.get(item.id, 0) if item.left_out is None else 0
        made.append(AnswerItem(**{name: getattr(item, name) for name in item.__struct_fields__}, n=n))
    return tuple(made)


def _place(item: ContextItem) -> tuple[int, bool]:
    """Return where an item stands in a prompt: standing facts before others, for they are in every prompt."""
    return _PLACES[item.tier], item.tier is Tier.FACTS and item.found_by is not FoundBy.KIND


def _of_context(context: Context | None) -> Found:
    """Return the items found without a search."""
    tiers: dict[Tier, list[Candidate]] = {tier: [] for tier in Tier}
    for item in context.items if context is not None else ():
        if item.text and item.left_out not in (LeftOut.ERASED, LeftOut.ENDED):
            words = words_of(item.text)
            tiers[item.tier].append(msgspec.structs.replace(candidate_of(item), words=words))
    return Found(
        facts=tuple(tiers[Tier.FACTS]),
        said=tuple(tiers[Tier.EPISODES]),
        instructions=tuple(tiers[Tier.INSTRUCTIONS]),
    )


def _first_of(candidates: Iterable[Candidate], besides: Container[str] = ()) -> list[Candidate]:
    """Return each candidate once, as it came first, but for some."""
    found: dict[str, Candidate] = {}
    for each in candidates:
        if each.id not in besides:
            found.setdefault(each.id, each)
    return [*found.values()]


def _shortened(candidate: Candidate, wanted: Sequence[str]) -> Candidate:
    """Return an item cut to the part relevant to the question; a statement stays whole."""
    if candidate.role is None:
        return candidate
    said = " ".join(candidate.text.split())
    shown = excerpt(said, wanted, _EXCERPT, words_of)
    return msgspec.structs.replace(candidate, text=shown, cut=candidate.cut or shown != said)


def answering(asked: Asked, items: Iterable[AnswerItem]) -> list[AnswerItem]:
    """Return the question's own search results, best first: they answer it without a model.

    What was said a moment ago answers as well as what was said last year.  Who asked, or was told that nothing
    is known, has said nothing that answers.
    """
    found = {
        each.id: each.similarity for each in (*asked.found.facts, *asked.found.said, *asked.found.instructions)
    }
    mine = [item for item in items if item.id in found and item.left_out is None and item.n]
    return sorted((item for item in mine if not _answers_nothing(item)), key=lambda item: -found[item.id])


def _answers_nothing(item: AnswerItem) -> bool:
    if item.role is Role.ASSISTANT:
        return item.text.startswith(plain.OURS)
    return item.role is Role.USER and item.text.rstrip().endswith("?")
