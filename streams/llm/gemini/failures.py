"""Errors of the Gemini API: temporary ones, and those caused by a wrong setting."""

from __future__ import annotations

import re
from typing import Any

import httpx
from google.genai import errors

from models.errors import DependencyUnavailable, Unanswered
from streams.config.settings.endpoints import Endpoint
from streams.llm.port import DEPENDENCY, Declined, Misconfigured, Throttled
from streams.llm.waits import LONGEST_WAIT, retry_after
from streams.llm.wording import first_line, shown_url

_DELAY = re.compile(r"^(\d+(?:\.\d+)?)s$")


class Failures:
    """Reads errors of the API of an endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._url, self._timeout, self._model = shown_url(endpoint.url), endpoint.timeout, endpoint.model
        self._url_variable, self._model_variable, self._key_variable = endpoint.variables

    def declined(self, error: Exception) -> Declined:
        """Return the permanent refusal; raise a temporary error."""
        if isinstance(error, errors.APIError):
            wrong = self.wrong_setting(error)
            if wrong is None and error.code in (400, 413, 422):
                return Declined("model_refused_request", first_line(error.message))
            raise self.unavailable(error) from error
        if isinstance(error, ValueError):
            raise Misconfigured(self.no_api()) from error
        raise self.unavailable(error) from error

    def unavailable(self, error: Exception) -> DependencyUnavailable:
        """Return the exception for a temporary error."""
        if isinstance(error, errors.APIError):
            wrong = self.wrong_setting(error)
            if wrong is not None:
                return Misconfigured(wrong)
            message = f"{error.code} {error.status or ''}: {first_line(error.message)}"
            return Throttled(message, _wait_of(error)) if error.code == 429 else _down(message)
        if isinstance(error, TimeoutError | httpx.ReadTimeout):
            return Unanswered(DEPENDENCY, f"no answer within {self._timeout:g} s")
        return _down(f"{self._url} cannot be reached ({error or type(error).__name__})")

    def wrong_setting(self, error: errors.APIError) -> str | None:
        """Return the setting that an error says is wrong, ``None`` if it says none."""
        message = first_line(error.message)
        if error.code == 403:
            return (
                f"Gemini takes the key, but not for this ({message}): give it the right, or set "
                f"{self._key_variable} or {self._key_variable}_FILE to one that has it"
            )
        if error.code == 401 or "API_KEY" in str(error.details) or "API key" in message:
            return (
                f"Gemini does not take the key ({message}): set {self._key_variable} or "
                f"{self._key_variable}_FILE to one that it takes"
            )
        if error.code == 404:
            return (
                f"Gemini has no such model ({self._model}: {message}): set {self._model_variable} to one that "
                "it has"
            )
        return None

    def no_api(self) -> str:
        """Return the error text for an answer that is not JSON."""
        return (
            f"what answers at {self._url} is not the Gemini API (it sent no JSON): set {self._url_variable}, "
            "or SWITCHBOARD_MODEL_API=openai if it speaks OpenAI's, and see whether a proxy stands in between"
        )


def _down(message: str) -> DependencyUnavailable:
    return DependencyUnavailable(DEPENDENCY, message)


def _wait_of(error: errors.APIError) -> float | None:
    """Return the wait that an error asks for (seconds): by its header, or as Google's own details say it."""
    if (wait := retry_after(getattr(error.response, "headers", {}))) is not None:
        return wait
    for each in _details(error):
        found = _DELAY.match(str(each.get("retryDelay", "")))
        if found is not None:
            return min(float(found[1]), LONGEST_WAIT)
    return None


def _details(error: errors.APIError) -> list[dict[str, Any]]:
    body = error.details if isinstance(error.details, dict) else {}
    inner = body.get("error", body)
    details = inner.get("details") if isinstance(inner, dict) else None
    return [each for each in details or () if isinstance(each, dict)]
