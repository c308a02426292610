"""A LangGraph store over Switchboard: ``pip install 'switchboard-client[langgraph]'``.

The last part of a namespace is the person, as in ``("memories", "ada")``.  A value that is put is remembered as
something that they said; a search is of their whole memory: facts, and what was said anywhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp

from switchboard_client.errors import NotFound
from switchboard_client.synchronous import Switchboard
from switchboard_client.types import Fact, Message

#: People whose connections are kept open, and latest messages in which a key is looked for.
_PEOPLE, _LOOKED_AT = 64, 1000


class SwitchboardStore(BaseStore):
    """The memory of many people.  Arguments are those of :class:`switchboard_client.Switchboard`.

    A key is that of a value that was put, or the id of a fact.  Facts can be deleted; values cannot by
    themselves.  A value is found as soon as it was read, within a second.
    """

    def __init__(self, url: str = "http://127.0.0.1:8371", **options: Any) -> None:
        self._options = {"url": url, **options}
        self._people: dict[str, Switchboard] = {}

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out, in their order."""
        return [self._do(each) for each in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out, in their order, beside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Let go of the connections."""
        while self._people:
            self._people.popitem()[1].close()

    def _do(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            wanted = (op.filter or {}).items()
            found = (each for each in self._search(op) if wanted <= each.value.items())
            return list(islice(found, op.offset, op.offset + op.limit))
        if isinstance(op, PutOp):
            return self._put(op.namespace, op.key, op.value)
        raise NotImplementedError("Switchboard does not list namespaces: name the person's")

    def _memory(self, namespace: tuple[str, ...]) -> Switchboard:
        person = namespace[-1]
        if person not in self._people:
            if len(self._people) >= _PEOPLE:
                self._people.pop(next(iter(self._people))).close()
            self._people[person] = Switchboard(user_id=person, **self._options)
        return self._people[person]

    def _put(self, namespace: tuple[str, ...], key: str, value: Any) -> None:
        memory = self._memory(namespace)
        if value is None:
            if not _is_fact(key):
                raise ValueError(f"{key} was said: only facts can be deleted, or the conversation as a whole")
            return memory.forget(key)
        is_text = value.keys() == {"text"} and isinstance(value["text"], str)
        content = value["text"] if is_text else json.dumps(dict(value), ensure_ascii=False)
        # Another value under a key is another message; the same one counts once.
        name = f"{key}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        memory.add([Message(conversation_id=_conversation(namespace), content=content, message_id=name)])
        return None

    def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        memory = self._memory(namespace)
        try:
            if _is_fact(key):
                fact = memory.fact(key)
                return Item(value=_of_fact(fact), key=key, namespace=namespace, **_times(fact.learned_at))
            said = memory.messages(_conversation(namespace), limit=_LOOKED_AT)
        except NotFound:
            return None
        for each in reversed(said):
            if _key_of(each.message_id) == key:
                return Item(value=_value_of(each.content), key=key, namespace=namespace, **_times(each.sent_at))
        return None

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        memory, namespace = self._memory(op.namespace_prefix), op.namespace_prefix
        if not op.query:
            for fact in memory.facts():
                yield SearchItem(namespace, fact.fact_id, _of_fact(fact), **_times(fact.learned_at))
            return
        limit = 100 if op.filter else max(1, min(100, op.offset + op.limit))
        for each in memory.search(op.query, limit=limit).results:
            if (fact := each.fact) is not None:
                key, value, at = fact.fact_id, _of_fact(fact), fact.learned_at
            else:
                key, value, at = _key_of(each.message_ids[0]), {"text": each.text, "kind": each.kind}, None
            yield SearchItem(namespace, key, value, **_times(at), score=each.score)


def _conversation(namespace: tuple[str, ...]) -> str:
    return "store/" + "/".join(namespace)


def _value_of(content: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError:
        return {"text": content}
    return value if isinstance(value, dict) else {"text": content}


def _key_of(message_id: str) -> str:
    return message_id.rpartition("@")[0] or message_id


def _of_fact(fact: Fact) -> dict[str, Any]:
    return {"text": fact.statement, "kind": fact.kind, "confidence": fact.confidence}


def _times(at: datetime | None) -> dict[str, datetime]:
    return dict.fromkeys(("created_at", "updated_at"), at or datetime.now(UTC))


def _is_fact(key: str) -> bool:
    try:
        return str(UUID(key)) == key
    except ValueError:
        return False
