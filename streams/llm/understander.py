"""The understander that asks a language model; over the budget, or refused, the built-in one does its work."""

from __future__ import annotations

from collections.abc import Sequence

from models.memo import Memo, Outcome
from models.ports import TryLater
from models.understanding import QueryUnderstanding, QuestionAsked, Understander
from processors.prompts import understanding
from processors.prompts.fence import line
from processors.prompts.prompt import Prompt
from streams.llm.asking import Asking, unavailable
from streams.llm.questions import Question


class _Asked:
    """The purpose; see :class:`streams.llm.questions.Purpose`."""

    name = "understanding"
    version = understanding.VERSION
    per_call = 1

    def __init__(self, asked: QuestionAsked) -> None:
        self._asked = asked

    async def compose(self, numbers: Sequence[int]) -> Prompt:
        return understanding.prompt(self._asked)

    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]:
        return [answer]


class ModelUnderstander:
    """Implements :class:`models.understanding.Understander`."""

    def __init__(self, asking: Asking, builtin: Understander) -> None:
        self._asking = asking
        self._builtin = builtin

    @property
    def name(self) -> str:
        """Name and version."""
        return f"{self._asking.model}/{understanding.VERSION}"

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return the meaning of a question.

        Raises:
            DependencyUnavailable: there is no answer now.
        """
        material = "\n".join(map(line, understanding.records_of(asked)))
        question = Question(asked.tenant_id, asked.user_id, asked.conversation_id, material)
        (answer,) = await self._asking.answers(_Asked(asked), [question])
        if isinstance(answer, TryLater):
            raise unavailable(answer)
        assert isinstance(answer, Memo)  # it is asked live, of what is there
        found = understanding.read(answer.text, asked) if answer.outcome is Outcome.ANSWERED else None
        return found if found is not None else await self._builtin.understand(asked)
