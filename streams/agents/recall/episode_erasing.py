"""Taking episodes back: of what a turn was erased from nothing stays, and no late copy brings it back.

A worker that was taken for dead may write an episode behind the record that erases it, which compaction then
takes away.  So what is on ``memory.episodes.v1`` is read, too, and such a copy is erased once more, behind it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from models.episodes import Episode
from models.errors import InvalidRecord
from models.messages import Timestamp
from models.vectors import VectorKind
from processors.conversations.episodes.state import EpisodesState
from processors.text.validation import decode
from streams.agents.emitting import emit_tombstone
from streams.agents.recall.episode_pages import (
    ERASED_EPISODES,
    PAGE,
    PAGE_EPISODES,
    ErasedEpisode,
    erased_key,
    has_turn,
    hash_of,
    last_arrival,
    page_key,
)
from streams.agents.recall.turn_log import Erased
from streams.agents.vectors import requests as embedding_requests
from streams.clients.erasures import UNTIL_HEADER
from streams.clients.records import SourceRecord
from streams.runtime.keyed import Run, Work

SOURCE = "/switchboard/memory"


class Published(msgspec.Struct, frozen=True):
    """Header of an episode on the topic."""

    episode_id: str
    conversation_id: str
    user_id: str
    arrived_at: Timestamp


def fold_own(before: EpisodesState | None, run: Run[Published | None], work: Work) -> EpisodesState | None:
    """Erase again what was erased already, if a copy of it came behind that."""
    known = {each.episode_id: each.until_ms for each in work.get(erased_key(run.key), ERASED_EPISODES) or ()}
    for item, _ in run.items if known else ():
        if item is not None and round(item.arrived_at.timestamp() * 1000) <= known.get(item.episode_id, -1):
            until = datetime.fromtimestamp(known[item.episode_id] / 1000, UTC)
            write_tombstone(run.key, item.episode_id, item.user_id, until, work)
            work.skip("erased")
    return before


def take_back(conversation: bytes, erased: Erased, listed: int, work: Work) -> None:
    """Take back the episodes that had a turn that is erased."""
    hashed, taken_back = hash_of(erased.turn_id), list[ErasedEpisode]()
    for number in range(-(-listed // PAGE_EPISODES)):
        key = page_key(conversation, number)
        page = work.get(key, PAGE) or ()
        gone = [each for each in page if has_turn(each, hashed, erased.until_ms)]
        for each in gone:
            until = last_arrival(each)
            write_tombstone(conversation, each.episode_id, each.user_id, until, work)
            work.count("episodes_total", "erased")
            taken_back.append(ErasedEpisode(each.episode_id, round(until.timestamp() * 1000)))
        if gone:
            work.put(key, tuple(each for each in page if each not in gone), PAGE)
    if taken_back:
        again = {each.episode_id for each in taken_back}
        before = work.get(erased_key(conversation), ERASED_EPISODES) or ()
        left = (each for each in before if each.episode_id not in again)
        # Before the pages that know them no more.
        work.put(erased_key(conversation), (*left, *taken_back), ERASED_EPISODES, first=True)


def write_tombstone(conversation: bytes, episode_id: str, user_id: str, until: datetime, work: Work) -> None:
    """Write that an episode is erased, and its vector with it."""
    headers = [(UNTIL_HEADER, until.isoformat().encode())]
    emit_tombstone(work, Episode, episode_id, headers=headers, route=conversation.decode())
    embedding_requests.forget_of(work, VectorKind.EPISODE, episode_id, user_id, SOURCE)


def decode_own(record: SourceRecord) -> Published | None:
    """Return the header of an episode; ``None`` for a tombstone or an invalid record."""
    try:
        return None if record.value is None else decode(Published, record.value)
    except InvalidRecord:
        return None
