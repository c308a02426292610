"""The verdict on state: what a worker would recover, against what the messages and summaries lead to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from aiokafka import ConsumerRecord

from processors.conversations.state import ConversationState, Kept, is_page, page_key
from processors.conversations.token_table import TokenTable
from streams.agents.ingest.body_pages import PAGE
from streams.agents.ingest.conversations import STATE
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState

#: What the conversations stage reads.
_SOURCES = ("chat.messages.v1", "memory.summaries.v1", "memory.commands.v1")


async def stored_states(changelog: AsyncIterator[ConsumerRecord]) -> tuple[dict[bytes, bytes], int]:
    """Replay a changelog with the rule for marks; return the payload of each key, and how many were stale."""
    stored = StoredPartition(_SOURCES)
    async for record in changelog:
        stored.fold([record])
    return dict(PartitionState(stored).items()), stored.stale


def compare_states(
    stored: Mapping[bytes, bytes],
    expected: Mapping[bytes, ConversationState],
    bodies: Mapping[bytes, Sequence[Kept]],
    tables: Mapping[bytes, TokenTable],
) -> Iterator[str]:
    """Yield what is wrong.  ``tables``: what counting from scratch gives; ``bodies``: all messages as kept."""
    found = {key: STATE.decode(payload, key) for key, payload in stored.items() if not is_page(key)}
    for key in found.keys() - expected.keys():
        yield f"state of {key!r} is not expected"
    for key, folded in expected.items():
        state = found.get(key)
        if state is None:
            yield f"state of {key!r} is missing"
            continue
        for name, (is_, must_be) in _comparable(state, folded, tables[key]).items():
            if is_ != must_be:
                yield f"state of {key!r}: {name} is {is_}, expected {must_be}"
        yield from _compare_bodies(key, state, stored, dict(enumerate(bodies[key])))


def _compare_bodies(
    key: bytes, state: ConversationState, stored: Mapping[bytes, bytes], kept: Mapping[int, Kept]
) -> Iterator[str]:
    """The messages that a window or a summary may still need are there, in the state or in its pages."""
    found: dict[int, Kept] = {}
    for begins in state.pages:
        page = stored.get(page_key(key, begins))
        if page is None:
            yield f"state of {key!r} names a page at {begins} that is not there"
        else:
            found.update(enumerate(PAGE.decode(page), begins))
    found.update(enumerate(state.kept, state.kept_from))
    for index in range(min(state.cursor.from_index, state.tokens.from_index), state.next_index):
        if found.get(index) != kept.get(index):
            yield f"state of {key!r}: message {index} is {found.get(index)}, not {kept.get(index)}"


def _comparable(state: ConversationState, folded: ConversationState, table: TokenTable) -> dict[str, tuple]:
    """Pair what is with what must be.  When a request was asked depends on batches, so it is left out."""
    opened = (state.tokens.open.from_index, state.tokens.open.to_index) if state.tokens.open else None
    must_open = (table.open.from_index, table.open.to_index) if table.open else None
    return {
        "next_index": (state.next_index, folded.next_index),
        "cursor": (state.cursor, folded.cursor),
        "end_mark": (state.end_mark, folded.end_mark),
        "recent_ids": (state.recent_ids, folded.recent_ids),
        "paged_ids": (state.paged_ids, folded.paged_ids),
        "sent_at": (state.sent_at, folded.sent_at),
        "token counts": (state.tokens.counts, table.counts),
        "first unsummarized": (state.tokens.from_index, table.from_index),
        "summaries": (
            [summary.summary_id for summary in state.tokens.summaries],
            [summary.summary_id for summary in table.summaries],
        ),
        "open request": (opened, must_open),
    }
