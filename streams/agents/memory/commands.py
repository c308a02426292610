"""memory/commands: what somebody wants done about facts goes to where those facts are.

``consolidate`` about one person becomes one step on ``memory.consolidation.v1``; about everybody, one in each
partition, where each person of whom something changed gets a step of their own.  ``correct`` becomes one step
about its fact, in the partition of the person, with its text masked.

``erase`` is for those who hold what was said; what language models answered about it is erased here, whoever
has sent the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from models import ids
from models.commands import BY_LIMIT, CORRECTION_LIMIT, AnyCommand, Command, CommandKind
from models.consolidation import ConsolidationStep, Correction, Step
from models.errors import InvalidRecord
from processors.retrieval.recall.masking import Mask
from processors.text.validation import decode
from streams.agents.emitting import emit
from streams.agents.masking import mask_of, masked
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.clients.catalog import catalog_for
from streams.clients.erasures import Erasing
from streams.clients.records import RecordBatch, SourceRecord
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader

COMMANDS = "memory.commands.v1"

#: The commands that are for this stage, and what each must say.
_OURS: Mapping[str, tuple[str, ...]] = {
    CommandKind.CONSOLIDATE: (),
    CommandKind.CORRECT: ("user_id", "fact_id", "text"),
    CommandKind.SEPARATE: ("user_id", "fact_id"),
}
_SAYS = {"user_id": "whose fact it is", "fact_id": "which one", "text": "what holds instead"}


class Answers(Protocol):
    """Access to the answers of language models."""

    async def forget(self, erased: Sequence[Erasing], /) -> int:
        """Erase what was answered in conversations, each up to a time; return how many."""
        ...


class Commands:
    """Handlers of commands, without state.  ``answers``: models' answers to erase with a conversation."""

    def __init__(self, settings: Settings, answers: Answers) -> None:
        self._settings = settings
        self._answers = answers
        self._mask = mask_of(settings)
        self._partitions = catalog_for(settings).partitions(CONSOLIDATION)

    def stage(self) -> Stage:
        """Return the stage."""
        # What is no command at all the reader of conversations answers for.
        return Stage(
            name="commands",
            sources=(COMMANDS,),
            async_step=self.step,
            observes_only=True,
            decided_by=self._settings.chosen("mask", "mask_patterns"),
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Hand each command on; one that is wrong is dead-lettered.  What was answered in conversations that
        are erased is looked through once for all of them.
        """
        if erased := _erased(batch.records):
            await self._answers.forget(erased)
        return self._hand_on(batch)

    def _hand_on(self, batch: RecordBatch) -> Effects:
        effects = Effects()
        for record in batch.records:
            try:
                command = _read(record)
                if command is not None and command.command == CommandKind.CORRECT:
                    emit(effects, _correcting(command, record, self._mask, effects))
                    continue
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if command is None:
                continue
            if command.command == CommandKind.SEPARATE:
                emit(effects, _separating(command, record))
            else:
                self._consolidate(command, effects)
        return effects

    def _consolidate(self, command: Command, effects: Effects) -> None:
        step = ConsolidationStep(
            step_id=ids.deterministic_id("consolidate", "command", command.command_id),
            step=Step.CONSOLIDATE,
            at=command.issued_at,
            by=f"command {command.command_id}",
            user_id=command.user_id,
            dry_run=command.dry_run,
            tenant_id=command.tenant_id,
        )
        if command.user_id:
            emit(effects, step)
            return
        for partition in range(self._partitions):
            emit(effects, step, subject=None, partition=partition)


def _correcting(command: Command, record: SourceRecord, mask: Mask, effects: Effects) -> ConsolidationStep:
    text = masked(command.text, mask, effects)
    if len(text) > CORRECTION_LIMIT:
        raise InvalidRecord(
            "too_long", f"masked, what holds instead has more than {CORRECTION_LIMIT:,} characters"
        )
    return ConsolidationStep(
        step_id=ids.deterministic_id("correct", command.tenant_id, command.command_id),
        step=Step.CORRECT,
        at=command.issued_at,
        by=command.by or f"command {command.command_id}"[:BY_LIMIT],
        user_id=command.user_id,
        fact_id=command.fact_id,
        tenant_id=command.tenant_id,
        correction=Correction(
            text=text,
            command_id=command.command_id,
            conversation_id=command.conversation_id,
            topic=COMMANDS,
            partition=record.partition,
            offset=record.offset,
            arrived_at=_arrived(record),
        ),
    )


def _separating(command: Command, record: SourceRecord) -> ConsolidationStep:
    return ConsolidationStep(
        step_id=ids.deterministic_id("separate", command.tenant_id, command.command_id),
        step=Step.SEPARATE,
        at=_arrived(record),  # it becomes the time of a change, which is the log's
        by=f"command {command.command_id}",
        user_id=command.user_id,
        fact_id=command.fact_id,
        tenant_id=command.tenant_id,
    )


def _erased(records: Sequence[SourceRecord]) -> list[Erasing]:
    """Return the conversations that are to be erased, or one person in them alone, each up to when."""
    erased: dict[tuple[str, str, str], datetime] = {}
    for record in records:
        try:
            if decode(AnyCommand, record.value).command != CommandKind.ERASE:
                continue
            command = decode(Command, record.value)
        except InvalidRecord:
            continue  # ingest answers for it
        name, at = (command.tenant_id, command.conversation_id, command.user_id), _arrived(record)
        erased[name] = max(at, erased.get(name, at))
    return [Erasing(*name, until) for name, until in erased.items()]


def _arrived(record: SourceRecord) -> datetime:
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)


def _read(record: SourceRecord) -> Command | None:
    """Return a command that is for this stage, ``None`` for others, and for what is none.

    Raises:
        InvalidRecord: it is for this stage, and wrong.
    """
    try:
        if decode(AnyCommand, record.value).command not in _OURS:
            return None
    except InvalidRecord:
        return None
    command = decode(Command, record.value)
    for name in _OURS[command.command]:
        if not getattr(command, name).strip():
            raise InvalidRecord(f"no_{name}", f"a command {command.command} says {_SAYS[name]} ({name})")
    return command
