"""Index of a message in its conversation, also where the log has lost earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from models.errors import NotFound
from streams.clients.kafka.lookup import Lookup
from streams.queries.conversations import states
from streams.queries.live.records import EventKind, Seen


class Reached(NamedTuple):
    """How far ingest has read a conversation: what it gives the next message, and where that may stand."""

    next_index: int = 0
    next_offset: int = 0


async def reached(lookup: Lookup, tenant_id: str, conversation_id: str) -> Reached:
    """Return how far ingest is, to be asked before messages are read: those that come meanwhile come after it.

    Raises :class:`DependencyUnavailable` when the broker does not answer.
    """
    try:
        stored = await states.find(lookup, conversation_id)
    except NotFound:
        return Reached()
    if stored is None or stored.state.tenant_id != tenant_id:
        return Reached()
    return Reached(stored.state.next_index, stored.next_offsets[0])


def numbered(seen: Sequence[Seen], is_of_it: Callable[[Seen], bool], until: Reached) -> list[Seen]:
    """Return events in their order, the messages of the conversation with their indices.

    Counted from the last that ingest has read: where a log begins is a matter of its age.  What was said again
    counts once, as there; what was said in an earlier life of the conversation has no index.
    """
    ours = [
        each for each in seen if each.event.kind is EventKind.MESSAGE and each.event.value and is_of_it(each)
    ]
    mine = {id(each) for each in ours}
    first = {each.event.value.message_id: each.event.offset for each in reversed(ours)}
    read = sum(offset < until.next_offset for offset in first.values())
    places = {name: at for at, name in enumerate(sorted(first, key=first.__getitem__), until.next_index - read)}
    return [_with_index(each, places) if id(each) in mine else each for each in seen]


def _with_index(message: Seen, places: Mapping[str, int]) -> Seen:
    index = places[message.event.value.message_id]
    return replace(message, event=replace(message.event, index=index if index >= 0 else None))
