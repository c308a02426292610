"""Matching of an exported chat to its conversation: it names none, and may begin anywhere in the chat.

An export that comes later, begins later, or comes from a phone that calls people something else shares most
messages with the one before it, as far as both reach.  Another chat shares at most what somebody sent to both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from models.ids import turn_id
from streams.admin.importing.scratch import Rows, number_of

#: Of the messages of an export between the first and the last one of a conversation it must hold so many.
_SHARE = 0.5

_TABLE = (
    "CREATE TABLE said (turn INTEGER PRIMARY KEY, tenant TEXT, message TEXT, conversation TEXT, person TEXT,"
    " at REAL)"
)


class Continued(NamedTuple):
    """The conversation that an export continues, and who its speakers are there: ids by names."""

    conversation_id: str
    people: dict[str, str]


class Exported(NamedTuple):
    """A message of an export: its id, when it was sent (epoch seconds), and the speaker's name."""

    message_id: str
    sent_at: float
    speaker: str


class Chats:
    """The imported messages of chats whose exports name no conversation."""

    def __init__(self) -> None:
        self._rows = Rows(_TABLE, "CREATE INDEX messages ON said (tenant, message)")

    def add(self, tenant_id: str, conversation_id: str, message_id: str, user_id: str, at: float) -> None:
        """A message is there."""
        turn = number_of(turn_id(tenant_id, conversation_id, message_id))
        row = (turn, tenant_id, message_id, conversation_id, user_id, at)
        self._rows.ask("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?, ?, ?)", row)

    def forget_turn(self, number: int) -> None:
        """The turn with this number was erased."""
        self._rows.ask("DELETE FROM said WHERE turn = ?", (number,))

    def forget(self, tenant_id: str, conversation_id: str, user_id: str = "") -> None:
        """Record the erasure of a person's messages in a conversation; without one, of all of it."""
        self._rows.ask(
            "DELETE FROM said WHERE tenant = ? AND conversation = ? AND ? IN ('', person)",
            (tenant_id, conversation_id, user_id),
        )

    def continued(self, tenant_id: str, exported: Iterable[Exported]) -> Continued | None:
        """Return the conversation that an export continues; ``None`` if it is a chat of its own."""
        shared: Counter[str] = Counter()
        people: dict[str, dict[str, Counter[str]]] = {}
        times: list[float] = []
        for message in exported:
            times.append(message.sent_at)
            held = self._rows.ask(
                "SELECT conversation, person FROM said WHERE tenant = ? AND message = ?",
                (tenant_id, message.message_id),
            )
            for conversation_id, user_id in held:
                shared[conversation_id] += 1
                known = people.setdefault(conversation_id, {}).setdefault(message.speaker, Counter())
                known[user_id] += 1
        for conversation_id, number in shared.most_common():
            [(first, last)] = self._rows.ask(
                "SELECT min(at), max(at) FROM said WHERE tenant = ? AND conversation = ?",
                (tenant_id, conversation_id),
            )
            if number >= _SHARE * sum(first <= at <= last for at in times):
                names = people[conversation_id]
                return Continued(
                    conversation_id, {name: known.most_common(1)[0][0] for name, known in names.items()}
                )
        return None
