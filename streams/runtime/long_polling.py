"""How long the broker may wait before it answers a fetch with nothing.

It answers as soon as it has a record, so a longer wait makes nothing later that a fetch asks for.  But
aiokafka has one fetch with each broker at a time: a partition that it did not ask for, because records of it
were still waiting to be processed, is asked for only after the answer.  Hence a short wait while there is
work, and a longer one once nothing has come for some time: an idle worker then asks a fifth as often.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams.runtime.aiokafka_internals import FetchRequest

#: The longest wait.  It also delays what is asked of the same broker after a rebalance.
IDLE_WAIT_MS = 250


class LongPolling:
    """Doubles the wait of fetches with each answer that holds nothing; the first that holds something ends it.

    ``wait_ms``: the wait while there is work; what is longer than ``IDLE_WAIT_MS`` stays as it is.
    """

    def __init__(self, wait_ms: int) -> None:
        self._shortest_ms = self._wait_ms = wait_ms

    def watch(self, client: Any, in_hand: Callable[[], bool]) -> None:
        """Let aiokafka's ``client`` wait so from now on; ``in_hand``: records wait to be taken."""
        send = client.send

        async def send_and_note(node_id: int, request: Any, **options: Any) -> Any:
            if not isinstance(request, FetchRequest):
                return await send(node_id, request, **options)
            request._max_wait_ms = self._shortest_ms if in_hand() else self._wait_ms
            response = await send(node_id, request, **options)
            self._note(response.topics)
            return response

        client.send = send_and_note

    def _note(self, topics: Any) -> None:
        # An error (the second field) is asked about again soon, too.
        if any(entry[1] or entry[-1] for _, partitions in topics for entry in partitions):
            self._wait_ms = self._shortest_ms
        else:
            self._wait_ms = max(self._shortest_ms, min(self._wait_ms * 2, IDLE_WAIT_MS))
