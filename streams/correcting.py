"""Correcting a fact by hand: the command for it, looked at before anybody is told that it was asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from models.commands import Command, CommandKind
from models.consolidation import Correction
from models.facts import Fact
from models.ids import deterministic_id
from models.statements import Assertion
from processors.facts.claims import claim_of
from processors.facts.correcting import corrected
from streams.commands import COMMANDS


class Asked(NamedTuple):
    """A command, and what will be known as soon as it is read.

    ``fact_id`` and ``statement`` are those of the fact that stands instead; of the same one if it only ends.
    """

    command: Command
    fact_id: str
    statement: str
    ends: bool


def correcting(fact: Fact, text: str, by: str, once: str = "") -> Asked:
    """Return the command that puts ``text`` in the place of a fact.

    ``by``: who corrects it.  ``once``: asked again with the same, it is one command.

    Raises:
        InvalidRecord: it cannot take the fact's place, and why (:mod:`processors.facts.correcting`).
    """
    now = datetime.now(UTC)
    made_of = (fact.tenant_id, fact.user_id, fact.fact_id, once or now.isoformat())
    command = Command(
        command_id=deterministic_id("command", CommandKind.CORRECT, *made_of),
        command=CommandKind.CORRECT,
        conversation_id=f"correction-{fact.fact_id}",  # its own: erasing another one leaves it
        issued_at=now,
        tenant_id=fact.tenant_id,
        user_id=fact.user_id,
        fact_id=fact.fact_id,
        text=text,
        by=by,
    )
    said = Correction(
        text=text,
        command_id=command.command_id,
        conversation_id=command.conversation_id,
        topic=COMMANDS,
        partition=0,
        offset=0,
        arrived_at=now,
    )
    first, *_ = corrected(fact, said, now, by)
    return Asked(command, claim_of(first).fact_id, first.statement, first.assertion is Assertion.ENDED)
