"""The summarizer that asks a language model; the built-in one stands in for it and signs what it did."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.memo import Erased, Outcome
from models.ports import Summarized, Summarizer, TryLater
from models.summaries import SessionSummary, SummaryRequest
from processors.prompts import summary
from processors.prompts.fence import line
from processors.prompts.prompt import Prompt
from streams.llm.asking import Asking, unavailable
from streams.llm.questions import Question, said_in


class _Request:
    """The purpose; see :class:`streams.llm.questions.Purpose`."""

    name = "summary"
    version = summary.VERSION
    per_call = 1

    def __init__(self, request: SummaryRequest) -> None:
        self._request = request

    async def compose(self, numbers: Sequence[int]) -> Prompt:
        return summary.prompt(self._request)

    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]:
        return [answer]


class ModelSummarizer:
    """Implements :class:`models.ports.Summarizer`."""

    def __init__(self, asking: Asking, builtin: Summarizer) -> None:
        self._asking = asking
        self._builtin = builtin

    @property
    def name(self) -> str:
        """Name and version, as stored in each summary."""
        return f"{self._asking.model}/{summary.VERSION}"

    async def summarize(self, request: SummaryRequest) -> Summarized:
        """Return the summary of the request's messages, or of its earlier summaries.

        Raises:
            DependencyUnavailable: there is no answer now; nothing is marked.
        """
        asked = "\n".join(map(line, summary.records_of(request)))
        # Of earlier summaries nobody can tell whose words are in them.
        said = (("", request.arrived_at),) if request.roll_up else said_in(request.messages)
        question = Question(request.tenant_id, request.user_id, request.conversation_id, asked, said)
        (answer,) = await self._asking.answers(_Request(request), [question])
        if isinstance(answer, TryLater):
            raise unavailable(answer)
        if isinstance(answer, Erased):
            return Summarized(SessionSummary(), by=f"{self._builtin.name} (erased)")
        if answer.outcome is Outcome.ANSWERED:
            return Summarized(summary.read(answer.text, request))
        why = "over budget" if answer.outcome is Outcome.OVER_BUDGET else "refused"
        made = await self._builtin.summarize(request)
        return msgspec.structs.replace(made, by=f"{self._builtin.name} ({why})")
