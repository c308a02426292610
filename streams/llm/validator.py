"""The merge validator that asks a language model; over the budget, or refused, every fact stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.consolidation import MergeCluster
from models.memo import Memo, Outcome
from models.ports import MergeValidator, TryLater, Validated
from processors.prompts import merging
from processors.prompts.fence import line
from processors.prompts.prompt import Prompt
from streams.llm.asking import Asking, unavailable
from streams.llm.questions import Question


class _Clusters:
    """The purpose; see :class:`streams.llm.questions.Purpose`."""

    name = "merging"
    version = merging.VERSION
    per_call = 1

    def __init__(self, clusters: Sequence[MergeCluster]) -> None:
        self._clusters = clusters

    async def compose(self, numbers: Sequence[int]) -> Prompt:
        return merging.prompt(self._clusters)

    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]:
        return [answer]


class ModelMergeValidator:
    """Implements :class:`models.ports.MergeValidator`."""

    def __init__(self, asking: Asking, builtin: MergeValidator) -> None:
        self._asking = asking
        self._builtin = builtin

    @property
    def name(self) -> str:
        """Name and version, as stored in each step that follows."""
        return f"{self._asking.model}/{merging.VERSION}"

    async def validate(self, user_id: str, tenant_id: str, clusters: Sequence[MergeCluster]) -> Validated:
        """Return the verdicts on one person's clusters, from one call.

        Raises:
            DependencyUnavailable: there is no answer now.
        """
        asked = "\n".join(map(line, merging.records_of(clusters)))
        question = Question(tenant_id, user_id, "", asked)
        (answer,) = await self._asking.answers(_Clusters(clusters), [question])
        if isinstance(answer, TryLater):
            raise unavailable(answer)
        assert isinstance(answer, Memo)  # it is about facts, and not about what somebody said in a conversation
        if answer.outcome is Outcome.ANSWERED:
            verdicts = merging.read(answer.text, clusters)
            return Validated(verdicts, calls=1 if answer.call else 0, cost_usd=answer.cost_usd)
        why = "over budget" if answer.outcome is Outcome.OVER_BUDGET else "refused"
        kept = await self._builtin.validate(user_id, tenant_id, clusters)
        return msgspec.structs.replace(
            kept, by=f"{self._builtin.name} ({why})", calls=1 if answer.call else 0, cost_usd=answer.cost_usd
        )
