"""What the operations stand on.  A part that is not there costs the operations that need it, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from models.facts import Fact
from models.ports import FactFilter
from streams.api.problems import unavailable
from streams.context_reading import ContextReader
from streams.search import Results, Wanted
from streams.understanding import Understanding
from streams.windows import WindowRetriever


class Search(Protocol):
    """Searching a person's memory, as :class:`streams.search.MemorySearch`."""

    async def search(self, wanted: Wanted) -> Results:
        """Return what answers, best first."""
        ...

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        """Say whether there is anything of a person."""
        ...


class Facts(Protocol):
    """The facts by person and by id, as :class:`models.ports.SearchIndex`."""

    async def page(
        self, where: FactFilter, limit: int, start: str | None = None
    ) -> tuple[list[Fact], str | None]:
        """Return facts in order of their ids, from ``start`` on, and the next page's start, if any."""
        ...

    async def get(self, ids: list[str]) -> list[Fact]:
        """Return those that are stored."""
        ...


def _nothing() -> Mapping[str, float]:
    return {}


@dataclass
class Parts:
    """The parts of one process.

    ``waited_for``: what those that fill the views have been waiting for, and for how long (seconds).
    """

    search: Search | None = None
    facts: Facts | None = None
    windows: WindowRetriever | None = None
    understanding: Understanding | None = None
    contexts: ContextReader | None = None
    waited_for: Callable[[], Mapping[str, float]] = field(default=_nothing)

    def part(self, name: str) -> Any:
        """Return a part.

        Raises:
            Problem: 503; this process has none.
        """
        found = getattr(self, name)
        if found is None:
            raise unavailable(name, f"This process has no {name}; the others do not need it. {_ADVICE}")
        return found


_ADVICE = "Ask a `switchboard serve` of this deployment."
