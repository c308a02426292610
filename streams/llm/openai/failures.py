"""Errors of an endpoint with OpenAI's API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx2
import msgspec
import openai

from models.errors import DependencyUnavailable, Unanswered
from streams.config.settings.endpoints import Endpoint
from streams.llm.openai.reading import decode
from streams.llm.port import CONTEXT_EXCEEDED, DEPENDENCY, Declined, Misconfigured, Throttled
from streams.llm.waits import retry_after
from streams.llm.wording import first_line, shown_url

#: Words of what does not fit into a model's context.
CONTEXT = re.compile(
    r"context.{0,3}(length|size|window)|exceed_context|maximum context|too many tokens|too long|token count|"
    r"prompt is too large|max_model_len"
)
_NO_MODEL = re.compile(
    r"model.{0,200}(not (be )?found|does not exist|no such|not available|unknown|not a valid)|"
    r"(no such|unknown|invalid|unsupported) model|model_not_found|"
    r"no endpoints found|deploymentnotfound"
)
_KEY = re.compile(
    r"(invalid|incorrect|missing|no|wrong|expired).{0,20}(api.?key|auth)|"
    r"api.?key.{0,20}(not valid|invalid|expired)"
)
_FILTER = re.compile(r"content_filter|content_policy|content management policy|moderation|flagged")


class Refusal(NamedTuple):
    """An error as an endpoint sent it.  ``body`` is what its JSON says, ``None`` if it sent none."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def message(self) -> str:
        """Error message on one line."""
        return first_line(self._field("message") or self._field("detail") or self.body or f"HTTP {self.status}")

    @property
    def words(self) -> str:
        """Error message and names, for searching."""
        named = (self.message, *(str(self._field(name) or "") for name in ("code", "type", "param")))
        return " ".join(named).lower()

    def _field(self, name: str) -> Any:
        inner = self.body.get("error", self.body) if isinstance(self.body, dict) else None
        return inner.get(name) if isinstance(inner, dict) else inner if name == "message" else None


class RefusedError(Exception):
    """An endpoint refused a request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def raise_inner(content: Mapping[str, Any]) -> None:
    """Raise the error that a response with status 200 says, as gateways do whose own source failed."""
    error = content.get("error")
    if not error:
        return
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    raise RefusedError(Refusal(status, {}, {"error": error}))


class Failures:
    """Reads errors of an endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._url, self._timeout, self._model = shown_url(endpoint.url), endpoint.timeout, endpoint.model
        self._url_variable, self._model_variable, self._key_variable = endpoint.variables

    def declined(self, refusal: Refusal) -> Declined:
        """Return the permanent refusal; raise a temporary error or a wrong setting."""
        status, words = refusal.status, refusal.words
        if (wrong := self.wrong_setting(refusal)) is not None:
            raise Misconfigured(wrong)
        if status in (400, 413, 422) or (status == 500 and CONTEXT.search(words)):
            if CONTEXT.search(words):
                return Declined(
                    CONTEXT_EXCEEDED,
                    f"the request does not fit into the context of {self._model} ({refusal.message}): give it "
                    "a larger one (docs/how-to/models.md), or set SWITCHBOARD_MODEL_WINDOWS_PER_CALL=1",
                )
            filtered = _FILTER.search(words) is not None
            return Declined("model_refused" if filtered else "model_refused_request", refusal.message)
        message = f"{status}: {refusal.message}"
        if status == 429:
            raise Throttled(message, retry_after(refusal.headers))
        raise DependencyUnavailable(DEPENDENCY, message)

    def wrong_setting(self, refusal: Refusal) -> str | None:
        """Return the setting that an error says is wrong, ``None`` if it says none."""
        status, words, message = refusal.status, refusal.words, refusal.message
        if 300 <= status < 400:
            target = shown_url(refusal.headers.get("location", "nowhere"))
            return (
                f"{self._url} redirects to {target}, where the key is not sent: set {self._url_variable} to "
                "where the API is"
            )
        if status == 401 or (status == 400 and _KEY.search(words)):
            return (
                f"the endpoint {self._url} does not take the key ({message}): set {self._key_variable} or "
                f"{self._key_variable}_FILE to one that it takes"
            )
        if status == 402:
            return f"the endpoint {self._url} wants to be paid first ({message}): add credit there"
        if status == 403:
            return (
                f"the endpoint {self._url} takes the key, but not for this ({message}): give it the right, or "
                f"set {self._key_variable} or {self._key_variable}_FILE to one that has it"
            )
        if status in (400, 404, 422) and _NO_MODEL.search(words):
            return (
                f"the endpoint {self._url} has no such model ({self._model}: {message}): set "
                f"{self._model_variable} to one that it has"
            )
        if status in (404, 405) or (status in (400, 426) and not isinstance(refusal.body, dict)):
            return self.no_api(f"it answered {status}: {message}")
        return None

    def no_api(self, what: str) -> str:
        """Return the error text for an answer that is not of this API."""
        return (
            f"what answers at {self._url} is not OpenAI's API ({what}): set {self._url_variable} to where it "
            "is (most often it ends in /v1), and see whether a proxy stands in between"
        )

    def unreached(self, error: BaseException) -> DependencyUnavailable:
        """Return the exception for a failed network."""
        if _is_timeout(error):
            return Unanswered(DEPENDENCY, f"no answer within {self._timeout:g} s")
        cause = error.__cause__ or error
        return DependencyUnavailable(
            DEPENDENCY, f"{self._url} cannot be reached ({cause or type(cause).__name__})"
        )


def _is_timeout(error: BaseException) -> bool:
    if isinstance(error, openai.APITimeoutError):
        return not isinstance(error.__cause__, httpx2.ConnectTimeout)
    return isinstance(error, TimeoutError | httpx2.ReadTimeout)


def body_of(error: openai.APIStatusError) -> Any:
    """Return the error's JSON as a mapping; else its text, if it has one."""
    try:
        return decode(error.response.content)
    except (msgspec.DecodeError, UnicodeError, RecursionError, httpx2.StreamError):
        return error.body if isinstance(error.body, str) else None
