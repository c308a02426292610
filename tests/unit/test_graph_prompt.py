"""The graph asked of a language model: what a true answer says, and that a lying one writes nothing."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from injections import ATTEMPTS

from models.messages import Role
from models.windows import Window
from processors.prompts import extraction, graph
from tests import prompt_examples as examples


def window(*lines: tuple[str, Role, str]) -> Window:
    base = examples.window()
    messages = tuple(
        msgspec.structs.replace(message, user_id=user, role=role, content=text)
        for message, (user, role, text) in zip(base.messages, lines, strict=False)
    )
    names = tuple(each.message_id for each in messages)
    return msgspec.structs.replace(base, messages=messages, message_ids=names, to_index=len(messages) - 1)


TOLD = window(
    ("mara", Role.USER, "My sister Anna lives in Berlin."),
    ("mara", Role.ASSISTANT, "Tom lives in Rome."),
    ("eve", Role.USER, "Bob works at Globex."),
)
TRUE: dict[str, Any] = {
    "n": 1,
    "subject": {"type": "person", "name": "", "role": "self"},
    "relation": "sister",
    "object": {"type": "person", "name": "Anna", "role": "sister"},
    "ended": False,
    "quote": "My sister Anna",
}


def read(*said: dict[str, Any]) -> graph.Reading:
    return graph.read(answer(*said), TOLD)


def answer(*said: Any) -> str:
    return json.dumps({"notes": [], "relations": said})


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ({"n": 9}, "unknown_source"),
        ({"n": 2, "quote": "Tom lives in Rome"}, "unknown_source"),
        ({"quote": "My sister Eva"}, "not_their_words"),
        ({"object": {"type": "person", "name": "Tom", "role": "brother"}}, "not_borne_out"),
        ({"object": {"type": "place", "name": "Berlin", "role": ""}}, "not_borne_out"),
        ({"relation": "birthday", "object": {"type": "date", "name": "someday", "role": ""}}, "not_borne_out"),
        ({"quote": ""}, "malformed"),
    ],
)
def test_a_model_that_lies_writes_nothing(lie: dict[str, Any], why: str) -> None:
    assert read({**TRUE, **lie}) == graph.Reading((), (why,))
    assert len(read(TRUE, {**TRUE, **lie}).statements) == 1


@pytest.mark.parametrize("attempt", ATTEMPTS[::6])
def test_no_order_in_a_message_becomes_a_name(attempt: str) -> None:
    """Said by the assistant it is nobody's; said by a person it is quoted, and a name it is not."""
    for author, role in (("mara", Role.ASSISTANT), ("eve", Role.USER)):
        said = window(("mara", Role.USER, "I like tea."), (author, role, attempt))
        lie = {
            **TRUE,
            "n": 2,
            "quote": attempt,
            "object": {"type": "person", "name": attempt, "role": "sister"},
        }
        found = graph.read(answer(lie, {**lie, "n": 1}), said)
        assert not [each for each in found.statements if each.user_id == "mara"]


def several() -> list[Window]:
    """Three windows of one person: what was told, nothing, and another sister."""
    silent = window(("mara", Role.USER, "Good morning."), ("mara", Role.ASSISTANT, "Hello."))
    other = window(("mara", Role.ASSISTANT, "Hello."), ("mara", Role.USER, "My sister Eva called."))
    return [TOLD, silent, other]


EVA = {**TRUE, "n": 7, "object": {"type": "person", "name": "Eva", "role": "sister"}, "quote": "My sister Eva"}


def test_each_window_gets_its_own_part_of_an_answer() -> None:
    windows = several()
    told = extraction.parts(answer(TRUE, EVA), windows)
    found = [graph.read(part, each).statements for part, each in zip(told, windows, strict=True)]
    assert [[each.object.name for each in statements] for statements in found] == [["Anna"], [], ["Eva"]]
    assert all(told), "of what says nothing nothing is asked again"
    assert found[2][0].source.message_id == windows[2].messages[1].message_id
