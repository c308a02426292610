"""The graph reader that asks a language model; without an answer the tables' statements are all."""

from __future__ import annotations

from collections.abc import Sequence

from models.graph import GraphStatement
from models.memo import Memo, Outcome
from models.ports import TryLater
from models.windows import Window
from processors.prompts import graph
from streams.llm.asking import unavailable
from streams.llm.windows import WindowQuestions
from streams.telemetry.metrics import Metrics


class ModelGraphReader:
    """Implements :class:`models.ports.GraphReader`: the extractor's call about a window is this one's, too."""

    def __init__(self, questions: WindowQuestions, metrics: Metrics) -> None:
        self._questions = questions
        self._metrics = metrics

    @property
    def name(self) -> str:
        """Name and version."""
        return self._questions.name

    async def relate(self, windows: Sequence[Window]) -> list[tuple[GraphStatement, ...]]:
        """Return the statements of each window; a window without a person's message is not sent to the model.

        Raises:
            DependencyUnavailable: there is no answer now; what was answered is in the memo.
        """
        found = list[tuple[GraphStatement, ...]]()
        for answer, window in zip(await self._questions.answers(windows), windows, strict=True):
            if isinstance(answer, TryLater):
                raise unavailable(answer)
            text = answer.text if isinstance(answer, Memo) and answer.outcome is Outcome.ANSWERED else ""
            reading = graph.read(text, window)
            for why in reading.dropped:
                self._metrics.statements_dropped_total.labels(why).inc()
            found.append(reading.statements)
        return found
