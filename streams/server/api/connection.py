"""One connection of the HTTP server, which costs whoever opens it no more than it costs us.

uvicorn gives up a connection that is idle between requests, but waits for ever for the rest of a request that
has begun, for the first byte of one that has not, and for a client that does not read its answer.
"""

from __future__ import annotations

import asyncio
import resource
import secrets
import sys
from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from streams.server.api.problems import (
    HEADERS_TOO_LARGE,
    MALFORMED,
    MEDIA_TYPE,
    REQUEST_TIMEOUT,
    TOO_MANY_CONNECTIONS,
    Kind,
    Problem,
    body_of,
    log_of,
)

#: From the first moment of a connection, or the first byte of a later request, to the end of the request.
REQUEST_SECONDS = 10.0

#: How long a client may take nothing of an answer that is still being written.
STALLED_SECONDS = 60.0

#: How long a connection is kept that has been answered and asks nothing: longer than clients use one, or a
#: request meets one that is being closed.
IDLE_SECONDS = 75.0

#: Connections that are kept so; of more than these the one goes that has been idle for the longest.
MOST_IDLE = 1000

#: Connections at once, where there are file descriptors for them (:func:`room`).
MOST_CONNECTIONS = 4000

#: File descriptors for the rest: who has spent all on strangers cannot reach the broker.
_OTHER_FILES = 256


def room(most: int = MOST_CONNECTIONS) -> int:
    """Ask for file descriptors, and return for how many connections there are enough."""
    allowed, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _OTHER_FILES
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        allowed = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, highest))
    return most if allowed == resource.RLIM_INFINITY else max(1, min(most, allowed - _OTHER_FILES))


#: The connections of each server that are idle, the one first that has been for the longest.
_idle: WeakKeyDictionary[ServerState, OrderedDict[Connection, None]] = WeakKeyDictionary()


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1, with a deadline for each request and a limit on connections."""

    request_seconds = REQUEST_SECONDS
    stalled_seconds = STALLED_SECONDS
    idle_seconds = IDLE_SECONDS
    most_connections = MOST_CONNECTIONS
    most_idle = MOST_IDLE

    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _unread = 0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._idle = _idle.setdefault(self.server_state, OrderedDict())

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """See :class:`asyncio.Protocol`."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections and not self._make_room():
            self._refuse(TOO_MANY_CONNECTIONS, "Too many connections are open. Try again.")
            return
        self._set_deadline(self.request_seconds)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        if self.transport.is_closing():
            return
        if self in self._idle:
            del self._idle[self]
            self._set_deadline(self.request_seconds)
        elif self._deadline is None and self._request_expected():  # before all of the answer before was read
            self._set_deadline(self.request_seconds)
        super().data_received(data)
        if not self._request_expected():
            self._clear_deadline()

    def on_response_complete(self) -> None:
        """The answer is written: a next request may take its time to come, and not to end once it has begun."""
        super().on_response_complete()
        self._clear_deadline()
        if self._request_expected():
            self._expect_next()

    def pause_writing(self) -> None:
        """See :class:`asyncio.Protocol`: the client takes less than is written."""
        super().pause_writing()
        self._set_stalled()

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        super().resume_writing()
        self._clear_stalled()
        if self.conn.their_state is h11.IDLE and self._deadline is None:
            self._expect_next()

    def _set_stalled(self) -> None:
        self._clear_stalled()
        self._unread = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self.stalled_seconds, self._on_stalled)

    def _clear_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _on_stalled(self) -> None:
        """Let go of a client that has taken nothing; one that only takes its time has as much of it again."""
        self._stalled = None
        unread = self.transport.get_write_buffer_size()
        if unread and unread >= self._unread:
            self.transport.abort()
        elif unread:
            self._set_stalled()
        elif self.conn.their_state is h11.IDLE and self._deadline is None:
            self._expect_next()

    def _expect_next(self) -> None:
        if self.conn.trailing_data[0] or self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._set_deadline(self.request_seconds)
            return
        if self.transport.get_write_buffer_size():  # what comes next comes when this was read
            self._set_stalled()
            return
        self._set_deadline(self.idle_seconds)
        self._idle[self] = None
        if len(self._idle) > self.most_idle:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._idle.pop(self, None)
        self._clear_deadline()
        self._clear_stalled()
        super().connection_lost(exc)

    def _make_room(self) -> bool:
        """Let go of the connection that has been idle for the longest, if any is."""
        if not self._idle:
            return False
        idle, _ = self._idle.popitem(last=False)
        idle.transport.abort()
        return True

    def _request_expected(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing()

    def _set_deadline(self, seconds: float) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(seconds, self._on_deadline)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_deadline(self) -> None:
        self._deadline = None
        begun, _ = self.conn.trailing_data
        if begun and self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            detail = f"The request did not end within {self.request_seconds:g} s."
            self._refuse(REQUEST_TIMEOUT, detail)
        else:
            self.transport.abort()  # not close(), which waits until everything written has been read

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP, or a head of more than 64 KiB, with a problem."""
        error = sys.exc_info()[1]
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            detail = "Path and headers may have 64 KiB together: what is long goes into the body of a POST."
            self._refuse(HEADERS_TOO_LARGE, detail)
        else:
            self._refuse(MALFORMED, "This is no HTTP request.")

    def refused(self, kind: Kind) -> None:
        """Be told of what is refused here, before there is a request."""

    def _refuse(self, kind: Kind, detail: str) -> None:
        """Answer with a problem, whatever the client wanted, and close."""
        self.refused(kind)
        self._clear_deadline()
        problem, trace_id = Problem(kind, detail), secrets.token_hex(16)
        log_of(problem, trace_id)
        body = msgspec.json.encode(body_of(problem, "", trace_id))
        head = (
            f"HTTP/1.1 {kind.status.value} {kind.status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
        # Closing waits for what is written to be read.
        self._deadline = self.loop.call_later(self.request_seconds, self.transport.abort)
