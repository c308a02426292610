"""Ledger of a conversation's summaries on ``memory.summaries.v1``, by whose keys an erasure names them.

The ids lie in pages beside the conversation's state, by how they begin, and outlive it: a conversation that is
forgotten here can still be erased.  They go when the topic has let go of the summaries.  A table that begins
anew is filled by reading the topic.
"""

from __future__ import annotations

import msgspec

from models.summaries import Summary
from streams.agents.emitting import emit_tombstone
from streams.runtime.codec import Codec
from streams.runtime.keyed import Work

SUMMARIES = "memory.summaries.v1"


class Listed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A summary, whose it is, and when the last of its messages arrived (epoch seconds)."""

    summary_id: str
    tenant_id: str
    arrived_at: float


LEDGER: Codec[tuple[Listed, ...]] = Codec("page of summaries", tuple[Listed, ...])

#: What parts the key of a page from its conversation's: no id holds it, and pages of bodies go on otherwise.
_MARK = b"\x00s"

#: What ids, and so the names of pages, begin with.
_BEGINNINGS = "0123456789abcdef"


def is_ledger(key: bytes) -> bool:
    """Say whether a key is that of a page of summaries."""
    return _MARK in key


def note(work: Work, summary: Summary, kept_seconds: float) -> None:
    """Remember a summary, for as long as its topic keeps it."""
    key = _page(summary.conversation_id.encode(), summary.summary_id)
    known = work.get(key, LEDGER) or ()
    if any(each.summary_id == summary.summary_id for each in known):
        return
    listed = Listed(summary.summary_id, summary.tenant_id, summary.created_at.timestamp())
    page = (*(each for each in known if each.arrived_at + kept_seconds > listed.arrived_at), listed)
    work.put(key, page, LEDGER, first=True)
    work.wake(key, gone_at(page, kept_seconds))


def erase(work: Work, conversation: bytes, tenant_id: str, until: float, source: str) -> None:
    """Erase the summaries of a tenant's conversation that are of messages which arrived up to ``until``."""
    for beginning in _BEGINNINGS:
        key = _page(conversation, beginning)
        known = work.get(key, LEDGER) or ()
        gone = [each for each in known if each.tenant_id == tenant_id and each.arrived_at <= until]
        for each in gone:
            write_tombstone(work, each.summary_id, conversation, source)
        if gone:
            left = tuple(each for each in known if each not in gone)
            work.put(key, left, LEDGER) if left else work.remove(key)


def write_tombstone(work: Work, summary_id: str, conversation: bytes, source: str) -> None:
    """Write that a summary is erased."""
    route = conversation.decode()
    emit_tombstone(work, Summary, summary_id, source=source, subject=route, route=route)


def gone_at(page: tuple[Listed, ...], kept_seconds: float) -> float:
    """Return when the topic has let go of the last summary of a page (epoch seconds)."""
    return max(each.arrived_at for each in page) + kept_seconds


def _page(conversation: bytes, summary_id: str) -> bytes:
    return conversation + _MARK + summary_id[:1].encode()
