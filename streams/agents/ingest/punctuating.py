"""Commands get a place in the log of messages, as a punctuation between two of them."""

from __future__ import annotations

import msgspec

from models.commands import AnyCommand, Command, CommandKind
from models.errors import InvalidRecord
from models.messages import PUNCTUATION_HEADER, Punctuation, PunctuationKind
from processors.conversations.state import ConversationState
from processors.text.validation import decode
from streams.clients.records import SourceRecord, rerouted
from streams.clients.topics import MESSAGES
from streams.runtime.keyed import Run, Work

#: What takes the place of a command among the messages.
_PUNCTUATIONS: dict[str, PunctuationKind] = {
    CommandKind.CLOSE: PunctuationKind.CLOSE,
    CommandKind.ERASE: PunctuationKind.ERASE,
}

_encode = msgspec.json.Encoder().encode


def decode_command(record: SourceRecord) -> Command | None:
    """Return a command that is for this stage, ``None`` for others."""
    if decode(AnyCommand, record.value).command not in _PUNCTUATIONS:
        return None
    command = decode(Command, record.value)
    if record.key is not None and record.key != command.conversation_id.encode():
        raise InvalidRecord(
            "key_mismatch", "the record's key differs from conversation_id in its value: they must be equal"
        )
    return command


def fold_commands(
    before: ConversationState | None, run: Run[Command | None], work: Work
) -> ConversationState | None:
    """Give a command its place among the messages: after all that were acknowledged before it was sent."""
    for command, record in run.items:
        if command is not None:
            kind = _PUNCTUATIONS[command.command]
            user_id = command.user_id if kind is PunctuationKind.ERASE else ""
            value, headers = punctuation(kind, command.conversation_id, command.tenant_id, user_id)
            work.emit(MESSAGES, run.key, value, [*rerouted(record), *headers])
    return before


def punctuation(
    kind: PunctuationKind, conversation_id: str, tenant_id: str, user_id: str = ""
) -> tuple[bytes, list[tuple[str, bytes | None]]]:
    """Return value and headers of the record that stands for it among the messages."""
    value = Punctuation(punctuation=kind, conversation_id=conversation_id, tenant_id=tenant_id, user_id=user_id)
    return _encode(value), [(PUNCTUATION_HEADER, kind.encode())]
