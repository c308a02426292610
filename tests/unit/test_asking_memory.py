"""What a turn asks of memory is asked side by side: nothing waits for what it does not need."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from answer_samples import COUNT, fact
from answer_samples import turn as said

from models.answers import Answer
from models.context import Context
from models.errors import DependencyUnavailable, NotFound
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.prompts.answering.material import Found
from processors.prompts.answering.searching import Search
from streams.chat.answering.driving import Answerer
from streams.chat.answering.recollection import Recollection
from streams.chat.answering.understanding import Understanding
from streams.stores.search import Results, Wanted
from streams.stores.search.results import scope_of


class Memory:
    """Asks for all at once; ``rewritten``: what a question means."""

    def __init__(self, rewritten: str | None, *, down: str = "") -> None:
        self.rewritten = rewritten
        self.down = down
        self.searched: list[str] = []
        self.understood: list[tuple[list[str], list[str]]] = []
        self._all = asyncio.Barrier(3)

    async def _asked(self, what: str) -> None:
        await self._all.wait()
        if what == self.down:
            raise DependencyUnavailable(what, "it is away")

    async def recent(self, turn: Turn, count: int) -> list[Turn]:
        await self._asked("log")
        return [said("My sister Anna is away.", 0)]

    async def understand(self, turn: Turn, said: Sequence[Turn], known: Sequence[str]) -> QueryUnderstanding:
        self.understood.append(([each.text for each in said], [*known]))
        return QueryUnderstanding(
            query=turn.text, is_ambiguous=False, score=0.0, rewritten_query=self.rewritten
        )

    async def context(self, turn: Turn) -> Context | None:
        await self._asked("contexts")
        return None

    async def standing(self, turn: Turn) -> Found:
        return Found(instructions=(fact("f-brief", "Answer in one sentence."),))

    async def search(self, turn: Turn, search: Search) -> Found:
        self.searched.append(search.query)
        if len(self.searched) == 1:
            await self._asked("index")
        return Found((fact("f-1", f"Found for {search.query}"),))


@pytest.mark.parametrize("rewritten", [None, "What is Anna's job?"])
async def test_memory_is_searched_once_unless_something_else_is_meant(rewritten: str | None) -> None:
    memory = Memory(rewritten)
    async with asyncio.timeout(60):
        events = [each async for each in Answerer(memory, COUNT).answer(said("What is her job?", 1))]
    assert memory.searched == ["What is her job?", *([rewritten] if rewritten else [])]
    answer = events[-1]
    assert isinstance(answer, Answer) and not answer.notices
    assert [each.text for each in answer.prompt.items if each.id == "f-1"] == [
        f"Found for {memory.searched[-1]}"
    ]
    assert memory.understood == [(["My sister Anna is away."], ["Found for What is her job?"])]


@pytest.mark.parametrize(("down", "understood"), [("index", 0), ("log", 0), ("contexts", 1)])
async def test_without_what_a_question_bears_on_nobody_is_asked_back(down: str, understood: int) -> None:
    memory = Memory(None, down=down)
    async with asyncio.timeout(60):
        events = [each async for each in Answerer(memory, COUNT).answer(said("What is her job?", 1))]
    assert len(memory.understood) == understood
    answer = events[-1]
    assert isinstance(answer, Answer) and [each.problem for each in answer.notices] == ["memory"]


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
        return [said("My sister Anna is away.", 1)]


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


async def test_strangers_to_a_conversation_are_told_nothing() -> None:
    search = Finds()
    log = Log(search.asked, knows=False)
    understanding = Understanding(search, log)
    async with asyncio.timeout(60):
        with pytest.raises(NotFound):
            await understanding.read("What is her job?", "ada", "default", "c-1")
        memory = Recollection(search, understanding, None, log, None)  # type: ignore[arg-type]  # it is not asked
        assert await memory.recent(said("What is her job?", 1), 5) == []


async def test_the_turns_before_a_question_are_told_without_it() -> None:
    search = Finds()
    search.asked.set()
    memory = Recollection(search, None, None, Log(search.asked, knows=True), None)  # type: ignore[arg-type]
    before = await memory.recent(said("What is her job?", 1, message_id="m-2"), 5)
    assert [each.text for each in before] == ["My sister Anna is away."]
    assert await memory.recent(said("My sister Anna is away.", 1), 5) == [], "it is the question"
