"""Builders of messages, turns, facts and evidence.  A test changes only what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from models import ids
from models.context import Context
from models.episodes import Episode, EpisodeReason
from models.facts import Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.graph import Relation
from models.messages import ChatMessage, Role
from models.policies import Rules
from models.statements import Kind
from models.summaries import SessionSummary, Summary, SummaryRequest
from models.turns import Turn, TurnSource
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from streams.clients.policies.known import NO_POLICY, TenantPolicy, prepared

#: When everything here was said.  The clock of :class:`streams.runtime.testing.StageHarness` begins here, too.
START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Policies:
    """Policies by tenant, as a process knows them."""

    def __init__(self, **tenants: Rules) -> None:
        self.known = {tenant_id: prepared(rules) for tenant_id, rules in tenants.items()}

    def of(self, tenant_id: str) -> TenantPolicy:
        return self.known.get(tenant_id, NO_POLICY)

    async def settled(self) -> None:
        """They do not change."""


def message(number: int, content: str = "", *, at: datetime = START, **changes: Any) -> ChatMessage:
    """Return message ``m<number>`` of conversation ``c``, sent ``number`` seconds after ``at``."""
    made = ChatMessage(
        message_id=f"m{number}",
        conversation_id="c",
        user_id="ada",
        role=Role.USER,
        content=content or f"message {number}",
        sent_at=at + timedelta(seconds=number),
    )
    return msgspec.structs.replace(made, **changes)


def window_message(index: int, content: str = "", *, at: datetime = START, **changes: Any) -> WindowMessage:
    """Return message ``m<index>`` as a window holds it: Ada's, sent and arrived ``at``."""
    made = WindowMessage(
        message_id=f"m{index}",
        user_id="ada",
        role=Role.USER,
        content=content or f"message {index}",
        sent_at=at,
        arrived_at=at,
        index=index,
        offset=100 + index,
    )
    return msgspec.structs.replace(made, **changes)


def window(messages: Sequence[WindowMessage], *, partition: int = 0, **changes: Any) -> Window:
    """Return the closed window over these messages of conversation ``c``."""
    first, last = messages[0], messages[-1]
    made = Window(
        window_id="w",
        conversation_id="c",
        user_id=first.user_id,
        reason=WindowReason.CLOSED,
        message_ids=tuple(each.message_id for each in messages),
        messages=tuple(messages),
        from_index=first.index,
        to_index=last.index,
        overlap=0,
        source=WindowSource(
            topic="chat.messages.v1",
            partition=partition,
            first_offset=first.offset,
            last_offset=last.offset,
        ),
    )
    return msgspec.structs.replace(made, **changes)


def turn(index: int, text: str = "", *, at: datetime = START, **changes: Any) -> Turn:
    """Return turn ``index`` of conversation ``c``: Ada and the assistant, one second after the other."""
    names = {"tenant_id": "default", "conversation_id": "c", "message_id": f"m{index}"} | changes
    made = Turn(
        turn_id=ids.turn_id(names["tenant_id"], names["conversation_id"], names["message_id"]),
        message_id=f"m{index}",
        conversation_id="c",
        user_id="ada",
        role=Role.ASSISTANT if index % 2 else Role.USER,
        text=text or f"message {index}",
        sent_at=at + timedelta(seconds=index),
        arrived_at=at + timedelta(seconds=index),
        began_at=at,
        index=index,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=index),
    )
    return msgspec.structs.replace(made, **changes)


def episode(*turns: Turn, **changes: Any) -> Episode:
    """Return the closed episode of these turns of one conversation."""
    first, last = turns[0], turns[-1]
    made = Episode(
        episode_id=ids.episode_id(first.tenant_id, first.conversation_id, first.message_id, last.message_id),
        conversation_id=first.conversation_id,
        user_id=first.user_id,
        reason=EpisodeReason.CLOSED,
        message_ids=tuple(each.message_id for each in turns),
        turn_ids=tuple(each.turn_id for each in turns),
        text="\n".join(f"{each.role}: {each.text}" for each in turns),
        from_index=first.index,
        to_index=last.index,
        overlap=0,
        people=(first.user_id,),
        first_sent_at=first.sent_at,
        last_sent_at=last.sent_at,
        arrived_at=last.arrived_at,
        began_at=first.began_at,
        source=WindowSource(
            topic="chat.messages.v1", partition=0, first_offset=first.index, last_offset=last.index
        ),
        tenant_id=first.tenant_id,
    )
    return msgspec.structs.replace(made, **changes)


def evidence(quote: str = "I like blueberries", *, at: datetime = START, **changes: Any) -> Provenance:
    """Return what a fact rests on: message ``m-1`` of conversation ``c-1``, sent ``at``."""
    made = Provenance(
        conversation_id="c-1",
        window_id="w-1",
        window_end_id="m-9",
        message_ids=("m-1",),
        quote=quote,
        topic="chat.messages.v1",
        partition=0,
        offsets=(7,),
        sent_at=at,
        arrived_at=at,
    )
    return msgspec.structs.replace(made, **changes)


def candidate(statement: str, said: Provenance, **changes: Any) -> FactCandidate:
    """Return the candidate of Ada's that rests on this."""
    made = FactCandidate(
        candidate_id=f"candidate-{said.window_id}",
        user_id="ada",
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=0.8,
        source_message_ids=said.message_ids,
        provenance=said,
        extractor="test",
    )
    return msgspec.structs.replace(made, **changes)


def summary(number: int = 0, *key_facts: str, at: datetime = START, **changes: Any) -> Summary:
    """Return the summary of message ``m<number>`` of conversation ``c``."""
    names = {"tenant_id": "default", "conversation_id": "c"} | changes
    name = ids.summary_id(names["tenant_id"], names["conversation_id"], f"m{number}", f"m{number}")
    made = Summary(
        summary_id=name,
        request_id=name,
        conversation_id="c",
        user_id="ada",
        from_index=number,
        to_index=number,
        summary=SessionSummary(key_facts=key_facts or ("fact",)),
        tokens=5,
        source=WindowSource(topic="chat.messages.v1", partition=0, first_offset=number, last_offset=number),
        summarizer="test",
        created_at=at,
    )
    return msgspec.structs.replace(made, **changes)


def answer(request: SummaryRequest, *key_facts: str, tokens: int = 80, at: datetime = START) -> Summary:
    """Return the summary that answers a request."""
    named = (
        "request_id",
        "conversation_id",
        "user_id",
        "from_index",
        "to_index",
        "source",
        "replaces",
        "tenant_id",
    )
    same = {name: getattr(request, name) for name in named}
    return summary(0, *key_facts, at=at, summary_id=request.request_id, tokens=tokens, **same)


def context(*turns: Turn, **changes: Any) -> Context:
    """Return an empty context made after these turns."""
    last = turns[-1]
    made = Context(
        conversation_id=last.conversation_id,
        user_id=last.user_id,
        after_turn_id=last.turn_id,
        after_index=last.index,
        made_from=tuple(each.turn_id for each in turns),
        said_at=last.arrived_at,
        began_at=last.began_at,
        made_at=last.arrived_at,
        by_meaning=True,
        budget=1500,
        tokens=0,
        tiers=(),
        items=(),
    )
    return msgspec.structs.replace(made, **changes)


def tie(name: str, *, at: datetime = START, **changes: Any) -> Relation:
    """Return the relation of Ada's friend ``name``."""
    names = {"tenant_id": "default", "user_id": "ada"} | changes
    made = Relation(
        relation_id=ids.fact_id(names["tenant_id"], names["user_id"], name),
        user_id="ada",
        from_id="a",
        from_name="user",
        relation="friend",
        to_id=name,
        to_name=name,
        valid_from=at,
        learned_at=at,
        changed_at=at,
        evidence_count=1,
        provenance=(),
        version=1,
    )
    return msgspec.structs.replace(made, **changes)


def fact(statement: str = "Ada likes blueberries", *, at: datetime = START, **changes: Any) -> Fact:
    """Return the first version of a fact of Ada that was learned ``at``."""
    names = {"tenant_id": "default", "user_id": "ada"} | changes
    made = Fact(
        fact_id=ids.text_fact_id(names["tenant_id"], names["user_id"], statement),
        slot_id=ids.slot_id(names["tenant_id"], names["user_id"], "", ""),
        user_id="ada",
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=0.8,
        status=FactStatus.ACTIVE,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(evidence(statement, at=at),),
        valid_from=at,
        learned_at=at,
        changed_at=at,
        last_evidence_at=at,
    )
    return msgspec.structs.replace(made, **changes)
