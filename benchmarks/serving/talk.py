"""Made-up people's conversations, sent to a deployment at once; and waiting until it has nothing more to do."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

from benchmarks.notebook.labels import HERE, people
from benchmarks.serving.deployment import PATIENCE, Deployment
from models.messages import ChatMessage, Role

_QUIET_SECONDS = 5.0


async def say(deployment: Deployment, count: int, first: int = 0, rate: float = 0.0) -> None:
    """Publish ``count`` messages of what made-up people said, over and over under other names.

    ``first``: how many were published before.  ``rate``: messages a second; 0: as fast as they are taken.
    """
    said = [
        (person["person"], session["conversation_id"], message)
        for person in people(HERE / "people")
        for session in person["sessions"]
        for message in session["messages"]
    ]
    start = datetime.now(UTC) - timedelta(days=1)
    cycle = itertools.islice(enumerate(itertools.cycle(said)), first, first + count)
    clock = asyncio.get_running_loop().time
    began = clock()
    for number, (person, conversation, message) in cycle:
        if rate:
            await asyncio.sleep(max(0.0, began + (number - first) / rate - clock()))
        time_round = number // len(said)
        await deployment.say(
            ChatMessage(
                message_id=f"{message['id']}-{time_round}",
                conversation_id=f"{conversation}-{time_round}",
                user_id=f"{person}-{time_round}",
                role=Role(message["role"]),
                content=message["text"],
                sent_at=start + timedelta(seconds=number),
            )
        )


async def quiet(deployment: Deployment) -> None:
    """Wait until the services have nothing more to do."""
    before, since = -1.0, asyncio.get_running_loop().time()
    async with asyncio.timeout(10 * PATIENCE):
        while True:
            now = await deployment.records("recall", "memory.embeddings.v1")
            now += await deployment.records("memory", "memory.windows.v1")
            if now != before:
                before, since = now, asyncio.get_running_loop().time()
            elif asyncio.get_running_loop().time() - since > _QUIET_SECONDS:
                return
            await asyncio.sleep(0.5)
