"""Chat messages at a steady rate from many conversations at once, as good clients send them."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from aiokafka import AIOKafkaProducer

_TEXT = (
    "I really like blueberries in my smoothie every morning but never with milk because it makes me tired "
    "what about the train to Lisbon next week my sister wants to visit the old harbour and the museum"
)
_WORDS = _TEXT.split()

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Shape:
    """What the load is like.

    ``conversations`` go on at once; each has about ``length`` messages and is then replaced by a new one.
    ``repeats`` is the share of messages that are sent twice (a producer's retry with the same message id),
    ``late`` the share whose ``sent_at`` lies before that of the message before, ``pauses`` the share before
    which nobody said anything for so long that the window ends (``idle``).
    """

    conversations: int = 200
    length: int = 30
    repeats: float = 0.02
    late: float = 0.02
    pauses: float = 0.01


class Conversation:
    def __init__(self, name: str, seed: int, shape: Shape, began: datetime) -> None:
        self.name = name
        self._random = random.Random(seed)
        self._shape = shape
        self._sent_at = began
        self._count = 0
        self._last = b""
        self.left = max(1, int(self._random.lognormvariate(0, 0.5) * shape.length))

    def next(self) -> bytes:
        chance = self._random
        if self._last and chance.random() < self._shape.repeats:
            return self._last
        self.left -= 1
        self._sent_at += timedelta(milliseconds=chance.randint(1, 3000))
        if chance.random() < self._shape.pauses:
            self._sent_at += timedelta(minutes=20)
        late = timedelta(seconds=20) if chance.random() < self._shape.late else timedelta()
        self._last = _encode(
            {
                "message_id": f"{self.name}-{self._count}",
                "conversation_id": self.name,
                "user_id": f"user of {self.name}",
                "role": "assistant" if self._count % 2 else "user",
                "content": " ".join(chance.choices(_WORDS, k=chance.randint(1, 16))),
                "sent_at": self._sent_at - late,
            }
        )
        self._count += 1
        return self._last


def conversations(seed: int, shape: Shape, *, name: str = "c") -> Iterator[tuple[bytes, bytes]]:
    """Yield (key, value) for ever: the conversations take turns at random."""
    chance = random.Random(seed)
    began = datetime.now(UTC) - timedelta(days=2)
    number = 0

    def another() -> Conversation:
        nonlocal number
        number += 1
        return Conversation(f"{name}{number}", chance.getrandbits(32), shape, began)

    going_on = [another() for _ in range(shape.conversations)]
    while True:
        at = chance.randrange(len(going_on))
        conversation = going_on[at]
        yield conversation.name.encode(), conversation.next()
        if conversation.left <= 0:
            going_on[at] = another()


class Load(threading.Thread):
    """Sends records at ``rate`` per second in a thread of its own, until ``total`` are sent or it is stopped.

    Every record is acknowledged by all replicas, in order (idempotent producer).  A broker that is away is
    waited for.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        records: Iterator[tuple[bytes | None, bytes | None]],
        *,
        rate: float,
        total: int | None = None,
        partition: Callable[[bytes | None], int] | None = None,
        compression: str | None = None,
    ) -> None:
        super().__init__(name="load", daemon=True)
        self.sent = 0
        self._servers = servers
        self._topic = topic
        self._records = records
        self._rate = rate
        self._total = total
        self._partition = partition
        self._compression = compression
        self._stop_asked = threading.Event()
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            asyncio.run(self._send_all())
        except BaseException as error:  # noqa: BLE001 - handed to the test by finish()
            self._error = error

    async def finish(self, timeout: float = 240.0) -> int:
        """Wait until everything is sent and acknowledged; return how many records that were."""
        deadline = time.monotonic() + timeout
        while self.is_alive():
            assert time.monotonic() < deadline, f"the load did not end ({self.sent} records sent)"
            await asyncio.sleep(0.02)
        if self._error is not None:
            raise self._error
        return self.sent

    def ask_to_stop(self) -> None:
        self._stop_asked.set()

    async def stop(self) -> int:
        self.ask_to_stop()
        return await self.finish()

    async def reaches(self, count: int, timeout: float = 240.0) -> None:
        deadline = time.monotonic() + timeout
        while self.sent < count:
            assert self.is_alive(), f"the load ended at {self.sent} records: give it more to send, or no end"
            assert time.monotonic() < deadline, f"the load stands at {self.sent} records"
            await asyncio.sleep(0.02)

    async def _send_all(self) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._servers,
            acks="all",
            enable_idempotence=True,
            compression_type=self._compression,
            request_timeout_ms=120_000,
            max_batch_size=128 * 1024,
        )
        await producer.start()
        try:
            confirmations: list[asyncio.Future] = []
            began = time.monotonic()
            while not self._stop_asked.is_set() and self.sent != self._total:
                due = int((time.monotonic() - began) * self._rate)
                if self._total is not None:
                    due = min(due, self._total)
                while self.sent < due and not self._stop_asked.is_set():
                    key, value = next(self._records)
                    partition = self._partition(key) if self._partition else None
                    confirmations.append(await producer.send(self._topic, value, key, partition))
                    self.sent += 1
                if len(confirmations) > 20_000:
                    await asyncio.gather(*confirmations[:10_000])
                    del confirmations[:10_000]
                await asyncio.sleep(0.01)
            await asyncio.gather(*confirmations)
        finally:
            await producer.stop()
