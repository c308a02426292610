"""The whole way from a question to its answer, without doing anything: what is to be done is yielded.

Drive it like this (``streams.chat.answering.driving`` does, with a model, a search and a clock)::

    way = answering(asked, rules, now)
    step = next(way)
    while True:
        match step:
            case Ask(dialogue):  step = way.send(ModelReply(text, ended))   # stream it, show its pieces
            case Search():       step = way.send(found)                # or a sentence: why there is none
            case _:              show(step); step = way.send(None)     # Say, PromptLaid, MemorySearched, Notice
    # StopIteration: its value is the Answer
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

import msgspec

from models.answers import (
    Answer,
    AnswerItem,
    AnswerKind,
    Dialogue,
    Ended,
    MemorySearched,
    Notice,
    PromptLaid,
    ToolCall,
    ToolRound,
    Trouble,
)
from models.context import Tier, TierUse
from processors.prompts import answer as prompts
from processors.prompts.answering import plain
from processors.prompts.answering.material import Asked, Found, Material, material
from processors.prompts.answering.material import answering as answering_items
from processors.prompts.answering.searching import Search, search_of
from processors.text.tokens import TokenCounter

BUILTIN = "builtin"

#: Tokens of the marks around the data of one search, and around the data itself.
_MARKS = 100


class Ask(NamedTuple):
    """The model is to be asked; send :class:`ModelReply`."""

    dialogue: Dialogue


class ModelReply(NamedTuple):
    """All that the model said, and how it ended."""

    text: str
    ended: Ended


class Say(NamedTuple):
    """A text of ours is part of the answer, as if the model had said it; send ``None``."""

    text: str


Step: TypeAlias = Ask | Search | Say | PromptLaid | MemorySearched | Notice
Reply: TypeAlias = ModelReply | Found | str | None
Way: TypeAlias = Generator[Step, Reply, Answer]


class Rules(NamedTuple):
    """Rules of every answer: token counter, prompt budget, and the model's name (``""`` without one)."""

    count: TokenCounter
    budget: int = 1500
    model: str = ""


def answering(asked: Asked, rules: Rules, now: datetime) -> Way:
    """Yield what is to be done and return the answer; ``now`` is when it is asked."""
    return (yield from _Answering(asked, rules, now).run())


class _Answering:
    """An answer in the making."""

    def __init__(self, asked: Asked, rules: Rules, now: datetime) -> None:
        self._asked = asked
        self._rules = rules
        self._now = now
        self._numbers: dict[str, int] = {}
        self._text = ""
        self._by = BUILTIN
        self._cut = False
        self._found: list[Found] = []
        self._searches: list[MemorySearched] = []
        self._called: list[tuple[ToolCall, ...]] = []
        self._notices: list[Notice] = []
        self._spent: list[Ended] = []

    def run(self) -> Way:
        """Go the whole way."""
        understanding = self._asked.understanding
        laid = self._material()
        yield self._laid(laid)
        if understanding.is_ambiguous:
            yield from self._say(plain.asked_back(understanding))
            return self._answer(laid, AnswerKind.CLARIFYING)
        trouble: Notice | None = None
        if self._rules.model:
            laid, trouble = yield from self._by_model(laid)
            if trouble is None:
                return self._answer(laid, AnswerKind.ANSWERED)
            self._notices.append(trouble)
            yield trouble
            if self._text.strip():
                self._cut = True
                return self._answer(laid, AnswerKind.ANSWERED)
        why = f" ({trouble.problem.value.replace('_', ' ')})" if trouble is not None else ""
        self._by = f"{BUILTIN}{why}"
        known = answering_items(self._asked, laid.items)
        meant = understanding.rewritten_query or self._asked.turn.text
        text, kind = plain.quotation(known, meant, blind=self._asked.blind)
        yield from self._say(text)
        return self._answer(laid, kind)

    # -- with a model --------------------------------------------------------------------------------------

    def _by_model(self, laid: Material) -> Generator[Step, Reply, tuple[Material, Notice | None]]:
        """Ask, search as it wishes and ask again; return what it saw at last, and what went wrong."""
        self._by = self._rules.model
        while True:
            heard = yield Ask(self._dialogue(laid))
            assert isinstance(heard, ModelReply)
            self._text += heard.text
            self._spent.append(heard.ended)
            if heard.ended.trouble is not None:
                return laid, heard.ended.trouble
            if not heard.ended.calls or len(self._called) == prompts.MOST_ROUNDS:
                if self._text.strip():
                    return laid, None
                return laid, Notice(problem=Trouble.EMPTY, message="The model answered nothing.")
            yield from self._search(heard.ended.calls)
            laid = self._material()
            yield self._laid(laid)

    def _search(self, calls: Sequence[ToolCall]) -> Generator[Step, Reply, None]:
        self._called.append(tuple(calls))
        for call in calls:
            search = search_of(call)
            found: Reply = search.problem
            if not search.problem:
                found = yield search
            known = found if isinstance(found, Found) else Found()
            done = MemorySearched(
                round=len(self._called),
                query=search.query,
                search_type=search.search_type,
                limit=search.limit,
                found=known.ids,
                problem=found if isinstance(found, str) else "",
            )
            self._found.append(known)
            self._searches.append(done)
            yield done

    def _dialogue(self, laid: Material) -> Dialogue:
        turn = self._asked.turn
        made = prompts.prompt(
            laid.inside(),
            turn.turn_id,
            self._rounds(laid),
            may_search=len(self._called) < prompts.MOST_ROUNDS,
            style=self._style(),
        )
        return msgspec.structs.replace(
            made, tenant_id=turn.tenant_id, user_id=turn.user_id, conversation_id=turn.conversation_id
        )

    def _rounds(self, laid: Material) -> list[ToolRound]:
        """Return the tool rounds; an item found by two searches is shown with the first."""
        done, told, rounds = iter(self._searches), set[str](), []
        for calls in self._called:
            results = []
            for search in (next(done) for _ in calls):
                new = laid.searched(each for each in search.found if each not in told)
                told.update(search.found)
                results.append(prompts.result(new, search.problem, laid.above(search.found)))
            rounds.append(ToolRound(calls=calls, results=tuple(results)))
        return rounds

    # -- what it is made of ----------------------------------------------------------------------------------

    def _style(self) -> str:
        """Return the application's style instructions, up to a fifth of the budget."""
        style, count = self._asked.style, self._rules.count
        words = style.split()
        while words and count(style) > self._rules.budget // 5:
            words = words[: len(words) * 9 // 10]
            style = " ".join(words)
        return style if words else ""

    def _system_tokens(self) -> int:
        """Return the tokens of the task with the tool, the data marks and those of each search."""
        texts = sum(map(self._rules.count, (prompts.SYSTEM, prompts.DECLARED, prompts.TODAY, self._style())))
        return texts + _MARKS * (1 + sum(map(len, self._called)))

    def _material(self) -> Material:
        room = self._rules.budget - self._system_tokens()
        return material(self._asked, self._found, room, self._now, self._rules.count, self._numbers)

    def _laid(self, laid: Material) -> PromptLaid:
        inside = [item for item in laid.items if item.left_out is None]
        system = self._system_tokens()
        used = TierUse(
            tier=Tier.SYSTEM,
            limit=self._rules.budget - laid.tokens,
            tokens=system,
            items=1,
            left_out=0,
        )
        assert all(item.n for item in inside)
        return PromptLaid(
            version=prompts.VERSION,
            round=len(self._called),
            budget=self._rules.budget,
            tokens=laid.tokens + system,
            tiers=(*laid.tiers, used),
            items=laid.items,
        )

    def _say(self, text: str) -> Generator[Step, Reply, None]:
        self._text += text
        yield Say(text)

    def _answer(self, laid: Material, kind: AnswerKind) -> Answer:
        return Answer(
            text=self._text,
            kind=kind,
            by=self._by,
            understanding=self._asked.understanding,
            prompt=msgspec.structs.replace(self._laid(laid), items=quoted(laid.items, self._text)),
            searches=tuple(self._searches),
            notices=tuple(self._notices),
            cut=self._cut,
            input_tokens=sum(each.input_tokens for each in self._spent),
            output_tokens=sum(each.output_tokens for each in self._spent),
            cost_usd=sum(each.cost_usd for each in self._spent),
        )


def quoted(items: Sequence[AnswerItem], text: str) -> tuple[AnswerItem, ...]:
    """Return the items, those marked that an answer names by number; a number that none has is nobody's."""
    named = prompts.cited(text)
    return tuple(msgspec.structs.replace(item, quoted=True) if item.n in named else item for item in items)
