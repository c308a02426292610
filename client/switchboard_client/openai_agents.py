"""A session of the OpenAI Agents SDK over Switchboard: ``pip install 'switchboard-client[openai-agents]'``.

::

    session = SwitchboardSession("c-1", user_id="ada")
    await Runner.run(agent, "What should I cook?", session=session)
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings

from switchboard_client.asynchronous import AsyncSwitchboard
from switchboard_client.errors import NotFound
from switchboard_client.types import Message

#: Latest messages of a conversation that a session begins with.
_BEGINS_WITH = 200

_REMEMBERED = "What is remembered of the person:\n"


class SwitchboardSession:
    """A conversation of one person: implements :class:`agents.memory.Session`.

    What people and the assistant say is remembered; calls of tools are kept for as long as this object lives.
    ``with_memory``: what is known of the person is put in front.  Other arguments are those of
    :class:`switchboard_client.AsyncSwitchboard`.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, *, user_id: str, with_memory: bool = True, **options: Any) -> None:
        self.session_id = session_id
        self._memory = AsyncSwitchboard(user_id=user_id, **options)
        self._with_memory = with_memory
        self._items: list[TResponseInputItem] | None = None

    async def close(self) -> None:
        """Let go of the connections."""
        await self._memory.close()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest items, oldest first; all of them with what is known of the person in front."""
        items = await self._known()
        if limit is not None:
            return items[-limit:] if limit > 0 else []
        return [*await self._remembered(), *items]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, and remember what somebody says in them."""
        said = [message for each in items if (message := self._message(each)) is not None]
        known = await self._known()
        for at in range(0, len(said), 1000):
            await self._memory.add(said[at : at + 1000])
        known += items

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item out of the session.  What was said in it stays remembered."""
        items = await self._known()
        return items.pop() if items else None

    async def clear_session(self) -> None:
        """Forget the conversation, and what was learned from it alone."""
        with suppress(NotFound):  # nothing was said yet
            await self._memory.forget_conversation(self.session_id)
        self._items = []

    async def _known(self) -> list[TResponseInputItem]:
        if self._items is None:
            try:
                said = await self._memory.messages(self.session_id, limit=_BEGINS_WITH)
            except NotFound:
                said = []
            self._items = [
                cast(TResponseInputItem, {"role": each.role, "content": each.content})
                for each in said
                if each.role in ("user", "assistant", "system") and each.content
            ]
        return self._items

    async def _remembered(self) -> list[TResponseInputItem]:
        if not self._with_memory:
            return []
        try:
            context = await self._memory.context(self.session_id)
        except NotFound:
            return []
        if not context.prompt:
            return []
        return [cast(TResponseInputItem, {"role": "system", "content": _REMEMBERED + context.prompt})]

    def _message(self, item: Any) -> Message | None:
        role, text = item.get("role"), text_of(item.get("content"))
        if role not in ("user", "assistant") or not text.strip():
            return None
        return Message(conversation_id=self.session_id, content=text, role=role)


def text_of(content: Any) -> str:
    """Return the text of an item's content: as it is, or joined from its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        each["text"] for each in parts if isinstance(each, dict) and isinstance(each.get("text"), str)
    )
