"""Questions to a language model when every message is understood and answered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from models.context import FoundBy
from models.messages import Role
from models.statements import Statement
from models.turns import Turn
from models.understanding import QueryUnderstanding, QuestionAsked
from processors.prompts import understanding
from processors.prompts.answering.answering import Ask, Rules, answering
from processors.prompts.answering.material import Asked, Found
from processors.prompts.prompt import Prompt
from processors.retrieval.context.ranking import Candidate
from processors.retrieval.recall.question import words_of
from processors.text.tokens import TokenCounter
from streams.config.settings import Settings

#: Statements that a question may bear on, turns it may refer to, turns in a prompt, and what a search finds.
_STATEMENTS, _REFERRED_TO, _RECENT, _FOUND = 5, 6, 5, 8


class Remembered(NamedTuple):
    """A person's turns, and what was found in them."""

    turns: list[Turn]
    statements: list[tuple[datetime, Statement]]


def questions(found: Remembered, count: TokenCounter) -> Iterator[tuple[str, Prompt]]:
    """Yield what is asked of a model when all that a person says is understood and answered."""
    rules = Rules(count, Settings().answer_tokens, "scripted")
    for n, turn in enumerate(found.turns):
        if turn.role is not Role.USER:
            continue
        before = found.turns[max(0, n - _REFERRED_TO) : n]
        known = [each for at, each in found.statements if at < turn.sent_at][-_FOUND:]
        facts = tuple(_candidate(f"f-{m}", each.statement, turn) for m, each in enumerate(known))
        asked = QuestionAsked(
            query=turn.text,
            user_id=turn.user_id,
            tenant_id="default",
            turns=[each.text for each in before],
            remembered=[each.statement for each in known[:_STATEMENTS]],
        )
        yield "understanding", understanding.prompt(asked)
        meant = QueryUnderstanding(
            query=turn.text, is_ambiguous=False, score=0.0, final_augmented_context=turn.text
        )
        earlier = [each for each in found.turns[: max(0, n - _REFERRED_TO)] if each.role is Role.USER]
        said_before = tuple(_candidate(each.turn_id, each.text, each) for each in earlier[-_FOUND:])
        material = Asked(
            turn=turn, understanding=meant, recent=tuple(before[-_RECENT:]), found=Found(facts, said_before)
        )
        made = next(step for step in answering(material, rules, turn.sent_at) if isinstance(step, Ask)).dialogue
        yield "answer", Prompt(made.version, made.system, made.user, dict(made.tool or {}), made.most_tokens)


def _candidate(name: str, text: str, turn: Turn) -> Candidate:
    return Candidate(
        id=name,
        text=text,
        found_by=FoundBy.MEANING,
        similarity=0.8,
        at=turn.sent_at,
        words=tuple(words_of(text)),
        message_ids=(turn.message_id,),
        conversation_id="earlier",
    )
