"""Faults of a model's server, on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """Outcome of one call.

    The first group are errors of the API, the second of the network and of what stands in between; the rest are
    answers (status 200) that are of no use, or not whole.
    """

    RATE_LIMITED = "rate-limited"
    RATE_LIMITED_AFTER = "rate-limited-after"  # with Retry-After
    RATE_LIMITED_INFO = "rate-limited-info"  # says how long in the error's details only, as Google does
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    WRONG_KEY = "wrong-key"
    EXPIRED_KEY = "expired-key"
    NO_RIGHTS = "no-rights"
    NO_MODEL = "no-model"
    BAD_REQUEST = "bad-request"

    CUT = "cut"
    REFUSED_CONNECTION = "refused-connection"
    SLOW = "slow"
    STALLED = "stalled"  # begins to answer, and says no more
    HTML = "html"
    HTML_ERROR = "html-error"

    CUT_JSON = "cut-json"
    INVALID_JSON = "invalid-json"
    NO_JSON = "no-json"
    NULL_LISTS = "null-lists"
    WRONG_ENUM = "wrong-enum"
    BLOCKED_PROMPT = "blocked-prompt"
    BLOCKED_ANSWER = "blocked-answer"
    NO_CANDIDATES = "no-candidates"
    NO_TEXT = "no-text"
    HUGE = "huge"


#: Seconds that a 429 asks for, where it says so.
RETRY_AFTER = 2

#: Characters of an answer that is far too long.
HUGE_CHARACTERS = 5_000_000

HTML = "<!DOCTYPE html><html><title>Sign in</title><h1>Sign in to the network</h1></html>"

_KEY = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
}
_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{RETRY_AFTER}s"}

#: Status, Google's name of it, message and details.
_ERRORS: Mapping[Fault, tuple[int, str, str, list[Mapping[str, Any]]]] = {
    Fault.RATE_LIMITED: (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", []),
    Fault.RATE_LIMITED_AFTER: (
        429,
        "RESOURCE_EXHAUSTED",
        "Resource has been exhausted (e.g. check quota).",
        [],
    ),
    Fault.RATE_LIMITED_INFO: (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", [_RETRY]),
    Fault.INTERNAL: (500, "INTERNAL", "An internal error has occurred.", []),
    Fault.UNAVAILABLE: (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
    Fault.WRONG_KEY: (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [_KEY]),
    Fault.EXPIRED_KEY: (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", [_KEY]),
    Fault.NO_RIGHTS: (403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1.", []),
    Fault.NO_MODEL: (404, "NOT_FOUND", "models/x is not found for API version v1beta.", []),
    Fault.BAD_REQUEST: (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum allowed.", []),
}


def error_of(fault: Fault) -> tuple[int, dict[str, Any]] | None:
    """Return status and body of a fault that is an error of the API, ``None`` for any other."""
    found = _ERRORS.get(fault)
    return None if found is None else error(*found)


def error(
    code: int, status: str, message: str, details: list[Mapping[str, Any]] | None = None
) -> tuple[int, dict[str, Any]]:
    """Return an error as the API writes it."""
    return code, {"error": {"code": code, "message": message, "status": status, "details": details or []}}


def spoiled(fault: Fault, text: str) -> str:
    """Return an answer's text as the fault leaves it."""
    match fault:
        case Fault.CUT_JSON:
            return text[: len(text) * 2 // 3]
        case Fault.INVALID_JSON:
            return text.replace('":', '";', 3)
        case Fault.NO_JSON:
            return "I am sorry, but I cannot help with that."
        case Fault.NULL_LISTS:
            return _with_null_lists(text)
        case Fault.WRONG_ENUM:
            return text.replace('"new"', '"maybe"')
        case Fault.HUGE:
            return text[:-1] + " " * HUGE_CHARACTERS + text[-1:]
        case _:
            return text


def _with_null_lists(text: str) -> str:
    def nulled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: nulled(each) for key, each in value.items()}
        return None if isinstance(value, list) else value

    return json.dumps(nulled(json.loads(text)))
