"""The extractor that asks a language model; the built-in one stands in for it and signs what it did."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.memo import Erased, Memo, Outcome
from models.ports import Extracted, Extraction, Refused, TryLater
from models.windows import Window
from processors.prompts import notes
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.port import CONTEXT_EXCEEDED
from streams.llm.windows import WindowQuestions
from streams.telemetry.metrics import Metrics


class ModelExtractor:
    """Implements :class:`models.ports.Extractor`."""

    def __init__(self, questions: WindowQuestions, builtin: BuiltinExtractor, metrics: Metrics) -> None:
        self._questions = questions
        self._builtin = builtin
        self._metrics = metrics

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return self._questions.name

    async def extract(self, windows: Sequence[Window]) -> list[Extraction]:
        """Return the outcome of each window, in the order of ``windows``."""
        answers = await self._questions.answers(windows)
        return [await self._read(answer, each) for answer, each in zip(answers, windows, strict=True)]

    async def _read(self, answer: Memo | TryLater | Erased | None, window: Window) -> Extraction:
        if answer is None:
            return Extracted(())
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
        categories = {each.name for each in self._questions.rules(window.tenant_id).categories}
        reading = notes.read(answer.text, window, categories)
        for why in reading.dropped:
            self._metrics.statements_dropped_total.labels(why).inc()
        return Extracted(reading.statements)

    async def _stand_in(self, window: Window, why: str) -> Extraction:
        (found,) = await self._builtin.extract([window])
        return msgspec.structs.replace(found, by=f"{self._builtin.name} ({why})")
