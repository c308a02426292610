"""Ports to the views, whichever process has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from models.context import Context
from models.errors import NotFound
from models.facts import Fact
from models.graph import Relation
from models.index import FactFilter, Place
from models.turns import Turn
from streams.stores.conversation_log import Erasures, Extent
from streams.stores.search import Results, Wanted
from streams.stores.search.graph import GraphWanted, Neighbourhood


class Search(Protocol):
    """Searching a person's memory, as :class:`streams.stores.search.MemorySearch`."""

    async def search(self, wanted: Wanted) -> Results:
        """Return the search results, best first."""
        ...

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        """Say whether there is anything of a person."""
        ...

    async def has_turns(self, user_id: str, tenant_id: str, until: datetime) -> bool:
        """Say whether there is anything that a person said before a moment."""
        ...


class Facts(Protocol):
    """The facts by person and by id, as :class:`models.index.SearchIndex`."""

    async def page(
        self, where: FactFilter, limit: int, start: str | None = None
    ) -> tuple[list[Fact], str | None]:
        """Return facts in order of their ids, from ``start`` on, and the next page's start, if any."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Fact]:
        """Return those that are stored."""
        ...

    async def count(self, where: FactFilter | None = None) -> int:
        """Return how many there are (that match ``where``)."""
        ...

    async def without_vector(self, ids: Sequence[str]) -> set[str]:
        """Return those that are stored and have no vector yet."""
        ...

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return up to which offset each partition is in here."""
        ...


class Log(Protocol):
    """The conversations, as :class:`streams.stores.conversation_log.ConversationLog`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        ...

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        """Return how long a conversation is; ``None``: it is not here."""
        ...

    async def length(self, tenant_id: str, conversation_id: str) -> int:
        """Return the index of the conversation's next turn."""
        ...

    async def turns(self, tenant_id: str, conversation_id: str, first: int, last: int) -> list[Turn]:
        """Return the turns from one index to another (inclusive)."""
        ...

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        """Return the turns that there are at these indices of conversations."""
        ...

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last ``count`` turns of a conversation, oldest first."""
        ...

    async def conversations(
        self, tenant_id: str, user_id: str, limit: int | None, after: str = ""
    ) -> list[str]:
        """Return a person's conversations, the one with the latest turn first; ``limit`` ``None``: all of them.

        ``after``: those behind that one, or all again if it is none of theirs any more.
        """
        ...

    async def people(self, tenant_id: str) -> list[str]:
        """Return the people of a tenant who take part in conversations, by name."""
        ...

    async def begin(self, tenant_id: str, people: Mapping[str, str]) -> dict[str, bool]:
        """Have people begin conversations; return which others had begun, and whether those of the tenant."""
        ...

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        """Return the erasures of a person, of conversations, and of turns in them."""
        ...


class Graph(Protocol):
    """Graph of a person, as :class:`streams.stores.search.graph.GraphSearch`."""

    async def look(self, wanted: GraphWanted) -> Neighbourhood:
        """Return the requested part of the graph."""
        ...

    async def tied_to(self, user_id: str, tenant_id: str, question: str, limit: int = 10) -> list[Relation]:
        """Return the relations of the entities that a question names."""
        ...


class Contexts(Protocol):
    """The contexts that were made, as :class:`streams.stores.context_log.ContextLog`."""

    async def read(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        """Return the latest context of a person in a conversation."""
        ...


def somebody_elses(user_id: str, conversation_id: str) -> NotFound:
    """Return the error for somebody else's conversation, the same as for a missing one."""
    return NotFound(f"{user_id} takes part in no conversation {conversation_id}")


#: Tenant, person and turn: who asks names the turn, and others may use the same name.
WhoseTurn = tuple[str, str, str]


class Held(NamedTuple):
    """A turn's lease of its conversation; ``begins``: who begins the conversation with it, or ``""``."""

    tenant_id: str
    conversation_id: str
    turn_id: str
    begins: str


class Leases(Protocol):
    """Leases of chat turns, as :class:`streams.stores.turn_leases.TurnLeases`."""

    async def claim(
        self, tenant_id: str, conversation_id: str, turn_id: str, holder: str, begins: str = ""
    ) -> str | None:
        """Take or renew a lease; return ``None``, or the turn that has it.

        ``begins``: who begins the conversation with it; raises :class:`NotFound` if somebody else has.
        """
        ...

    async def renew(self, held: Sequence[Held], holder: str) -> list[str | None]:
        """Renew leases in one call; return of each ``None``, or the turn that has it.

        ``""``: somebody else has begun the conversation.
        """
        ...

    async def release(self, tenant_id: str, conversation_id: str, turn_id: str, holder: str) -> None:
        """Let go of a lease."""
        ...

    async def held(self, tenant_id: str, conversation_id: str) -> str | None:
        """Return the turn that runs in a conversation."""
        ...

    async def poll_cancellations(self, turns: Sequence[WhoseTurn]) -> list[bool]:
        """Make known that turns run; return of each whether somebody wants it to end."""
        ...

    async def stop(self, turn: WhoseTurn) -> str | None:
        """Want a turn to end; return how it has, ``""`` while it runs, ``None`` if nothing is known of it."""
        ...

    async def end(self, turn: WhoseTurn, status: str) -> None:
        """Make known how a turn has ended."""
        ...


@dataclass(frozen=True)
class Remembered:
    """All of it."""

    search: Search
    facts: Facts
    log: Log
    contexts: Contexts
    graph: Graph
    leases: Leases
