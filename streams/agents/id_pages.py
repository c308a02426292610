"""The pages of message ids beside a conversation's state, for every stage that counts messages."""

from __future__ import annotations

from collections.abc import Mapping

from models.errors import ConsistencyError
from processors.conversations.message_ids import IdPage, LoadIds
from processors.conversations.state import id_page_key
from streams.runtime.codec import Codec
from streams.runtime.work import Work

IDS: Codec[bytes] = Codec("page of message ids", bytes)


def loading(key: bytes, work: Work) -> LoadIds:
    """Return the loader of id pages of the conversation ``key``."""

    def load(name: IdPage) -> bytes:
        page = work.get(id_page_key(key, name), IDS)
        if page is None:
            raise ConsistencyError(f"the state of a conversation names a page of ids {name} that is not there")
        return page

    return load


def store(key: bytes, pages: Mapping[IdPage, bytes | None], work: Work) -> None:
    """Store pages, and remove those that are no longer needed; call it before the state is put.

    A crash in between must not harm: a page is there before the state names it, and goes after the state has
    let it go.
    """
    for name, page in pages.items():
        if page is None:
            work.remove(id_page_key(key, name))
        else:
            work.put(id_page_key(key, name), page, IDS)
