"""Taking out of an answer what it repeats, in the process that drives it, as the respond service does.

What comes of each piece is told at once.  What may repeat something is held until its time is up, by a timer.
With a memory that spans the conversation, an answer is compared with those that the conversation log has.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from models.messages import Role
from models.responses import ContentDuplicationEvent
from models.turns import Turn
from processors.responses.duplicates import find_duplicate
from processors.responses.filter import ResponseFilter
from processors.responses.halves import ReceivedChunk
from processors.responses.history import MEMORY, START, SeenElement
from processors.responses.sequence import ResponseSequencer, ResponseState, Sequenced
from streams.agents.respond.counting import counts_of
from streams.agents.respond.detection_log import DetectionLog
from streams.agents.respond.responses import policy_of
from streams.chat.events import TurnNames
from streams.config.settings import Settings
from streams.telemetry.metrics import Metrics

#: Pieces that come so soon after each other (seconds) are filtered, shown and sent as one.
_TOGETHER_SECONDS = 0.02

#: Characters of earlier answers that one is compared with: as many as the elements that are remembered.
_COMPARED_CHARACTERS = 60 * MEMORY


class FilterRules:
    """The rules, for all answers of a process, and the metrics in which their work is counted."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.spans_conversation = settings.response_memory == "conversation"
        self._memory = timedelta(seconds=settings.response_memory_seconds)
        # Whoever drives an answer knows when it ends: a model that is silent for long goes on all the same.
        self._policy = msgspec.structs.replace(policy_of(settings), idle_seconds=math.inf)
        self._log = DetectionLog(metrics.content_detection_latency_seconds.observe)
        self.sequencer = ResponseSequencer(ResponseFilter(self._policy, self._log.around(find_duplicate)))
        self._metrics = metrics

    def begin(self, names: TurnNames) -> None:
        """The comparisons that follow are about this conversation."""
        self._log.begin(names.conversation_id)

    def count(self, names: TurnNames, done: Sequenced, characters: int) -> None:
        """Count a step, and log it; ``characters``: how many came in."""
        if characters:
            self._metrics.response_characters_total.inc(characters)
        for metric, labels, n in counts_of(done):
            counter = getattr(self._metrics, metric)
            (counter.labels(*labels) if labels else counter).inc(n)
        for seconds in done.waited:
            self._metrics.response_hold_seconds.observe(seconds)
        self._log.tell(names.response_id, done)

    def said_in(self, turns: Sequence[Turn], now: datetime) -> tuple[SeenElement, ...]:
        """Return the text of the answers among the last turns of a conversation, oldest first."""
        answers: list[Turn] = []
        characters = 0
        for turn in reversed(turns):
            if turn.role is not Role.ASSISTANT or turn.sent_at <= now - self._memory:
                continue
            characters += len(turn.text)
            if characters > _COMPARED_CHARACTERS:
                break
            answers.append(turn)
        sequencer, said = ResponseSequencer(ResponseFilter(self._policy)), tuple[SeenElement, ...]()
        for turn in reversed(answers):
            chunk = ReceivedChunk(
                response_id=turn.message_id,
                conversation_id=turn.conversation_id,
                sequence=0,
                text=turn.text,
                final=True,
            )
            done = sequencer.push(None, chunk, turn.sent_at.timestamp(), said)
            said = (*said, START, *done.said)[-MEMORY:]
        return said


class AnswerFilter:
    """The filter of one answer, which must not repeat what was ``said`` before.

    ``shown``: what has left, ``duplicates``: what was repeated; ``tell`` is told of each as it happens.
    """

    def __init__(
        self,
        rules: FilterRules,
        names: TurnNames,
        said: tuple[SeenElement, ...],
        tell: Callable[[str | ContentDuplicationEvent], None],
    ) -> None:
        self.shown = ""
        self.duplicates: list[ContentDuplicationEvent] = []
        self._rules = rules
        self._names = names
        self._said = said
        self._tell = tell
        self._sequence = 0
        self._state: ResponseState | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heard = ""
        self._taking: asyncio.TimerHandle | None = None
        self._took_at = -math.inf
        self._error: Exception | None = None

    @property
    def is_final(self) -> bool:
        """Tell whether the answer has had its last piece."""
        return self._state is not None and self._state.closed

    def add(self, text: str) -> None:
        """Take the next piece of the answer, with those that come at the same time."""
        self._heard += text
        if self._taking is None:
            loop = asyncio.get_running_loop()
            self._taking = loop.call_at(max(loop.time(), self._took_at + _TOGETHER_SECONDS), self._take_heard)

    def finish(self) -> None:
        """Let the rest of the answer leave; raises what its filter has failed of."""
        self._stop_taking()
        if self._error is not None:
            raise self._error
        self._push(self._heard, final=True)

    def close(self) -> None:
        """Let nothing more leave."""
        self._stop_taking()
        self._stop_waiting()

    def _stop_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _take_heard(self) -> None:
        self._taking, self._took_at = None, asyncio.get_running_loop().time()
        text, self._heard = self._heard, ""
        try:
            self._push(text)
        except Exception as error:  # noqa: BLE001 - whoever drives the answer is told
            self._error = error

    def _push(self, text: str, *, final: bool = False) -> None:
        chunk = ReceivedChunk(
            response_id=self._names.response_id,
            conversation_id=self._names.conversation_id,
            tenant_id=self._names.tenant_id,
            sequence=self._sequence,
            text=text,
            final=final,
        )
        self._sequence += 1
        self._rules.begin(self._names)
        self._take(self._rules.sequencer.push(self._state, chunk, time.time(), self._said), len(text))

    def _release(self) -> None:
        assert self._state is not None
        self._rules.begin(self._names)
        self._take(self._rules.sequencer.tick(self._state, time.time()), 0)

    def _take(self, done: Sequenced, characters: int) -> None:
        self._stop_waiting()
        self._state = done.state
        self._rules.count(self._names, done, characters)
        for duplicate in done.duplicates:
            self.duplicates.append(duplicate)
            self._tell(duplicate)
        if text := "".join(chunk.text for chunk in done.chunks):
            self.shown += text
            self._tell(text)
        if done.state is None or done.state.closed:
            return
        due = self._rules.sequencer.wake_at(done.state)
        if due < math.inf:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, due - time.time()), self._release)
