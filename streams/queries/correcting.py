"""Correcting a fact by hand: the command for it, looked at before anybody is told that it was asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from models.commands import CORRECTION_LIMIT, Command, CommandKind
from models.consolidation import Correction
from models.errors import InvalidRecord
from models.facts import Fact, FactStatus
from models.ids import deterministic_id
from models.statements import Assertion
from processors.facts.claims import claim_of
from processors.facts.correcting import corrected, window_id_of
from processors.retrieval.recall.masking import Mask
from streams.clients.topics import COMMANDS


class Asked(NamedTuple):
    """A command, and what will be known as soon as it is read.

    ``fact_id`` and ``statement`` are those of the fact that stands instead; of the same one if it only ends.
    """

    command: Command
    fact_id: str
    statement: str
    ends: bool


def correcting(
    fact: Fact, text: str, by: str, mask: Mask, once: str = "", instead: Fact | None = None
) -> Asked:
    """Return the command that puts ``text`` in the place of a fact, without what ``mask`` takes out of it.

    ``by``: who corrects it.  ``once``: asked again with the same, it is one command, also when it was read in
    the meantime and the fact does not hold any more, which ``instead``, the fact in its place, tells.

    Raises:
        InvalidRecord: it cannot take the fact's place, and why (:mod:`processors.facts.correcting`).
    """
    text, _ = mask(text)
    if len(text) > CORRECTION_LIMIT:
        raise InvalidRecord("too_long", f"masked, it has more than {CORRECTION_LIMIT:,} characters")
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
    if once and _was_read(fact, instead, said):
        done = _asked(command, msgspec.structs.replace(fact, status=FactStatus.ACTIVE), said)
        if fact.superseded_by == (None if done.ends else done.fact_id):
            return done
    return _asked(command, fact, said)


def _asked(command: Command, fact: Fact, said: Correction) -> Asked:
    first, *_ = corrected(fact, said, command.issued_at, command.by)
    return Asked(command, claim_of(first).fact_id, first.statement, first.assertion is Assertion.ENDED)


def _was_read(fact: Fact, instead: Fact | None, said: Correction) -> bool:
    """Tell whether this correction is what the fact ended by; one that never was so does not say itself."""
    if fact.status is FactStatus.ACTIVE:
        return False
    if instead is not None:
        return any(said.command_id in each.message_ids for each in instead.provenance)
    window_id = window_id_of(fact.tenant_id, said)
    return any(each.window_id == window_id for each in fact.changes)
