"""Messages of clients that send all of a conversation each time."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidRecord
from models.messages import Role
from processors.conversations.resent import said_of, spoken

TALK = [
    (Role.USER, "Hello"),
    (Role.ASSISTANT, "Good."),
    (Role.USER, "ok"),
    (Role.ASSISTANT, "Good."),
    (Role.USER, "ok"),
]


def ids(talk: list[tuple[Role, str]], conversation: str = "c-1") -> list[str]:
    return [each.message_id for each in said_of("default", conversation, talk)]


def test_each_message_has_an_id_that_stays() -> None:
    whole = ids(TALK)
    assert len(set(whole)) == 5
    assert [ids(TALK[:count]) for count in range(6)] == [whole[:count] for count in range(6)]
    assert not set(whole).intersection(ids(TALK, "c-2"))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "system", "content": "Be kind."}, None),
        ({"role": "developer", "content": "Be kind."}, None),
        ({"role": "assistant", "content": None}, None),
        ({"role": "user", "content": " "}, None),
        ({"role": "function", "name": "f", "content": "7"}, (Role.TOOL, "7")),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            (Role.USER, "[image]"),
        ),
    ],
)
def test_what_is_remembered_of_a_message(message: Any, told: Any) -> None:
    assert spoken(message) == told


@pytest.mark.parametrize("message", [{"role": "wizard", "content": None}, {"content": "Hi"}, {"role": 3}])
def test_a_message_of_nobody_is_refused(message: Any) -> None:
    with pytest.raises(InvalidRecord, match="role"):
        spoken(message)
