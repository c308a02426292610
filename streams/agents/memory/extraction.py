"""memory/extraction: windows in, candidates for facts out (requirement 1), and
what a graph reader finds of how things are related.  What must not be kept verbatim is masked in the window, as
it is in turns, before anything reads it: by then a value stands without what told that it is a secret.

What a tenant's policy never keeps is left out here, whoever has read it, and the policy's hash is part of
``sw_config`` of what follows from its windows.

State per conversation: the last window that was processed, and the messages that statements were taken
from.  A window whose end was processed is skipped (method 1), and so is a statement all of whose messages
were extracted from before: the overlap saw it already (method 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import msgspec

from models.errors import DependencyUnavailable, InvalidRecord, Unanswered
from models.facts import FactCandidate
from models.graph import GraphStatement
from models.ports import Extracted, Extractor, GraphReader, Refused, TryLater
from models.statements import Statement
from models.windows import Window
from processors.extraction.policies.never import NEVER_KEPT, texts_of, texts_of_relation
from processors.facts.candidates import fresh, objection, to_candidate
from processors.retrieval.recall.masking import has_masked
from processors.text.validation import decode
from streams.agents.emitting import emit
from streams.agents.masking import mask_of, masked_messages
from streams.agents.memory.graph import send_statement
from streams.agents.policy_stamping import PolicyStamps
from streams.agents.tenants import tenant_of
from streams.clients.policies.known import NoPolicies, Policies, TenantPolicy
from streams.clients.records import RecordBatch, SourceRecord
from streams.clients.topics import WINDOWS
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.keyed import Work
from streams.runtime.stage import Stage, StateReader
from streams.runtime.stamp import Stamp

#: Message ids remembered per conversation: only those in the next window's overlap can come back.
_REMEMBERED = 128

#: Windows remembered per conversation: a copy of an older one is extracted again, and its facts are known.
_REMEMBERED_WINDOWS = 32

#: Which window an answer is about: key of the conversation and end mark.
_Asked = tuple[bytes, str]

_Answers = dict[_Asked, Extracted | Refused]


class ExtractionState(msgspec.Struct, frozen=True, array_like=True):
    """Extraction state of a conversation: the end marks of its latest windows, and its latest messages.

    End marks, not positions: after a reset of ingest a conversation counts from 0 again, and what is said then
    must not be taken for what was processed before.
    """

    end_marks: tuple[str, ...] = ()
    extracted_ids: tuple[str, ...] = ()


STATE: Codec[ExtractionState] = Codec("extraction", ExtractionState)


class Extraction:
    """The step around an extractor, and a graph reader if there is one."""

    def __init__(
        self,
        settings: Settings,
        extractor: Extractor,
        graph: GraphReader | None = None,
        policies: Policies | None = None,
    ) -> None:
        self._settings = settings
        self._extractor = extractor
        self._graph = graph
        self._policies = policies or NoPolicies()
        decided_by = {
            **settings.chosen("mask", "mask_patterns"),
            "extractor": extractor.name,
            **({"graph_reader": graph.name} if graph is not None else {}),
        }
        self._stamps = PolicyStamps("extraction", decided_by)
        self._mask = mask_of(settings)
        #: Answers held for the next call of the same lane because other windows of its batch could not be read.
        #: Lanes are called concurrently; the answers of a lane go with its state.
        self._held: WeakKeyDictionary[StateReader, _Answers] = WeakKeyDictionary()

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="extraction",
            sources=(WINDOWS,),
            table="extraction",
            async_step=self.step,
            codecs=(STATE,),
            batch_records=self._settings.call_batch_records,
            tenant_of=tenant_of,
            decided_by=self._stamps.decided_by,
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Extract from every window of the batch that was not processed before."""
        work = Work("extraction", state)
        new: list[tuple[bytes, Window, SourceRecord]] = []
        asked: dict[_Asked, Window] = {}
        for window, record in work.decoded(batch.records, lambda record: decode(Window, record.value)):
            key = window.conversation_id.encode()
            if not work.is_new(key, record):
                continue
            if _is_processed(window, work.get(key, STATE)):
                work.skip("replayed")
                continue
            window = self._masked(window, work)
            new.append((key, window, record))
            asked.setdefault((key, window.message_ids[-1]), window)
        policies = {window.tenant_id: self._policies.of(window.tenant_id) for window in asked.values()}
        held = self._held.setdefault(state, {})
        found = await self._ask(asked, held)
        related = await self._relate(asked)
        for name in asked:
            held.pop(name, None)
        for key, window, record in new:
            before = work.get(key, STATE)
            if _is_processed(window, before):
                work.skip("replayed")
                continue
            before = before or ExtractionState()
            answer = found[key, window.message_ids[-1]]
            if isinstance(answer, Refused):
                work.dead_letter(record, InvalidRecord(answer.reason, answer.message))
                work.put(key, _advance(before, window, ()), STATE, record.offset + 1)
                continue
            policy = policies[window.tenant_id]
            stamp = self._stamps.of(policy)
            candidates = self._candidates(window, answer, before, policy, work)
            for candidate in candidates:
                emit_candidate(candidate, work, stamp)
            for statement in related.get((key, window.message_ids[-1]), ()):
                if any(has_masked(each.name) for each in (statement.subject, statement.object)):
                    work.count("statements_dropped_total", "secret_name")  # nobody is called so
                elif policy.never_kept.mentioned(texts_of_relation(statement)):
                    work.count("statements_dropped_total", NEVER_KEPT)
                else:
                    send_statement(statement, work, stamp)
            work.put(key, _advance(before, window, candidates), STATE, record.offset + 1)
        work.flush()
        return work

    def _masked(self, window: Window, effects: Effects) -> Window:
        """Return the window masked; its overlap was counted with the one before."""
        known, new = window.messages[: window.overlap], window.messages[window.overlap :]
        messages = masked_messages(known, self._mask, Effects()) + masked_messages(new, self._mask, effects)
        return msgspec.structs.replace(window, messages=messages)

    async def _ask(self, asked: Mapping[_Asked, Window], held: _Answers) -> _Answers:
        """Return the answer about each window; ask only about those that ``held`` has none for.

        Raises:
            DependencyUnavailable: some could not be read; the answers about the others are in ``held``.
        """
        found = {name: held[name] for name in asked if name in held}
        open_ones = [name for name in asked if name not in found]
        later: list[TryLater] = []
        answers = await self._extractor.extract([asked[name] for name in open_ones]) if open_ones else []
        for name, answer in zip(open_ones, answers, strict=True):
            if isinstance(answer, TryLater):
                later.append(answer)
            else:
                found[name] = answer
        held.update(found)
        if later:
            # What alone is never answered is dead-lettered; what has another reason is waited for.
            kind = Unanswered if all(each.unanswered for each in later) else DependencyUnavailable
            why = next((each.message for each in later if not each.unanswered), later[0].message)
            raise kind("extractor", f"{len(later)} of {len(open_ones)} windows are to be tried later: {why}")
        return found

    async def _relate(self, asked: Mapping[_Asked, Window]) -> Mapping[_Asked, tuple[GraphStatement, ...]]:
        if self._graph is None or not asked:
            return {}
        return dict(zip(asked, await self._graph.relate([*asked.values()]), strict=True))

    def _candidates(
        self,
        window: Window,
        answer: Extracted,
        before: ExtractionState,
        policy: TenantPolicy,
        effects: Effects,
    ) -> list[FactCandidate]:
        taken = []
        for statement in answer.statements:
            if (why := objection(statement, window) or _forbidden(statement, policy)) is None:
                taken.append(statement)
            else:
                effects.count("statements_dropped_total", why)
        name = answer.by or self._extractor.name
        return [to_candidate(each, window, name) for each in fresh(taken, frozenset(before.extracted_ids))]


def _forbidden(statement: Statement, policy: TenantPolicy) -> str | None:
    return NEVER_KEPT if policy.never_kept.mentioned(texts_of(statement)) else None


def emit_candidate(candidate: FactCandidate, effects: Effects, stamp: Stamp | None = None) -> None:
    """Write a candidate where it is compared with what is known."""
    emit(effects, candidate, candidate.candidate_id, stamp=stamp)
    effects.count("candidates_total", candidate.kind)


def _is_processed(window: Window, before: ExtractionState | None) -> bool:
    return before is not None and window.message_ids[-1] in before.end_marks


def _advance(before: ExtractionState, window: Window, candidates: Sequence[FactCandidate]) -> ExtractionState:
    extracted = dict.fromkeys(before.extracted_ids)
    for candidate in candidates:
        extracted.update(dict.fromkeys(candidate.source_message_ids))
    end_marks = (*before.end_marks, window.message_ids[-1])[-_REMEMBERED_WINDOWS:]
    return ExtractionState(end_marks, tuple(extracted)[-_REMEMBERED:])
