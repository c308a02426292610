"""How often a consumer asks for records.

A broker answers a fetch as soon as one record is there, so of a stream of small records (an answer of a model,
piece by piece, times all who chat) each makes a fetch, a step and a produce request.  Asked a little later, one
fetch brings the pieces of all chats, and so does all that follows.  Who comes alone waits for nothing: the
pause is behind an answer that held records, and what is further apart does not meet it.

And where nothing happens, a fetch waits at the broker longer: five services that idled and their broker took
40 % of a core to ask.
"""

from __future__ import annotations

import time
from typing import Any

from aiokafka import AIOKafkaConsumer

from streams.clients.aiokafka_internals import FetchRequest

#: Pause after an answer that held records (seconds).
_PAUSE_SECONDS = 0.01

#: After so long without a record (seconds) a fetch may wait so long at the broker (ms).
_SILENCE_SECONDS, _SILENT_MS = 2.0, 500


def pace(consumer: AIOKafkaConsumer, pause: float = _PAUSE_SECONDS, *, rests: bool = False) -> None:
    """Have a started ``consumer`` ask a broker anew ``pause`` seconds after it has sent records, or later.

    ``rests``: where nothing comes, a fetch waits longer at the broker than the consumer is set to, and so does
    what else the consumer asks that broker.
    """
    fetcher, client = consumer._fetcher, consumer._client
    send, decide, usual_ms = client.send, fetcher._get_actions_per_node, fetcher._fetch_max_wait_ms
    heard: dict[int, float] = {}
    assigned: Any = None
    since = time.monotonic()

    async def send_and_note(node_id: int, request: Any, **options: Any) -> Any:
        response = await send(node_id, request, **options)
        if isinstance(request, FetchRequest) and _holds_records(response):
            heard[node_id] = time.monotonic()
        return response

    def decide_in_time(assignment: Any) -> tuple[Any, ...]:
        nonlocal assigned, since
        now = time.monotonic()
        if assignment is not assigned:
            assigned, since = assignment, now
        if rests:
            # While records wait here, those of their partition are not asked for: when they are taken, that
            # should not have to wait for a fetch of all others.
            is_silent = not fetcher._records and now - max([since, *heard.values()]) > _SILENCE_SECONDS
            fetcher._fetch_max_wait_ms = max(usual_ms, _SILENT_MS) if is_silent else usual_ms
        requests, resets, timeout, *others = decide(assignment)
        left = {node: heard[node] + pause - now for node, _ in requests if node in heard}
        due = [(node, request) for node, request in requests if left.get(node, 0.0) <= 0]
        if len(due) < len(requests):
            timeout = min(timeout, *(seconds for seconds in left.values() if seconds > 0))
        return due, resets, timeout, *others

    client.send, fetcher._get_actions_per_node = send_and_note, decide_in_time


def _holds_records(response: Any) -> bool:
    return any(entry[-1] for _, partitions in response.topics for entry in partitions)
