"""The graph reader that asks a language model; over the budget or refused, the tables are all there is."""

from __future__ import annotations

from collections.abc import Sequence

from models.graph import GraphStatement
from models.memo import Memo, Outcome
from models.ports import TryLater
from models.windows import Window
from processors.prompts import graph
from processors.prompts.fence import line
from processors.prompts.prompt import Prompt
from streams.llm.asking import Asking, unavailable
from streams.llm.questions import Question, said_in
from streams.telemetry.metrics import Metrics


class _Windows:
    """The purpose; see :class:`streams.llm.questions.Purpose`."""

    name = "graph"
    version = graph.VERSION

    def __init__(self, windows: Sequence[Window], per_call: int) -> None:
        self._windows = windows
        self.per_call = per_call

    def compose(self, numbers: Sequence[int]) -> Prompt:
        return graph.prompt([self._windows[number] for number in numbers])

    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]:
        return graph.parts(answer, [self._windows[number] for number in numbers])


class ModelGraphReader:
    """Implements :class:`models.ports.GraphReader`."""

    def __init__(self, asking: Asking, metrics: Metrics, windows_per_call: int) -> None:
        self._asking = asking
        self._metrics = metrics
        self._per_call = windows_per_call

    @property
    def name(self) -> str:
        """Name and version."""
        return f"{self._asking.model}/{graph.VERSION}"

    async def relate(self, windows: Sequence[Window]) -> list[tuple[GraphStatement, ...]]:
        """Return what is said in each window; nobody is asked about one in which no person speaks.

        Raises:
            DependencyUnavailable: there is no answer now; what was answered is in the memo.
        """
        shown = [(each, graph.records_of(each)) for each in windows]
        asked = [(window, records) for window, records in shown if records]
        questions = [
            Question(
                each.tenant_id,
                each.user_id,
                each.conversation_id,
                "\n".join(map(line, records)),
                said_in(each.messages),
            )
            for each, records in asked
        ]
        purpose = _Windows([each for each, _ in asked], self._per_call)
        answers = iter(await self._asking.answers(purpose, questions))
        found = list[tuple[GraphStatement, ...]]()
        for window, records in shown:
            if not records:
                found.append(())
                continue
            answer = next(answers)
            if isinstance(answer, TryLater):
                raise unavailable(answer)
            text = answer.text if isinstance(answer, Memo) and answer.outcome is Outcome.ANSWERED else ""
            reading = graph.read(text, window)
            for why in reading.dropped:
                self._metrics.statements_dropped_total.labels(why).inc()
            found.append(reading.statements)
        return found
