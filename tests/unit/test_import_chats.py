"""Which conversation a WhatsApp export continues, and who its speakers are there."""

from __future__ import annotations

from streams.admin.importing.chats import Chats, Continued, Exported


def chats(**conversations: list[tuple[str, float, str]]) -> Chats:
    held = Chats()
    for conversation, messages in conversations.items():
        for message, at, person in messages:
            held.add("default", conversation, message, person, at)
    return held


FIRST = [("m1", 1.0, "mo"), ("m2", 2.0, "Fay"), ("m3", 3.0, "mo")]


def exported(*numbers: int, fay: str = "Fay") -> list[Exported]:
    return [Exported(f"m{n}", float(n), fay if n == 2 else "Mo") for n in numbers]


def test_an_erased_chat_is_not_continued() -> None:
    held = chats(one=FIRST)
    held.forget("default", "one", "mo")
    assert held.continued("default", exported(2)) == Continued("one", {"Fay": "Fay"})
    held.forget("default", "one")
    assert held.continued("default", exported(1, 2, 3)) is None
