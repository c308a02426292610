"""Questions, memories and a driver for tests of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import samples

from models.answers import Answer, Dialogue, Ended, ToolCall
from models.context import FoundBy
from models.messages import Role
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.prompts.answering.answering import Ask, ModelReply, Reply, Rules, Step, answering
from processors.prompts.answering.material import Asked, Found
from processors.prompts.answering.searching import Search
from processors.retrieval.context.ranking import Candidate
from processors.retrieval.recall.question import words_of
from streams.llm.tokenizer import cl100k_counter

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
COUNT = cl100k_counter()


def turn(text: str, index: int = 9, role: Role = Role.USER, message_id: str = "") -> Turn:
    names = {"turn_id": f"t-{index}", "message_id": message_id or f"m-{index}", "conversation_id": "c-1"}
    at = NOW - timedelta(minutes=30 - index)
    began = NOW - timedelta(hours=1)
    return samples.turn(
        index, text, user_id="mara", role=role, sent_at=at, arrived_at=at, began_at=began, **names
    )


def fact(name: str, text: str, similarity: float = 0.8) -> Candidate:
    return Candidate(
        id=name,
        text=text,
        found_by=FoundBy.TOOL,
        similarity=similarity,
        at=NOW - timedelta(days=3),
        words=tuple(words_of(text)),
        message_ids=(f"m-{name}",),
        conversation_id="c-0",
    )


def said(name: str, text: str, role: Role = Role.USER) -> Candidate:
    return Candidate(
        id=name,
        text=text,
        found_by=FoundBy.TOOL,
        similarity=0.7,
        at=NOW - timedelta(days=3),
        words=tuple(words_of(text)),
        role=role,
        message_ids=(f"m-{name}",),
        conversation_id="c-0",
    )


def clear(text: str) -> QueryUnderstanding:
    return QueryUnderstanding(query=text, is_ambiguous=False, score=0.1)


def asked(text: str, found: Found = Found(), **given: Any) -> Asked:  # noqa: B008
    return Asked(turn=turn(text), understanding=given.pop("understanding", clear(text)), found=found, **given)


def called(query: str = "cats", **arguments: Any) -> Ended:
    return Ended(calls=(ToolCall(name="search_memory", arguments={"query": query, **arguments}),))


class Driven:
    """A whole way, driven: what was asked of the model, searched for, shown, and the answer."""

    def __init__(
        self,
        question: Asked,
        model: Sequence[ModelReply] | Callable[[Dialogue], ModelReply] = (),
        finds: Callable[[Search], Found | str] = lambda search: Found(),
        *,
        budget: int = 1500,
    ) -> None:
        self.dialogues: list[Dialogue] = []
        self.searches: list[Search] = []
        self.steps: list[Step] = []
        self.answer: Answer
        said = model if callable(model) else lambda _: model[len(self.dialogues) - 1]
        way = answering(question, Rules(COUNT, budget, "a-model" if model else ""), NOW)
        reply: Reply = None
        try:
            while True:
                step = way.send(reply)
                reply = None
                if isinstance(step, Ask):
                    self.dialogues.append(step.dialogue)
                    reply = said(step.dialogue)
                elif isinstance(step, Search):
                    self.searches.append(step)
                    reply = finds(step)
                else:
                    self.steps.append(step)
        except StopIteration as done:
            self.answer = done.value
