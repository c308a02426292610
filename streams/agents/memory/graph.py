"""memory/graph: what a person says of people, pets, places and organizations becomes a graph (requirement 1.5).

Statements come from the stage that forms episodes, which reads each turn once.  The graph is that of all of a
person's statements, whatever way they came: it does not depend on their order, and what is erased is as if it
had never been said.  What a statement touches is made anew, and only what changed is published.

State: under ``<person>`` the statements; under ``<id>/erased`` what is remembered of the erasure of a
conversation or a person; under ``<id>/gone`` which entities and relations that changed (:mod:`.late_graph`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from models import ids
from models.errors import InvalidRecord
from models.facts import Erasure
from models.graph import Entity, GraphStatement, Mention, Relation
from processors.extraction.graph.resolving import Resolved
from processors.text.validation import decode
from streams.agents.emitting import emit, emit_tombstone
from streams.agents.memory import late_graph
from streams.agents.memory.fact_store import ERASED_SUFFIX, ERASURE, erased_until, erasure_key
from streams.agents.memory.late_graph import GONE, EntityHeader
from streams.clients import erasures
from streams.clients.erasures import Erasing
from streams.clients.records import SourceRecord
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage
from streams.runtime.stamp import Stamp

STATEMENTS = "memory.graph-statements.v1"
ENTITIES = "memory.entities.v1"
RELATIONS = "memory.relations.v1"

#: How many statements of a person are kept: the latest; and of those that say the same.
STATEMENTS_LIMIT = 2_000
SAME_LIMIT = 10

#: Up to which version a record without a value erases.
VERSION_HEADER = "erased_version"

#: How keys end under which no person's statements are.
_NOBODYS = (ERASED_SUFFIX, late_graph.SUFFIX)


class GraphState(msgspec.Struct, frozen=True):
    """A person's statements, by their ids in order, and how often the graph has changed."""

    version: int = 0
    statements: tuple[GraphStatement, ...] = ()


STATE: Codec[GraphState] = Codec("graph of a person", GraphState, form=msgspec.json)


class _Heard(NamedTuple):
    """A statement or an erasure; ``key``: whose state it changes."""

    key: bytes
    statement: GraphStatement | None = None
    erasing: Erasing | None = None


class GraphStage:
    """Handlers of statements and erasures."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stage(self) -> Stage:
        """Return the stage."""
        own: Source[GraphState, EntityHeader | None] = Source(
            decode=late_graph.read_header, fold=self._fold_own, key=lambda written: b""
        )
        return keyed_stage(
            name="graph",
            table="graph",
            codec=STATE,
            others=(ERASURE, GONE),
            sources={
                STATEMENTS: Source(
                    decode=_decode,
                    fold=self._fold,
                    key=lambda heard: heard.key,
                    seeks=lambda heard: () if heard.erasing is None else (heard.erasing.named,),
                ),
                ENTITIES: own,
                RELATIONS: own,
            },
            batch_records=self._settings.batch_records,
            observes_only_of=(ENTITIES, RELATIONS),
            # For somebody who has told much, a batch of statements takes seconds.
            in_thread=(STATEMENTS, ENTITIES, RELATIONS),
        )

    def _fold(self, before: GraphState | None, run: Run[_Heard], work: Work) -> GraphState | None:
        """Take in statements one by one: read again after a crash, in other batches, they publish the same."""
        state, graph = before or GraphState(), None
        for heard, record in run.items:
            if heard.erasing is not None:
                self._erase(heard.erasing, record.partition, work)
            elif heard.statement is not None and not _is_erased(heard.statement, record.partition, work):
                kept = _kept(state.statements, heard.statement)
                if kept is not None:
                    graph = graph or _graph_of(state)
                    state = _changed(state, graph, (heard.statement,), kept.gone, kept.statements, work)
        return state if graph is not None else before

    @staticmethod
    def _fold_own(before: GraphState | None, run: Run[EntityHeader | None], work: Work) -> GraphState | None:
        """Write what is so by now behind copies of what was before an erasure."""
        late: dict[bytes, list[EntityHeader]] = {}
        for written, _ in run.items:
            if written is not None and late_graph.is_late(written, work):
                late.setdefault(person_key(written.tenant_id, written.user_id), []).append(written)
        for person, copies in late.items():
            work.skip("erased", by=len(copies))
            state = work.get(person, STATE) or GraphState(max(each.version for each in copies))
            graph, version, user_id = _graph_of(state).graph, state.version + 1, copies[0].user_id
            entities = {each.entity_id: graph.entities.get(each.entity_id) for each in copies if each.entity_id}
            ties = {
                each.relation_id: graph.relations.get(each.relation_id) for each in copies if each.relation_id
            }
            _publish(Entity, entities, version, user_id, work)
            _publish(Relation, ties, version, user_id, work)
            work.put(person, GraphState(version, state.statements), STATE)
        return before

    @staticmethod
    def _erase(erasing: Erasing, partition: int, work: Work) -> None:
        key = erasure_key(erasing.key(partition))
        known = work.get(key, ERASURE)
        if known is not None and erasing.until <= known.until:
            work.skip("replayed")
            return
        for person in work.holding(erasing.named):
            state = None if person.endswith(_NOBODYS) else work.get(person, STATE)
            if state is None:
                continue
            gone = [each for each in state.statements if _rests_on(each, erasing)]
            if gone:
                left = [each for each in state.statements if not _rests_on(each, erasing)]
                after = _changed(state, _graph_of(state), (), gone, left, work, erased=True)
                work.put(person, after, STATE)
        # Last: that it is known says that it is done.
        work.put(key, Erasure(until=erasing.until), ERASURE, last=True)


def send_statement(statement: GraphStatement, effects: Effects, stamp: Stamp | None = None) -> None:
    """Write a statement where its person's graph is made."""
    emit(effects, statement, stamp=stamp)


def person_key(tenant_id: str, user_id: str) -> bytes:
    """Return the key of the state of a person's graph."""
    return ids.deterministic_id("graph", tenant_id, user_id).encode()


class _Kept(NamedTuple):
    """Statements in their order, and those that went for a new one among them."""

    statements: list[GraphStatement]
    gone: tuple[GraphStatement, ...]


def _kept(known: Sequence[GraphStatement], new: GraphStatement) -> _Kept | None:
    """Return the latest statements, of those that say the same no more than some; ``None``: nothing changes."""
    if any(each.statement_id == new.statement_id for each in known):
        return None
    kept = [*known]
    insort(kept, new, key=lambda each: (each.source.arrived_at, each.statement_id))
    claim = _claim(new)
    same = [each for each in kept if _claim(each) == claim]
    gone = same[0] if len(same) > SAME_LIMIT else kept[0] if len(kept) > STATEMENTS_LIMIT else None
    if gone is None:
        return _Kept(kept, ())
    return None if gone is new else _Kept([each for each in kept if each is not gone], (gone,))


def _claim(each: GraphStatement) -> tuple[Mention, str, Mention, bool]:
    return each.subject, each.relation, each.object, each.ended


def _graph_of(state: GraphState) -> Resolved:
    graph = Resolved()
    graph.change(state.statements)
    return graph


def _changed(
    state: GraphState,
    graph: Resolved,
    added: Sequence[GraphStatement],
    gone: Sequence[GraphStatement],
    left: Sequence[GraphStatement],
    work: Work,
    *,
    erased: bool = False,
) -> GraphState:
    """Publish what is not as it was; return the state after, in which these statements are ``left``."""
    version, user_id = state.version + 1, (*state.statements, *added)[0].user_id
    done = graph.change(added, gone)
    for name in (*done.entities, *done.relations) if erased else ():
        late_graph.note_gone(name, version, work)
    _publish(Entity, done.entities, version, user_id, work)
    _publish(Relation, done.relations, version, user_id, work)
    return GraphState(version, tuple(left))


def _publish(
    of: type[Entity | Relation],
    changed: Mapping[str, Entity | None] | Mapping[str, Relation | None],
    version: int,
    user_id: str,
    work: Work,
) -> None:
    for name, thing in sorted(changed.items(), key=lambda each: each[0]):
        if thing is not None:
            emit(work, msgspec.structs.replace(thing, version=version), f"{name}/{version}")
        else:
            headers = [(VERSION_HEADER, b"%d" % version)]
            event_id = f"{name}/{version}/erased"
            emit_tombstone(work, of, name, event_id, headers, subject=user_id, route=user_id)


def _rests_on(statement: GraphStatement, erasing: Erasing) -> bool:
    said = statement.source
    covered = erasing.covers(statement.tenant_id, statement.user_id, said.conversation_id)
    return covered and said.arrived_at <= erasing.until


def _is_erased(statement: GraphStatement, partition: int, work: Work) -> bool:
    """Return whether a statement's source was erased with its conversation or its person."""
    said = statement.source
    until = erased_until(said.conversation_id, statement, partition, work)
    if until is None or said.arrived_at > until:
        return False
    work.skip("erased")
    return True


def _decode(record: SourceRecord) -> _Heard:
    if record.value is None:
        erasing = erasures.read(record)
        if erasing is None:
            raise InvalidRecord(
                "invalid_erasure", "a record without a value says by its headers what is erased"
            )
        return _Heard(b"", erasing=erasing)
    statement = decode(GraphStatement, record.value)
    return _Heard(person_key(statement.tenant_id, statement.user_id), statement)
