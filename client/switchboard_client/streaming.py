"""A turn's stream, taken up again where it broke off: no I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from switchboard_client.calls import Calls
from switchboard_client.core import EventReader, Policy, Request, Response, TransportError, read_problem
from switchboard_client.errors import Interrupted, Malformed, SwitchboardError
from switchboard_client.types import Event

#: After it nothing comes.
_LAST = "end"


class TurnStream:
    """State machine of one turn's stream: its driver sends :meth:`request` until :meth:`is_done`.

    The turn has an id of ours, so saying it again after a broken connection says nothing twice.
    """

    def __init__(
        self,
        calls: Calls,
        conversation_id: str,
        content: str,
        turn_id: str,
        policy: Policy,
        random: Callable[[], float],
    ) -> None:
        self._calls, self._conversation_id, self._turn_id = calls, conversation_id, turn_id
        self._said = calls.turn(conversation_id, content, turn_id)
        self._policy, self._random = policy, random
        self._reader = EventReader()
        self._failures = 0
        self._began = False
        self._done = False

    def is_done(self) -> bool:
        """Say whether the turn has ended."""
        return self._done

    def request(self) -> Request:
        """Return the next request: the turn itself, or the rest of its stream."""
        self._reader.reconnected()
        if not self._began:
            return self._said
        return self._calls.turn_again(self._conversation_id, self._turn_id, self._reader.last_id)

    def refused(self, response: Response) -> float:
        """It answered with a problem: return how long to wait, or raise it."""
        failed = read_problem(response)
        # A conflict with itself: what was said before the connection broke is still on its way.
        is_ours = response.status == 409 and failed.body.get("turn_id") == self._turn_id
        if response.status not in (429, 502, 503, 504) and not is_ours:
            raise failed
        return self._wait(failed, failed.retry_after)

    def broken(self, error: TransportError) -> float:
        """The connection broke, or nobody answered: return how long to wait before it is taken up again."""
        return self._wait(Interrupted(f"the stream of turn {self._turn_id} broke off: {error}"), None)

    def feed(self, piece: bytes) -> list[Event]:
        """Take a piece of the stream."""
        events = []
        for identity, kind, data in self._reader.feed(piece):
            if kind == "bye":
                continue  # the server stops: the rest is at another one
            try:
                told = msgspec.json.decode(data, type=dict[str, Any])
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise Malformed(f"event {identity} of turn {self._turn_id} cannot be read: {error}") from error
            self._began, self._failures = True, 0
            self._done = self._done or kind == _LAST
            events.append(Event(identity, kind, told))
        return events

    def _wait(self, error: SwitchboardError, wait: float | None) -> float:
        self._failures += 1
        if self._failures >= self._policy.attempts:
            raise error
        pause = self._policy.first_wait * 2 ** (self._failures - 1) * (0.5 + 0.5 * self._random())
        return float(min(self._policy.longest_wait, max(pause, wait or 0.0)))
