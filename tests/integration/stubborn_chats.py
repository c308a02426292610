"""People who chat while ``serve`` is killed under them, and what the topics must hold of it in the end."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from models.messages import ChatMessage
from models.turns import Turn
from streams.clients.catalog import Catalog
from tests.topic_records import records_of

MESSAGES, TURNS = "chat.messages.v1", "memory.turns.v1"


@dataclass
class Told:
    """What somebody who chats knows: what was confirmed, by ids, and what was answered to it."""

    conversations: set[str] = field(default_factory=set)
    confirmed: dict[str, str] = field(default_factory=dict)
    answered: dict[str, str] = field(default_factory=dict)
    #: How often a turn ended, by its status; one that was cut off has none.
    ends: Counter[str] = field(default_factory=Counter)
    #: Conversations with a turn that the first address has confirmed and not ended yet; whether there is one.
    at_first: set[str] = field(default_factory=set)
    under_way: asyncio.Event = field(default_factory=asyncio.Event)


class Person:
    """Says one thing after another, each under a name, until it is answered: at the first address, then any."""

    def __init__(self, urls: Sequence[str], told: Told, seed: int) -> None:
        self._user = f"mara-{uuid.uuid4().hex[:6]}"
        self._conversation = f"killed-{uuid.uuid4().hex[:8]}"
        self._urls, self._told = urls, told
        self._chance = random.Random(seed)
        told.conversations.add(self._conversation)

    async def chat(self, client: httpx.AsyncClient, over: asyncio.Event) -> None:
        """Chat until it is over, and to the end of what was begun."""
        number = 0
        while number == 0 or not over.is_set():
            number += 1
            turn = f"{self._conversation}-{number}"
            content = f"What do you think of the number {self._chance.randrange(10**6)}, and why?"
            url = self._urls[0]
            while not await self._is_answered(client, url, turn, content):
                await asyncio.sleep(0.2)  # as a client does before it tries again
                url = self._chance.choice(self._urls)
            await asyncio.sleep(3.0)  # nobody goes on at once, and a slow machine is not flooded with turns

    async def _is_answered(self, client: httpx.AsyncClient, url: str, turn: str, content: str) -> bool:
        path = f"{url}/v1/conversations/{self._conversation}/turns"
        body = {"user_id": self._user, "turn_id": turn, "content": content}
        answer = ""
        try:
            async with client.stream("POST", path, json=body) as stream:
                if stream.status_code in (409, 503):  # its lease has not ended, or serve has just started
                    return False
                assert stream.status_code == 200, await stream.aread()
                async for name, data in _events(stream):
                    if name == "turn":
                        self._told.confirmed[data["message_id"]] = content
                        self._under_way(url, began=True)
                    elif name == "message":
                        answer = data["content"]
                    elif name == "end":
                        self._told.ends[data["status"]] += 1
                        if data["status"] == "answered":
                            self._told.answered[f"{turn}.answer"] = answer
                            return True
                        assert data["status"] in ("interrupted", "failed") and data["try_again"], data
        except (httpx.RemoteProtocolError, httpx.ReadError):
            self._told.ends["cut off"] += 1
        except httpx.TransportError:
            pass  # nobody listens there now
        finally:
            self._under_way(url, began=False)
        return False

    def _under_way(self, url: str, *, began: bool) -> None:
        if url == self._urls[0]:
            (self._told.at_first.add if began else self._told.at_first.discard)(self._conversation)
            (self._told.under_way.set if self._told.at_first else self._told.under_way.clear)()


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


async def check(servers: str, catalog: Catalog, told: Told) -> bool:
    """Say whether the topics hold all that was told, and fail if they hold anything else.

    What was confirmed is there, and counts once; a turn has one answer, which is the one that was shown.
    ``False``: not all that was said has been read yet.
    """
    specs = {name: catalog.get(name) for name in (MESSAGES, TURNS)}
    records = await records_of(servers, {spec.name: spec.partitions for spec in specs.values()})
    written = _mine(told, [each.value for each in records[specs[MESSAGES].name]], ChatMessage)
    turns = _mine(told, [each.value for each in records[specs[TURNS].name]], Turn)

    said: dict[str, list[str]] = {}
    for message in written:
        said.setdefault(message.message_id, []).append(message.content)
    lost = (told.confirmed.keys() | told.answered.keys()) - said.keys()
    assert not lost, f"confirmed, and not in the topic: {sorted(lost)}"
    for message_id, content in told.confirmed.items():
        assert set(said[message_id]) == {content}, (message_id, said[message_id])
    for message_id, content in told.answered.items():
        assert content in said[message_id], (message_id, content, said[message_id])
    unasked = {name for name in said if f"{name.rpartition('.')[0]}.user" not in told.confirmed}
    assert not unasked, f"nobody said or was answered: {sorted(unasked)}"

    # A service that takes a partition over may write again what was written: the same turn, at the same place.
    counted = {(turn.message_id, turn.turn_id, turn.conversation_id, turn.index) for turn in turns}
    places = {message_id: (conversation, index) for message_id, _, conversation, index in counted}
    assert len(places) == len(counted), f"counted more than once: {sorted(counted)}"
    if places.keys() != said.keys():
        return False
    _in_order(told, places)
    return True


def _in_order(told: Told, places: Mapping[str, tuple[str, int]]) -> None:
    """What is answered comes after its question, and no place of a conversation is taken twice or left out."""
    for answer in told.answered:
        asked = places[f"{answer.removesuffix('.answer')}.user"]
        assert asked < places[answer], (answer, asked, places[answer])
    for conversation in told.conversations:
        indexes = sorted(index for where, index in places.values() if where == conversation)
        assert indexes == list(range(len(indexes))), (conversation, indexes)


def _mine(told: Told, values: Sequence[bytes | None], kind: type[Any]) -> list[Any]:
    found = []
    for value in values:
        try:
            decoded = msgspec.json.decode(value or b"", type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # other tests of this deployment send what is none
        if decoded.conversation_id in told.conversations:
            found.append(decoded)
    return found
