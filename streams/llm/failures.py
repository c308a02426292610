"""What the errors of the Gemini API mean: which of them may pass, and which setting one says is wrong."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from google.genai import errors

from models.errors import DependencyUnavailable, Unanswered
from streams.llm.answers import Declined

DEPENDENCY = "gemini"

#: Longest wait that an answer 429 may ask for.
_LONGEST_WAIT = 3600.0

_DELAY = re.compile(r"^(\d+(?:\.\d+)?)s$")


class Throttled(DependencyUnavailable):
    """Too many calls.  ``retry_after`` (seconds): the wait that was asked for, ``None`` if none was."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(DEPENDENCY, message)
        self.retry_after = retry_after


class Misconfigured(DependencyUnavailable):
    """A setting is wrong, as it turned out while working: key, model or URL; the message says which."""


class Failures:
    """Reads errors of the API at ``url``, whose calls are given ``timeout`` seconds."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url
        self._timeout = timeout

    def declined(self, error: Exception) -> Declined:
        """Return what will not pass; raise what may."""
        if isinstance(error, errors.APIError):
            wrong = self.wrong_setting(error, "the model", "SWITCHBOARD_GEMINI_MODEL")
            if wrong is None and error.code in (400, 413, 422):
                return Declined("model_refused_request", _first_line(error.message), 0, 0)
            raise self.unavailable(error) from error
        if isinstance(error, ValueError):
            raise Misconfigured(DEPENDENCY, self.no_api()) from error
        raise self.unavailable(error) from error

    def unavailable(self, error: Exception) -> DependencyUnavailable:
        """Return what to raise for an error that may pass."""
        if isinstance(error, errors.APIError):
            wrong = self.wrong_setting(error, "the model", "SWITCHBOARD_GEMINI_MODEL")
            if wrong is not None:
                return Misconfigured(DEPENDENCY, wrong)
            message = f"{error.code} {error.status or ''}: {_first_line(error.message)}"
            return Throttled(message, _retry_after(error)) if error.code == 429 else _down(message)
        if isinstance(error, TimeoutError | httpx.ReadTimeout):
            return Unanswered(DEPENDENCY, f"no answer within {self._timeout:g} s")
        return _down(f"{self._url} cannot be reached ({error or type(error).__name__})")

    def wrong_setting(self, error: errors.APIError, model: str, variable: str) -> str | None:
        """Return which setting an error says is wrong, ``None`` if it says none."""
        message = _first_line(error.message)
        if error.code == 403:
            return (
                f"Gemini takes the key, but not for this ({message}): give it the right, or set GEMINI_API_KEY "
                "or GEMINI_API_KEY_FILE to one that has it"
            )
        if error.code == 401 or "API_KEY" in str(error.details) or "API key" in message:
            return (
                f"Gemini does not take the key ({message}): set GEMINI_API_KEY or GEMINI_API_KEY_FILE to one "
                "that it takes"
            )
        if error.code == 404:
            return f"Gemini has no such model ({model}: {message}): set {variable} to one that it has"
        return None

    def no_api(self) -> str:
        """Return what to say of an answer that is no JSON."""
        return (
            f"what answers at {self._url} is not the Gemini API (it sent no JSON): set SWITCHBOARD_GEMINI_URL, "
            "and see whether a proxy stands in between"
        )


def _down(message: str) -> DependencyUnavailable:
    return DependencyUnavailable(DEPENDENCY, message)


def _retry_after(error: errors.APIError) -> float | None:
    """Return the wait that an error asks for (seconds): by its header, or as Google's own details say it."""
    header = getattr(error.response, "headers", {}).get("retry-after")
    if header is not None and (wait := _seconds(header)) is not None:
        return min(max(wait, 0.0), _LONGEST_WAIT)
    for each in _details(error):
        found = _DELAY.match(str(each.get("retryDelay", "")))
        if found is not None:
            return min(float(found[1]), _LONGEST_WAIT)
    return None


def _seconds(header: str) -> float | None:
    try:
        return None if math.isnan(seconds := float(header)) else seconds
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return None


def _details(error: errors.APIError) -> list[dict[str, Any]]:
    body = error.details if isinstance(error.details, dict) else {}
    inner = body.get("error", body)
    details = inner.get("details") if isinstance(inner, dict) else None
    return [each for each in details or () if isinstance(each, dict)]


def _first_line(message: object) -> str:
    """Return the first line of what an error says, which some proxies say in another form than as a text."""
    return str(message or "no reason given").strip().partition("\n")[0][:300]
