"""The lease: a worker writes only while its group takes it for alive.

A worker that stood still (SIGSTOP, a frozen machine), was cut off or hung through a rebalance may find its
partitions in other hands, with its last outputs and states still waiting in the producer.  Written now, a
state would stand *behind* the newer one of the worker that took over, and compaction keeps what stands last.
So every produce request first asks whether the group has heard of this worker within a session.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from aiokafka.errors import KafkaError

from models.errors import ConsistencyError
from streams.clients.aiokafka_internals import ProduceRequest

_POLL_SECONDS = 0.05


class FencedInstanceIdError(ConsistencyError):
    """Another worker has taken this one's static name (Kafka's error of that name, which aiokafka lacks)."""


class LeaseLostError(KafkaError):  # type: ignore[misc]  # aiokafka is untyped
    """To aiokafka's producer: this batch will never be sent."""


class Lease:
    """Renewed by heartbeats (on the consumer's thread), asked before each write (on the main one).

    ``session`` is how long, in seconds, the group waits for a heartbeat.  ``name`` is the static member's.
    """

    def __init__(self, session: float, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._name = name
        self._clock = clock
        self._renewed_at: float | None = None
        #: Why nothing of ours is written any more, once something was refused.
        self.refusal: ConsistencyError | None = None
        #: Somebody else has our name.
        self.fenced = False

    def renew(self, at: float) -> None:
        """The group answered a request that was sent ``at`` (monotonic seconds): it takes us for a member."""
        self._renewed_at = at

    def lose(self, *, forgotten: bool = False) -> None:
        """The group says that we are no member, or (``forgotten``) that it has never heard of us."""
        if self._renewed_at is not None and forgotten:
            # It forgets who was silent for a session.  Sooner means that somebody else came with our name.
            self.fenced = self._clock() - self._renewed_at < self._session / 2
        self._renewed_at = None

    def silence(self) -> float:
        """Return for how long the group has not answered (seconds); 0 while we are no member."""
        return 0.0 if self._renewed_at is None else self._clock() - self._renewed_at

    def check_name(self) -> None:
        """Raise if another worker has taken our name.

        Raises:
            FencedInstanceIdError: it has; going on would take it back, and so on for ever.
        """
        if self.fenced:
            raise FencedInstanceIdError(
                f"another worker runs under the name {self._name!r}: give each worker of a service an instance "
                "id of its own (SWITCHBOARD_INSTANCE_ID). If it belongs to another deployment at this broker, "
                "in another namespace of Kubernetes, say: give that one a prefix of its own "
                "(SWITCHBOARD_TOPIC_PREFIX), else both share one memory"
            )

    async def held(self) -> None:
        """Return when the group is known to take us for alive.

        Raises:
            FencedInstanceIdError: another worker has our name.
            ConsistencyError: it does not, so what is about to be written is no longer ours to write.  From then
                on nothing is: what waits behind it is as late, and joining the group again must not let it out.
        """
        while True:
            self.check_name()
            if self.refusal is None and self._renewed_at is None:
                self.refusal = ConsistencyError(
                    "the group has given our partitions away while records were still to be written: the "
                    "process stood still or could not reach the broker. Restart it: they will be read again"
                )
            if self.refusal is not None:
                raise self.refusal
            if self.silence() < self._session:
                return
            await asyncio.sleep(_POLL_SECONDS)

    def guard(self, client: Any, refused: Callable[[ConsistencyError], None]) -> None:
        """Let the producer's ``client`` (aiokafka's) send produce requests only while the lease is held.

        ``refused`` is called before a request fails: the producer would only say that it did.
        """
        send = client.send

        async def guarded(node_id: int, request: Any, **options: Any) -> Any:
            if isinstance(request, ProduceRequest):
                try:
                    await self.held()
                except ConsistencyError as exc:
                    refused(exc)
                    raise LeaseLostError(str(exc)) from exc
            return await send(node_id, request, **options)

        client.send = guarded
