"""Facts of a person."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from models.commands import CORRECTION_LIMIT
from models.errors import InvalidRecord
from models.facts import Fact, FactStatus
from models.index import FactFilter
from models.messages import DEFAULT_TENANT, Identifier
from streams.clients.sending import Outgoing, Sender
from streams.clients.topics import COMMANDS
from streams.config.printing import encode_json
from streams.queries.correcting import correcting
from streams.queries.erasure.forgetting import Forgetter
from streams.queries.fact_uses import Use
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import CONFLICT, INVALID_REQUEST, UNKNOWN_FACT, Problem
from streams.server.api.routes.messages import idempotency_key
from streams.stores.remembered.ports import Facts

_Status = Literal["active", "superseded", "contradicted", "ended", "merged_into", "deprecated", "any"]


class ListParameters(Parameters, frozen=True, kw_only=True):
    """``start``: the ``next`` of the page before."""

    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    start: UUID | None = None
    status: _Status = "active"


class FactParameters(Parameters, frozen=True, kw_only=True):
    """One fact of one person."""

    fact_id: str
    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


class WholeFactParameters(Parameters, frozen=True, kw_only=True):
    """``uses``: with where it was used lately, which takes longer."""

    fact_id: str
    user_id: Identifier
    uses: bool = False
    tenant_id: Identifier = DEFAULT_TENANT


class WholeFact(Fact, frozen=True, kw_only=True):
    """A fact; ``uses``: in which prompts it was lately, the latest first, if that is asked."""

    uses: list[Use] | None = None


class FactsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a person.  ``next``: where the next page starts, if there is one; ``known``: see a search.

    ``unread``: nothing is known of them, and something was said that nobody has read yet.  ``waiting``: ids of
    those on it that hold and wait for their vector: they are found by their words alone.
    """

    user_id: str
    tenant_id: str
    facts: list[Fact]
    waiting: list[str]
    next: str | None
    known: bool
    unread: bool


@operation(
    "GET",
    "/v1/facts",
    scope=Scope.READ,
    example={"user_id": "ada"},
    links={
        name: {"fact_id": "/facts/0/fact_id", "user_id": "/facts/0/user_id"}
        for name in ("get_fact", "correct_fact", "forget_fact")
    },
)
async def list_facts(call: Call, wanted: ListParameters) -> FactsAnswer:
    """The facts about a person that hold, or those of another status, a page at a time.

    `next` of a page is the `start` of the following one.
    """
    facts: Facts = call.part("facts")
    statuses = () if wanted.status == "any" else (FactStatus(wanted.status),)
    where = FactFilter(user_id=wanted.user_id, tenant_id=wanted.tenant_id, statuses=statuses)
    start = None if wanted.start is None else str(wanted.start)
    page, following = await facts.page(where, wanted.limit, start)
    known = bool(page) or await call.part("search").knows(wanted.user_id, wanted.tenant_id)
    held = [each.fact_id for each in page if each.status is FactStatus.ACTIVE]
    waiting = await facts.without_vector(held) if held else set()
    return FactsAnswer(
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        facts=page,
        waiting=[each for each in held if each in waiting],
        next=following,
        known=known,
        unread=not known and await call.is_unread(wanted.tenant_id, wanted.user_id),
    )


@operation(
    "GET",
    "/v1/facts/{fact_id}",
    scope=Scope.READ,
    example={"fact_id": "1f0c7c1e-3c5a-5f0e-9d0a-6c1b2f3a4d5e", "user_id": "ada"},
    problems=[UNKNOWN_FACT],
)
async def get_fact(call: Call, wanted: WholeFactParameters) -> WholeFact:
    """One fact about a person, whatever its status, with history and evidence.

    With `uses`, the prompts that it was in: those that lie ready for the next turn of the person's latest
    conversations, and those of answers that were given there.
    """
    fact = await _found(call, wanted)
    uses = await call.part("uses").of(fact) if wanted.uses else None
    return WholeFact(**{name: getattr(fact, name) for name in Fact.__struct_fields__}, uses=uses)


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """A fact is on its way out.

    ``gone``: from where, as soon as the services have read it, within seconds.  What lies in topics remains to
    their readers: in ``compacted`` ones until then, in others until ``kept`` says, by topic.
    """

    fact_id: str
    user_id: str
    gone: list[str]
    compacted: datetime
    kept: dict[str, datetime]


_GONE = ["search", "facts", "vectors", "contexts"]


@operation(
    "DELETE",
    "/v1/facts/{fact_id}",
    scope=Scope.WRITE,
    example={"fact_id": "1f0c7c1e-3c5a-5f0e-9d0a-6c1b2f3a4d5e", "user_id": "ada"},
    problems=[UNKNOWN_FACT],
    status=202,
)
async def forget_fact(call: Call, wanted: FactParameters) -> Forgotten:
    """Forget one fact; what was said until now does not bring it back.

    It is gone from search as soon as the services have read this. What is said later may be learned anew. The
    sentences that it came from stay in their conversations until those are deleted.
    """
    fact = await _found(call, wanted)
    forgetter: Forgetter = call.part("forgetter")
    left = await forgetter.forget(fact)
    return Forgotten(
        fact_id=fact.fact_id, user_id=fact.user_id, gone=_GONE, compacted=left.compacted, kept=left.kept
    )


class NewValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``text``: what holds instead, as a value ("Munich") or in the person's own words."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=CORRECTION_LIMIT)]


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """A fact is about to be what was said.

    ``instead``: the id of the fact that stands in its place within seconds, and ``statement`` what that one
    says; ``ends``: nothing takes its place, it only ends.
    """

    fact_id: str
    user_id: str
    instead: str
    statement: str
    ends: bool
    command_id: str


@operation(
    "POST",
    "/v1/facts/{fact_id}/correct",
    scope=Scope.WRITE,
    example={"fact_id": "1f0c7c1e-3c5a-5f0e-9d0a-6c1b2f3a4d5e", "user_id": "ada"},
    example_body={"text": "I live in Munich now."},
    problems=[UNKNOWN_FACT, CONFLICT],
    status=202,
)
async def correct_fact(call: Call, wanted: FactParameters, body: NewValue) -> Corrected:
    """Say what holds instead of a fact: it takes the fact's place, and the history of both says so.

    The same header `Idempotency-Key` again is the same correction.
    """
    fact = await _found(call, wanted)
    facts: Facts = call.part("facts")
    instead = next(iter(await facts.get([fact.superseded_by])), None) if fact.superseded_by else None
    sender: Sender = call.part("sender")
    key = idempotency_key(call)
    by = call.caller.user_id or (f"token {call.caller.token}" if call.caller.token else "api")
    try:
        asked = correcting(fact, body.text, by, call.parts.mask, key, instead)
    except InvalidRecord as error:
        kind = CONFLICT if error.reason == "not_current" else INVALID_REQUEST
        raise Problem(kind, f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    command = asked.command
    record = Outgoing(COMMANDS, command.conversation_id.encode(), encode_json(command), command.command_id)
    await sender.send([record])
    return Corrected(
        fact_id=fact.fact_id,
        user_id=fact.user_id,
        instead="" if asked.ends else asked.fact_id,
        statement=asked.statement,
        ends=asked.ends,
        command_id=command.command_id,
    )


async def _found(call: Call, wanted: FactParameters | WholeFactParameters) -> Fact:
    facts: Facts = call.part("facts")
    for fact in await facts.get([wanted.fact_id]):
        if (fact.tenant_id, fact.user_id) == (wanted.tenant_id, wanted.user_id):
            return fact
    raise Problem(
        UNKNOWN_FACT,
        f"There is no fact {wanted.fact_id} about {wanted.user_id} in tenant {wanted.tenant_id}.",
    )
