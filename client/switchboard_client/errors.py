"""Errors that calls raise.

::

    SwitchboardError
    ├── Unreachable           nobody answered, in time or at all
    ├── Malformed             what answered is no Switchboard, or one of another time
    ├── Interrupted           a stream broke off and could not be taken up again
    └── Problem               it answered with a problem (RFC 9457): .type, .status, .detail, .advice, .trace_id
        ├── InvalidRequest        invalid-request, not-json, too-large, headers-too-large, ...
        ├── NotAuthenticated      token-needed, token-refused
        ├── NotAllowed            not-allowed, foreign-origin
        ├── NotFound              unknown-fact, unknown-conversation, ...: every other 404
        ├── Conflict              conflict: every 409
        ├── TooManyRequests       too-many-requests: .retry_after
        └── Unavailable           dependency-unavailable: .part says which; too-many-turns, ...: every 503

What to raise is decided by the problem's ``type``, and by its status for types that this version does not know.
"""

from __future__ import annotations

from typing import Any


class SwitchboardError(Exception):
    """Root of all errors of this package."""


class Unreachable(SwitchboardError):
    """Nobody answered, in time or at all."""


class Malformed(SwitchboardError):
    """The answer cannot be understood."""


class Interrupted(SwitchboardError):
    """A stream broke off and could not be taken up again."""


class Problem(SwitchboardError):
    """The answer is a problem.  ``type`` is stable, ``detail`` says what is wrong, ``advice`` what to do.

    ``body``: all that it says.
    """

    def __init__(self, status: int, body: dict[str, Any], retry_after: float | None = None) -> None:
        self.status, self.body = status, body
        self.type = str(body.get("type", ""))
        self.detail = str(body.get("detail", "") or body.get("title", "") or f"status {status}")
        self.advice = str(body.get("advice", ""))
        self.trace_id = str(body.get("trace_id", ""))
        self.part = str(body.get("part", ""))
        self.retry_after = retry_after
        super().__init__(self.detail)


class InvalidRequest(Problem):
    """An invalid request; sent again unchanged it fails again."""


class NotAuthenticated(Problem):
    """A token is missing, unknown, expired or revoked."""


class NotAllowed(Problem):
    """The token does not allow this."""


class NotFound(Problem):
    """A resource that does not exist."""


class Conflict(Problem):
    """Something else goes on: look at what is there by now."""


class TooManyRequests(Problem):
    """Wait ``retry_after`` seconds."""


class Unavailable(Problem):
    """A part is down, which ``part`` names; or there is no room now (``retry_after``)."""


_BY_NAME: dict[str, type[Problem]] = {
    "invalid-request": InvalidRequest,
    "not-json": InvalidRequest,
    "too-large": InvalidRequest,
    "headers-too-large": InvalidRequest,
    "malformed-http": InvalidRequest,
    "token-needed": NotAuthenticated,
    "token-refused": NotAuthenticated,
    "not-allowed": NotAllowed,
    "foreign-origin": NotAllowed,
    "unknown-fact": NotFound,
    "unknown-conversation": NotFound,
    "no-such-path": NotFound,
    "conflict": Conflict,
    "too-many-requests": TooManyRequests,
    "dependency-unavailable": Unavailable,
    "too-many-connections": Unavailable,
    "too-many-turns": Unavailable,
}
_BY_STATUS: dict[int, type[Problem]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
    503: Unavailable,
}


def problem(status: int, body: dict[str, Any], retry_after: float | None = None) -> Problem:
    """Return the error that stands for a problem."""
    name = str(body.get("type", "")).rpartition(":")[2]
    kind = _BY_NAME.get(name) or _BY_STATUS.get(status) or Problem
    return kind(status, body, retry_after)
