"""People: what there is of one, and how one is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated

import msgspec
from starlette.responses import StreamingResponse

from models.facts import FactStatus
from models.index import FactFilter
from models.messages import DEFAULT_TENANT, Identifier
from streams.config.printing import encode_json
from streams.queries.conversations.listing import Conversations
from streams.queries.erasure.proving import Erasures
from streams.queries.person_export import Line, person_lines
from streams.server.api.cursors import after, cursor_of
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import NOT_READ_YET, UNKNOWN_PERSON, Problem
from streams.server.api.routes.conversation_changes import Erased, erased
from streams.stores.remembered.ports import Facts, Log


class PersonParameters(Parameters, frozen=True, kw_only=True):
    """A person of a tenant."""

    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of a person.  ``facts``: by status."""

    user_id: str
    tenant_id: str
    facts: dict[str, int]
    conversations: int


class ListedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person in a list.  ``facts``: how many hold."""

    user_id: str
    facts: int


class PeopleParameters(Parameters, frozen=True, kw_only=True):
    """``cursor``: the ``next`` of the page before; ``user_id``: only this one."""

    user_id: Identifier | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    cursor: str | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class PeopleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A page of people, by name.  ``next``: the cursor of the next page, if any."""

    tenant_id: str
    people: list[ListedPerson]
    next: str | None


@operation(
    "GET",
    "/v1/people",
    scope=Scope.READ,
    links={
        name: {"user_id": "/people/0/user_id"}
        for name in ("get_person", "export_person", "list_facts", "list_conversations")
    },
)
async def list_people(call: Call, wanted: PeopleParameters) -> PeopleAnswer:
    """The people of a tenant who took part in conversations that are kept, by name, a page at a time."""
    log: Log = call.part("log")
    names = await log.people(wanted.tenant_id)
    if wanted.user_id is not None:
        names = [name for name in names if name == wanted.user_id]
    if wanted.cursor is not None:
        last = after("people", wanted.cursor)
        names = [name for name in names if name > last]
    page = names[: wanted.limit]
    facts: Facts = call.part("facts")
    counts = await asyncio.gather(
        *(facts.count(FactFilter(user_id=name, tenant_id=wanted.tenant_id)) for name in page)
    )
    return PeopleAnswer(
        tenant_id=wanted.tenant_id,
        people=[ListedPerson(user_id=name, facts=count) for name, count in zip(page, counts, strict=True)],
        next=cursor_of("people", page[-1]) if len(names) > len(page) else None,
    )


@operation(
    "GET",
    "/v1/people/{user_id}",
    scope=Scope.READ,
    example={"user_id": "ada"},
    problems=[UNKNOWN_PERSON, NOT_READ_YET],
)
async def get_person(call: Call, wanted: PersonParameters) -> Person:
    """How much is known of a person, and in how many conversations they take part."""
    counts, conversations = await _of(call, wanted)
    if not conversations and not counts:
        raise await _unknown(call, wanted)
    return Person(user_id=wanted.user_id, tenant_id=wanted.tenant_id, facts=counts, conversations=conversations)


@operation(
    "GET",
    "/v1/people/{user_id}/export",
    scope=Scope.READ,
    example={"user_id": "ada"},
    problems=[UNKNOWN_PERSON, NOT_READ_YET],
    media_type="application/x-ndjson",
    answer=Line,
)
async def export_person(call: Call, wanted: PersonParameters) -> StreamingResponse:
    """All that is kept of a person, as lines of JSON: facts of every status, messages, summaries.

    Of a conversation with others only the person's own messages. The answer comes as it is read; one that
    breaks off is not whole.
    """
    facts: Facts = call.part("facts")
    found: Conversations = call.part("conversations")
    names = await found.names(wanted.tenant_id, wanted.user_id)
    lines = person_lines(facts, found, names, wanted.tenant_id, wanted.user_id)
    try:
        first = await anext(lines)
    except StopAsyncIteration:
        raise await _unknown(call, wanted) from None
    headers = {"content-disposition": 'attachment; filename="person.jsonl"', "cache-control": "no-store"}
    return StreamingResponse(_written(first, lines), headers=headers, media_type="application/x-ndjson")


async def _written(first: Line, rest: AsyncGenerator[Line]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield encode_json(first) + b"\n"
        async for line in rest:
            yield encode_json(line) + b"\n"


@operation("DELETE", "/v1/people/{user_id}", scope=Scope.WRITE, status=202, example={"user_id": "ada"})
async def delete_person(call: Call, wanted: PersonParameters) -> Erased:
    """Forget a person: their conversations, in shared ones their own words, and every fact about them."""
    erasures: Erasures = call.part("erasures")
    return erased(await erasures.erase_person(wanted.tenant_id, wanted.user_id))


async def _of(call: Call, wanted: PersonParameters) -> tuple[dict[str, int], int]:
    """Return how many facts there are by status, and how many conversations."""
    facts: Facts = call.part("facts")
    found: Conversations = call.part("conversations")
    counts = {
        status.value: await facts.count(
            FactFilter(user_id=wanted.user_id, tenant_id=wanted.tenant_id, statuses=(status,))
        )
        for status in FactStatus
    }
    names = await found.names(wanted.tenant_id, wanted.user_id)
    return {status: count for status, count in counts.items() if count}, len(names)


async def _unknown(call: Call, wanted: PersonParameters) -> Problem:
    async def is_known() -> bool:
        return any(await _of(call, wanted))

    if await call.is_unread(wanted.tenant_id, wanted.user_id, is_known):
        return Problem(NOT_READ_YET, f"What was said by or to {wanted.user_id} is not read yet.")
    return Problem(UNKNOWN_PERSON, f"Nobody called {wanted.user_id} is known in tenant {wanted.tenant_id}.")
