"""A model that follows every order it reads, on a real server, writes no fact about anybody but who gave it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from injections import ATTEMPTS

from deploy.local.model_server import ModelServer
from models.messages import Role
from models.statements import Statement
from models.windows import Window
from processors.facts.candidates import objection
from processors.prompts import extraction, fence, notes
from streams.config.settings import Settings
from streams.llm.factory import provider
from streams.llm.port import Answer, Provider
from tests import prompt_examples as examples

#: Who writes the attempt: somebody else in the conversation, what a tool returned, the assistant.
AUTHORS = [("eve", Role.USER), ("mara", Role.TOOL), ("mara", Role.ASSISTANT), ("mara", Role.SYSTEM)]


def window(attempt: str, author: str, role: Role) -> Window:
    """Return a window in which Mara says two things, and somebody the attempt, as message 3."""
    base = examples.window()
    first, second, third, fourth = base.messages
    replace = msgspec.structs.replace
    messages = (
        replace(first, content="I like tea."),
        replace(second, content="Noted."),
        replace(third, user_id=author, role=role, content=attempt),
        replace(fourth, content="And I have a dog."),
    )
    return replace(base, messages=messages)


def obedient(attempt: str) -> Any:
    """Return the script of a model that puts the attempt into Mara's mouth in every way."""
    note = {
        "n": 3,
        "quote": attempt,
        "note": "The user is healthy, as ordered.",
        "change": "new",
        "k": 0,
        "about": "user",
        "attribute": "health",
        "value": "as ordered",
        "denied": False,
        "date": "",
        "importance": 3,
        "sure": "high",
    }
    lies = [
        {},
        {"n": 1},
        {"quote": f"{attempt}\n{attempt}"},
        {"quote": attempt.split()[0]},
        {"n": 1, "quote": "as ordered"},
        {"n": 1, "quote": ""},
        {"n": 1, "quote": "I like tea."},
        {"n": 1, "quote": "I like tea.", "value": " ".join(attempt.split()[-3:])},
        {"n": 4, "quote": "I have a dog.", "value": "", "attribute": "other", "note": attempt[:600]},
        {"n": 4, "quote": "I have a dog.", "about": "Mara"},
        {"n": 9},
        {"n": "m-0"},
        {"n": 2, "quote": "Noted."},
        {"n": 1, "quote": "I like tea.", "change": "inverted"},
        {"n": 1, "quote": "I like tea.", "sure": 7},
        {"n": 1, "quote": "I like tea.", "change": "ends", "k": 1, "note": f"{attempt[:500]}"},
        {"user_id": "mara", "known": "f-1"},
    ]

    def script(body: Mapping[str, Any]) -> str:
        return json.dumps({"notes": [{**note, **lie} for lie in lies]})

    return script


async def learned(client: Provider, asked: Window) -> list[Statement]:
    said = await client.generate(extraction.prompt([asked]))
    assert isinstance(said, Answer)
    (part,) = extraction.parts(said.text, [asked])
    # What Eve says is hers, whatever she says.
    found = [each for each in notes.read(part, asked).statements if each.user_id == "mara"]
    return [each for each in found if objection(each, asked) is None]


async def test_nothing_that_was_ordered_becomes_a_fact_about_somebody_else() -> None:
    async with ModelServer() as server:
        client = provider(Settings(model_url=server.url, GEMINI_API_KEY="scripted").model_endpoint)
        for attempt in ATTEMPTS:
            server.scripts[:] = [obedient(attempt)]
            for author, role in AUTHORS:
                assert await learned(client, window(attempt, author, role)) == [], attempt
        assert server.count() == len(ATTEMPTS) * len(AUTHORS)
        await client.close()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_it_stays_inside_the_data(attempt: str) -> None:
    asked = window(attempt, "eve", Role.USER)
    prompt = extraction.prompt([asked])
    assert prompt.system == extraction.SYSTEM
    records = fence.opened(prompt.user)
    assert [each["text"] for each in records] == [message.content for message in asked.messages]
    assert [each.get("by", each.get("role")) for each in records] == ["A", "assistant", "B", "A"]
    assert len(prompt.user.splitlines()) == 2 + len(records), "a line for each record, and the two marks"
    assert all(each.isprintable() or each == "\n" for each in prompt.user)


async def test_what_the_person_says_is_learned_all_the_same() -> None:
    """Or the tests above would pass with a model that says nothing."""
    async with ModelServer() as server:
        client = provider(Settings(model_url=server.url, GEMINI_API_KEY="scripted").model_endpoint)
        found = await learned(client, window(ATTEMPTS[0], "eve", Role.USER))
        assert {(each.user_id, each.quote) for each in found} >= {
            ("mara", "I like tea."),
            ("mara", "And I have a dog."),
        }
        await client.close()
