"""What a turn asks of memory is asked side by side: nothing waits for what it does not need."""

from __future__ import annotations

import asyncio

import pytest
from answer_samples import COUNT, fact, turn

from models.answers import Answer
from models.context import Context
from models.errors import NotFound
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.answering.material import Found
from processors.answering.searching import Search
from streams.answering import Answerer
from streams.search import Results, Wanted
from streams.search.results import scope_of
from streams.understanding import Understanding


class Memory:
    """Understands a question once it was searched for; ``rewritten``: what it means."""

    def __init__(self, rewritten: str | None) -> None:
        self.rewritten = rewritten
        self.searched: list[str] = []
        self._searched = asyncio.Event()

    async def recent(self, turn: Turn, count: int) -> list[Turn]:
        return []

    async def understand(self, turn: Turn) -> QueryUnderstanding:
        await self._searched.wait()
        return QueryUnderstanding(
            query=turn.text, is_ambiguous=False, score=0.0, rewritten_query=self.rewritten
        )

    async def context(self, turn: Turn) -> Context | None:
        return None

    async def search(self, turn: Turn, search: Search) -> Found:
        self.searched.append(search.query)
        self._searched.set()
        return Found((fact("f-1", f"Found for {search.query}"),))


@pytest.mark.parametrize("rewritten", [None, "What is Anna's job?"])
async def test_memory_is_searched_while_a_question_is_understood(rewritten: str | None) -> None:
    memory = Memory(rewritten)
    async with asyncio.timeout(60):
        events = [each async for each in Answerer(memory, COUNT).answer(turn("What is her job?", 1))]
    assert memory.searched == ["What is her job?", *([rewritten] if rewritten else [])]
    answer = events[-1]
    assert isinstance(answer, Answer) and not answer.notices
    assert [each.text for each in answer.prompt.items if each.id == "f-1"] == [
        f"Found for {memory.searched[-1]}"
    ]


class Log:
    """Tells what was said once memory is searched."""

    def __init__(self, searching: asyncio.Event, *, knows: bool) -> None:
        self._searching = searching
        self._knows = knows

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        await self._searching.wait()
        return self._knows

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        await self._searching.wait()
        return [turn("My sister Anna is away.", 1)]


class Finds:
    """Finds nothing; tells when it is asked."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.searches = 0

    async def search(self, wanted: Wanted) -> Results:
        self.searches += 1
        self.asked.set()
        await asyncio.sleep(0)
        return Results(scope=scope_of(wanted))

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        return True


async def test_what_was_said_is_read_while_memory_is_searched() -> None:
    search = Finds()
    understanding = Understanding(search, Log(search.asked, knows=True))
    async with asyncio.timeout(60):
        found = await understanding.read("What is her job?", "ada", "default", "c-1")
    assert found.rewritten_query == "What is Anna's job?"


async def test_who_is_not_known_in_a_conversation_may_begin_it_and_is_told_nothing_of_it() -> None:
    search = Finds()
    understanding = Understanding(search, Log(search.asked, knows=False))
    async with asyncio.timeout(60):
        with pytest.raises(NotFound):
            await understanding.read("What is her job?", "ada", "default", "c-1")
        found = await understanding.read("What is her job?", "ada", "default", "c-1", may_begin=True)
    assert found.rewritten_query is None
    assert search.searches == 2, "each question is searched for once"
