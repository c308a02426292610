"""Interest of a watcher; it decides which partitions are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from models.messages import DEFAULT_TENANT
from streams.clients.catalog import Catalog
from streams.clients.partitioner import partition_of
from streams.queries.live.records import KINDS_OF_DEAD_LETTERS, TOPICS, EventKind
from streams.runtime.deadletters import DLQ_SUFFIX


class View(StrEnum):
    """Views to watch besides people and conversations.

    ``flow``: the state of the services, every second; ``dead-letters``: what was refused.
    """

    FLOW = "flow"
    DEAD_LETTERS = "dead-letters"


@dataclass(frozen=True)
class Interest:
    """Interest in the events of a conversation, of a person, of both, or of a :class:`View`.

    With both, what belongs to a conversation is that conversation's, and what is known only by person (facts)
    is what this person said in it.  ``only_person``: nothing that is anybody else's, whatever else is asked
    for.  ``kinds``: no others than these; empty: all.
    """

    tenant_id: str = DEFAULT_TENANT
    conversation_id: str = ""
    user_id: str = ""
    view: View | None = None
    only_person: str = ""
    kinds: frozenset[EventKind] = field(default_factory=frozenset)

    def wants(self, kind: EventKind) -> bool:
        """Tell whether events of this kind can be any of ours."""
        if self.kinds and kind not in self.kinds:
            return False
        if kind is EventKind.STATUS:
            return self.view is View.FLOW
        if kind is EventKind.DEAD_LETTER:
            return self.view is View.DEAD_LETTERS
        return bool(self.conversation_id or self.user_id)

    def concerns(self, kind: EventKind, tenant_id: str, user_id: str, conversations: Collection[str]) -> bool:
        """Tell whether an event of this kind about these is one of ours.

        ``user_id`` is empty and ``conversations`` without members where the record does not say.
        """
        if not self.wants(kind) or tenant_id != self.tenant_id:
            return False
        if self.only_person and user_id != self.only_person:
            return False
        if self.conversation_id and self.conversation_id not in conversations:
            return False
        alone = not self.conversation_id or kind in (EventKind.FACT, EventKind.CANDIDATES)
        return not (self.user_id and alone and user_id != self.user_id)

    def places(self, catalog: Catalog) -> Iterator[tuple[str, int]]:
        """Yield topics (contract names) and partitions that can hold what is wanted."""
        if self.view is View.DEAD_LETTERS and self.wants(KINDS_OF_DEAD_LETTERS):
            for spec in catalog.all():
                if spec.contract_name.endswith(DLQ_SUFFIX):
                    yield from ((spec.contract_name, number) for number in range(spec.partitions))
        known = {"conversation_id": self.conversation_id, "user_id": self.user_id or self.only_person}
        for topic, about in TOPICS.items():
            if topic not in catalog or not any(self.wants(kind) for kind in about.kinds):
                continue
            spec = catalog.get(topic)
            value = known.get(spec.routed_by)
            if value:
                yield topic, partition_of(value.encode(), spec.partitions)
            else:
                yield from ((topic, number) for number in range(spec.partitions))
