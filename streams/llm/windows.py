"""Asking a model about windows: notes and, if wanted, relations, in one call that both readers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from models.memo import Erased, Memo
from models.messages import Role
from models.policies import Rules
from models.ports import KnownNote, KnownNotes, TryLater
from models.windows import Window
from processors.prompts import extraction, policy
from processors.prompts.fence import line
from processors.prompts.prompt import Prompt
from streams.clients.policies.known import NoPolicies, Policies
from streams.llm.asking import Asking
from streams.llm.questions import Question, said_in


class WindowQuestions:
    """Questions about windows.  ``known``: where known notes come from; ``with_graph``: ask for relations;
    ``policies``: what tenants want noted.

    Whoever asks second of the same windows finds the answer in the memo.
    """

    def __init__(
        self,
        asking: Asking,
        per_call: int,
        known: KnownNotes | None = None,
        *,
        with_graph: bool = False,
        policies: Policies | None = None,
    ) -> None:
        self.asking = asking
        self._policies = policies or NoPolicies()
        self._per_call = per_call
        self._known = known
        self._with_graph = with_graph

    @property
    def name(self) -> str:
        """Model and version of the prompt."""
        version = extraction.WITH_GRAPH if self._with_graph else extraction.VERSION
        return f"{self.asking.model}/{version}"

    def rules(self, tenant_id: str) -> Rules:
        """Return the rules of a tenant as they are now."""
        return self._policies.of(tenant_id).rules

    async def answers(self, windows: Sequence[Window]) -> list[Memo | TryLater | Erased | None]:
        """Return the answer about each window, ``None`` where nobody speaks: nothing would be read of it.

        Raises:
            DependencyUnavailable: memo or limiter cannot be reached; what was answered is in the memo.
        """
        spoken = [any(said.role is Role.USER for said in each.messages) for each in windows]
        asked = [each for each, speaks in zip(windows, spoken, strict=True) if speaks]
        rules = {each.tenant_id: self.rules(each.tenant_id) for each in asked}
        questions = [
            Question(
                each.tenant_id,
                each.user_id,
                each.conversation_id,
                _asked(each) + policy.addition(rules[each.tenant_id]),
                said_in(each.messages),
            )
            for each in asked
        ]
        purpose = _Windows(asked, self._per_call, self._known, rules, with_graph=self._with_graph)
        found: Iterator[Memo | TryLater | Erased] = iter(await self.asking.answers(purpose, questions))
        return [next(found) if speaks else None for speaks in spoken]


class _Windows:
    """The purpose; see :class:`streams.llm.questions.Purpose`."""

    name = "extraction"

    def __init__(
        self,
        windows: Sequence[Window],
        per_call: int,
        known: KnownNotes | None,
        rules: Mapping[str, Rules],
        *,
        with_graph: bool,
    ) -> None:
        self._windows = windows
        self._rules = rules
        self._source = known
        self._with_graph = with_graph
        self.per_call = per_call
        self.version = extraction.WITH_GRAPH if with_graph else extraction.VERSION
        #: What was shown in the call about some windows: the numbers in its answer count these.
        self._shown: dict[tuple[int, ...], Sequence[KnownNote]] = {}

    async def compose(self, numbers: Sequence[int]) -> Prompt:
        windows = [self._windows[number] for number in numbers]
        known = () if self._source is None else await self._source.known(windows)
        self._shown[tuple(numbers)] = known = tuple(known)[: extraction.MOST_KNOWN]
        rules = self._rules[windows[0].tenant_id]
        return extraction.prompt(windows, known, with_graph=self._with_graph, rules=rules)

    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]:
        windows = [self._windows[number] for number in numbers]
        return extraction.parts(answer, windows, self._shown.get(tuple(numbers), ()))


def _asked(window: Window) -> str:
    return "\n".join(map(line, extraction.records_of(window)))
