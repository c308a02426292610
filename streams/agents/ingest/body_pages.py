"""The pages of message bodies beside a conversation's state, under keys of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.errors import ConsistencyError
from processors.conversations.bodies import LoadPage
from processors.conversations.state import Kept, page_key
from streams.runtime.codec import Codec
from streams.runtime.work import Work

PAGE: Codec[Sequence[Kept]] = Codec("page", tuple[Kept, ...])


def loading(key: bytes, work: Work) -> LoadPage:
    """Return the loader of pages of the conversation ``key``."""

    def load(begins: int) -> Sequence[Kept]:
        page = work.get(page_key(key, begins), PAGE)
        if page is None:
            raise ConsistencyError(f"the state of a conversation names a page at {begins} that is not there")
        return page

    return load


def store(key: bytes, pages: Mapping[int, Sequence[Kept] | None], work: Work) -> None:
    """Store pages, and remove those that are no longer needed; call it before the state is put.

    A crash in between must not harm: a page is there before the state names it, and goes after the state has
    let it go.
    """
    for begins, page in pages.items():
        if page is None:
            work.remove(page_key(key, begins))
        else:
            work.put(page_key(key, begins), page, PAGE)
