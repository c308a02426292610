"""The extractor that asks a language model; the built-in one stands in for it and signs what it did."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.memo import Erased, Memo, Outcome
from models.messages import Role
from models.ports import Extracted, Extraction, Refused, TryLater
from models.windows import Window
from processors.prompts import extraction
from processors.prompts.fence import line
from processors.prompts.prompt import Prompt
from streams.adapters.builtin_extractor import BuiltinExtractor
from streams.llm.asking import Asking
from streams.llm.port import CONTEXT_EXCEEDED
from streams.llm.questions import Question, said_in
from streams.telemetry.metrics import Metrics


class _Windows:
    """The purpose; see :class:`streams.llm.questions.Purpose`."""

    name = "extraction"
    version = extraction.VERSION

    def __init__(self, windows: Sequence[Window], per_call: int) -> None:
        self._windows = windows
        self.per_call = per_call

    def compose(self, numbers: Sequence[int]) -> Prompt:
        return extraction.prompt([self._windows[number] for number in numbers])

    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]:
        return extraction.parts(answer, len(numbers))


def _asked(window: Window) -> str:
    return "\n".join(map(line, extraction.records_of(window)))


class ModelExtractor:
    """Implements :class:`models.ports.Extractor`."""

    def __init__(
        self, asking: Asking, builtin: BuiltinExtractor, metrics: Metrics, windows_per_call: int
    ) -> None:
        self._asking = asking
        self._builtin = builtin
        self._metrics = metrics
        self._per_call = windows_per_call

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return f"{self._asking.model}/{extraction.VERSION}"

    async def extract(self, windows: Sequence[Window]) -> list[Extraction]:
        """Return what became of each window, in the order of ``windows``.

        About one in which only assistants or tools speak nobody is asked: nothing would be read of the answer.
        """
        asked = [each for each in windows if any(said.role is Role.USER for said in each.messages)]
        questions = [
            Question(each.tenant_id, each.user_id, each.conversation_id, _asked(each), said_in(each.messages))
            for each in asked
        ]
        answers = iter(await self._asking.answers(_Windows(asked, self._per_call), questions))
        spoken = {id(each) for each in asked}
        return [
            await self._read(next(answers), each) if id(each) in spoken else Extracted(()) for each in windows
        ]

    async def _read(self, answer: Memo | TryLater | Erased, window: Window) -> Extraction:
        if isinstance(answer, TryLater):
            return answer
        if isinstance(answer, Erased):
            return await self._builtin.read_left(window, answer)
        if answer.reason == CONTEXT_EXCEEDED:
            return await self._stand_in(window, "beyond the model's context")
        if answer.outcome is Outcome.REFUSED:
            return Refused(answer.reason, answer.message)
        if answer.outcome is Outcome.OVER_BUDGET:
            return await self._stand_in(window, "over budget")
        reading = extraction.read(answer.text, window)
        for why in reading.dropped:
            self._metrics.statements_dropped_total.labels(why).inc()
        return Extracted(reading.statements)

    async def _stand_in(self, window: Window, why: str) -> Extraction:
        (found,) = await self._builtin.extract([window])
        return msgspec.structs.replace(found, by=f"{self._builtin.name} ({why})")
