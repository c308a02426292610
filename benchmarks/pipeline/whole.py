"""The conversations stage's work without its runtime, for contenders that bring their own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from processors.conversations.fold import Fold
from processors.conversations.message_ids import IdPage
from processors.conversations.state import (
    ConversationPolicy,
    ConversationState,
    Kept,
)
from processors.text.validation import decode_chat_message
from streams.agents.ingest.conversations import STATE
from streams.llm.tokenizer import cl100k_counter

#: After every ``sent_at`` of the load (ms).
_ARRIVED_MS = 1_800_000_000_000


class WholeStep:
    """Validate, window, count tokens: one record on the state it left.

    Pages stay in memory, which is kinder to a contender than storing them would be.
    """

    def __init__(self) -> None:
        self._policy = ConversationPolicy()
        self._count = cl100k_counter()
        self._offset = 0
        self._pages: dict[tuple[str, int], Sequence[Kept] | None] = {}
        self._id_pages: dict[tuple[str, IdPage], bytes | None] = {}

    def step(self, value: bytes, payload: bytes | None) -> tuple[list[bytes], bytes]:
        """Return the outputs and the new state."""
        message = decode_chat_message(None, value, max_content_bytes=65_536, arrived_ms=_ARRIVED_MS)
        state = STATE.decode(payload) if payload else ConversationState(message.tenant_id, message.user_id)
        name = message.conversation_id
        fold = Fold(
            name,
            state,
            self._policy,
            self._count,
            ("chat.messages.v1", 0),
            lambda begins: self._pages[name, begins] or (),
            lambda page: self._id_pages[name, page] or b"",
        )
        self._offset += 1
        fold.add([(message, self._offset, 0.0)])
        after = fold.finish(0.0)
        assert after is not None
        self._id_pages.update({(name, page): ids for page, ids in fold.id_pages.items()})
        self._pages.update({(name, begins): page for begins, page in fold.pages.items()})
        outputs = [msgspec.json.encode(thing) for thing in (*fold.windows, *fold.requests)]
        return outputs, STATE.encode(after)
