"""Dependencies of the operations.  A part that is not there costs the operations that need it, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from processors.retrieval.recall.masking import Mask, masking
from streams.chat.answering.understanding import Understanding
from streams.chat.chats import Chats
from streams.chat.completions import Completions
from streams.clients.kafka.lookup import Lookup
from streams.clients.policies.topic import PolicyStore
from streams.clients.sending import Sender
from streams.queries.contexts.reading import ContextReader
from streams.queries.conversations.listing import Conversations
from streams.queries.conversations.progress import ProgressReader
from streams.queries.conversations.unread import Unread
from streams.queries.conversations.windows import WindowRetriever
from streams.queries.erasure.forgetting import Forgetter
from streams.queries.erasure.proving import Erasures
from streams.queries.fact_uses import FactUses
from streams.queries.letter_queues import LetterQueues
from streams.queries.live.history import History
from streams.queries.live.reader import Live
from streams.queries.live.status import Status
from streams.server.api.problems import unavailable
from streams.server.replays.beside import Replays
from streams.stores.remembered.ports import Facts, Graph, Leases, Log, Search


def _nothing() -> Mapping[str, float]:
    return {}


@dataclass
class Parts:
    """The parts of one process.

    ``most_content_bytes``: longest content of a message.  ``metadata_keys``: what searches filter by.  ``mask``
    takes out of a text what is not kept verbatim.  ``responder``: who answers in chats, by its setting.
    ``waited_for``: what those that fill the views have been waiting for, and for how long (seconds).
    """

    search: Search | None = None
    facts: Facts | None = None
    windows: WindowRetriever | None = None
    understanding: Understanding | None = None
    contexts: ContextReader | None = None
    log: Log | None = None
    live: Live | None = None
    history: History | None = None
    status: Status | None = None
    letters: LetterQueues | None = None
    graph: Graph | None = None
    sender: Sender | None = None
    conversations: Conversations | None = None
    progress: ProgressReader | None = None
    unread: Unread | None = None
    most_content_bytes: int = 65_536
    metadata_keys: tuple[str, ...] = ()
    mask: Mask = field(default_factory=masking)
    responder: str = "builtin"
    forgetter: Forgetter | None = None
    erasures: Erasures | None = None
    chats: Chats | None = None
    completions: Completions | None = None
    lookup: Lookup | None = None
    uses: FactUses | None = None
    leases: Leases | None = None
    policies: PolicyStore | None = None
    replays: Replays | None = None
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
