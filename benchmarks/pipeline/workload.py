"""The work that every contender does: decode, windows of 10 with 3 overlapping, uuid5, encode.

The same functions for all, so that a ratio compares how records are moved, not how windows are cut.
"""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID, uuid5

import msgspec

NAMESPACE = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
SIZE, OVERLAP = 10, 3

_TEXT = """
about after again all along already although always another answer anything around asked away back because
been before began behind being believe better between birthday bit book both bread bring brother busy called
came can change children city close coffee cold come could country course daughter day dinner does done door
down each early earth easy eat end enough even evening ever every everyone example eyes face family far
father feel few find first flight food for found four free friend from front full garden gave get give going
gone good great green ground group grow had half hand happy hard has have head hear heard help her here high
him his home hope hour house how idea important in into it its just keep kind knew know large last late
later lately learn leave left less let letter life light like line list little live long look lot love low
made make man many maybe me mean meeting might mind minute miss money month more morning most mother move
much music must my name near need never new next night nothing now number of off office often old on once
one only open or order other our out over own page paper part party people perhaps phone place plan play
please point price problem put question quick quiet rain reach read ready real really remember rest right
river road room run said same saw say school sea second see seem send sentence set several she should show
side since sister sleep small so some something soon sound spring start state station still stop story
street strong such summer sure table take talk tell than thank that the their them then there these they
thing think this those though thought three through time tired to today together told tomorrow too took town
train travel tree tried true try turn two under until up upon us use usual very visit voice wait walk want
warm was watch water way we week weekend well went were what when where which while white who why will
window winter wish with without woman word work world worry would write year yes yesterday yet you young
your
"""
_WORDS = _TEXT.split()


class Message(msgspec.Struct):
    """The fields of a chat message that the windows need."""

    message_id: str
    conversation_id: str
    content: str


class Window(msgspec.Struct):
    """A window of whole messages."""

    window_id: str
    conversation_id: str
    message_ids: list[str]
    contents: list[str]


class State(msgspec.Struct, array_like=True):
    """Per conversation: messages so far, and the open window."""

    count: int = 0
    ids: list[str] = []
    contents: list[str] = []


decode_message = msgspec.json.Decoder(Message).decode
decode_state = msgspec.json.Decoder(State).decode
encode = msgspec.json.Encoder().encode


def fold(state: State, message: Message) -> Window | None:
    """Add ``message`` to ``state`` (in place); return the window that it completes."""
    state.count += 1
    state.ids.append(message.message_id)
    state.contents.append(message.content)
    if len(state.ids) < SIZE:
        return None
    name = f"{message.conversation_id}/{state.count}"
    window = Window(str(uuid5(NAMESPACE, name)), message.conversation_id, state.ids, state.contents)
    state.ids, state.contents = state.ids[-OVERLAP:], state.contents[-OVERLAP:]
    return window


def chat_message(n: int, conversations: int) -> tuple[bytes, bytes]:
    """Return key and value of the ``n``-th message of a load over ``conversations`` (about 280 bytes).

    No two say the same: a load of one sentence would flatter whoever compresses.
    """
    conversation = f"conversation-{n % conversations:06d}"
    turn = n // conversations
    value: dict[str, Any] = {
        "message_id": f"{conversation}-{turn}",
        "conversation_id": conversation,
        "user_id": f"user-{n % conversations:06d}",
        "role": "assistant" if turn % 2 else "user",
        "content": " ".join(random.Random(n).choices(_WORDS, k=16)),
        "sent_at": f"2026-03-01T{turn // 3600 % 24:02d}:{turn // 60 % 60:02d}:{turn % 60:02d}Z",
    }
    return conversation.encode(), encode(value)
