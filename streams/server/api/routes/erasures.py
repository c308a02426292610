"""Erasures: whether what was asked for is done, and the certificate of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
import orjson

from models.errors import NotFound
from models.facts import Fact, FactStatus
from models.index import FactFilter
from models.messages import Identifier
from streams.queries.erasure.proving import Erasures
from streams.queries.erasure.receipts import Asked
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import UNKNOWN_ERASURE, Problem
from streams.stores.remembered.ports import Facts, Log, Search

#: How many facts or turns are looked at in one call.
_PAGE = 100


class ErasureParameters(Parameters, frozen=True, kw_only=True):
    """``erasure_id``: as the erasure was answered."""

    erasure_id: str
    tenant_id: Identifier | None = None
    user_id: Identifier | None = None


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """An erasure.  ``still``: what a view still has, while it is ``erasing``.

    ``certificate``: what was removed and what remains until when, signed; `switchboard erase verify` checks it.
    """

    erasure_id: str
    state: Literal["erasing", "erased"]
    still: str = ""
    certificate: dict[str, Any] | None = None


@operation(
    "GET",
    "/v1/erasures/{erasure_id}",
    scope=Scope.READ,
    example={"erasure_id": "gAAAAABpJ0b2"},
    problems=[UNKNOWN_ERASURE],
)
async def get_erasure(call: Call, wanted: ErasureParameters) -> Erasure:
    """State of an erasure: the views are asked now. Once nothing is left, with the signed certificate of it.

    What the person has said since then does not count.

    A `serve` knows the ids of those with the same key (`SWITCHBOARD_ERASURE_KEY_FILE`), for ever.
    """
    erasures: Erasures = call.part("erasures")
    try:
        asked = await erasures.read(wanted.erasure_id)
    except NotFound as error:
        raise Problem(UNKNOWN_ERASURE, f"{error}.") from error
    if wanted.tenant_id not in (None, asked.tenant_id) or wanted.user_id not in (None, asked.owner):
        raise Problem(UNKNOWN_ERASURE, "no erasure has this id here.")
    still = await (_of_person(call, asked) if asked.scope == "person" else _of_conversation(call, asked))
    if still:
        return Erasure(erasure_id=wanted.erasure_id, state="erasing", still=still)
    told = orjson.loads(await erasures.certify(asked))
    return Erasure(erasure_id=wanted.erasure_id, state="erased", certificate=told)


async def _of_person(call: Call, asked: Asked) -> str:
    log: Log = call.part("log")
    search: Search = call.part("search")
    if await _any_fact(call, asked, lambda fact: fact.learned_at <= asked.asked_at):
        return "facts"
    for name in await log.conversations(asked.tenant_id, asked.user_id, None):
        if await _has_said(log, asked, name):
            return "conversations"
    searchable = partial(search.has_turns, asked.user_id, asked.tenant_id, asked.asked_at)
    if await searchable():
        return "search"
    unread = await call.is_unread(asked.tenant_id, asked.user_id, searchable, asked.asked_at)
    return "messages that are not read yet" if unread else ""


async def _of_conversation(call: Call, asked: Asked) -> str:
    [conversation_id] = asked.conversation_ids
    log: Log = call.part("log")
    if asked.user_id:
        is_there = await log.takes_part(asked.tenant_id, asked.user_id, conversation_id)
    else:
        is_there = await log.length(asked.tenant_id, conversation_id) > 0
    if is_there:
        return "messages"

    def rests_on_it(fact: Fact) -> bool:
        return any(each.conversation_id == conversation_id for each in fact.provenance)

    return "facts" if asked.owner and await _any_fact(call, asked, rests_on_it) else ""


async def _has_said(log: Log, asked: Asked, conversation_id: str) -> bool:
    """Say whether the person said something in a conversation that had arrived by the erasure."""
    for first in range(0, await log.length(asked.tenant_id, conversation_id), _PAGE):
        turns = await log.turns(asked.tenant_id, conversation_id, first, first + _PAGE - 1)
        if any(each.user_id == asked.user_id and each.arrived_at <= asked.asked_at for each in turns):
            return True
        if any(each.arrived_at > asked.asked_at for each in turns):
            break  # they stand in the order of their arrival
    return False


async def _any_fact(call: Call, asked: Asked, is_left: Callable[[Fact], bool]) -> bool:
    """Say whether a fact about the person is one that had to go."""
    facts: Facts = call.part("facts")
    start: str | None = None
    while True:
        page, start = await facts.page(_all_facts(asked), _PAGE, start)
        if any(map(is_left, page)):
            return True
        if start is None:
            return False


def _all_facts(asked: Asked) -> FactFilter:
    return FactFilter(user_id=asked.owner, tenant_id=asked.tenant_id, statuses=tuple(FactStatus))
