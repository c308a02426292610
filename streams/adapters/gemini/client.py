"""The Gemini API through ``google-genai``: one call, its timeout, and what its errors mean.

A call that failed is never repeated here: what is to be tried again is for the stage to wait for.  Errors are
of two kinds.  What may pass is raised: :class:`Throttled` (with the wait that was asked for),
:class:`models.errors.Unanswered`, :class:`models.errors.DependencyUnavailable`.  What will not pass for this
very request is returned, as :class:`Declined`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx
from google import genai
from google.genai import errors, types

from models.errors import ConfigurationError, DependencyUnavailable, Unanswered
from processors.prompts.prompt import Prompt
from streams.cloudevents import traceparent
from streams.settings import Settings

DEPENDENCY = "gemini"

#: Bytes of an answer that are read; one that has more says nothing that was asked for.
MOST_BYTES = 4_000_000

#: Longest wait that an answer 429 may ask for.
_LONGEST_WAIT = 3600.0

#: Why a model says nothing, for good.
_BLOCKED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
    }
)

_UNREAD = "Gemini refuses to read it"

_DELAY = re.compile(r"^(\d+(?:\.\d+)?)s$")


class Said(NamedTuple):
    """An answer, as it was written; ``text`` may be empty.  ``tokens`` are those that are paid."""

    text: str
    input_tokens: int
    output_tokens: int


class Declined(NamedTuple):
    """There is no answer, and there will be none: a slug and a sentence say why."""

    reason: str
    message: str
    input_tokens: int
    output_tokens: int


class Throttled(DependencyUnavailable):
    """Too many calls.  ``retry_after`` (seconds): the wait that was asked for, ``None`` if none was."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(DEPENDENCY, message)
        self.retry_after = retry_after


class Misconfigured(DependencyUnavailable):
    """A setting is wrong, as it turned out while working: key, model or URL; the message says which."""


class _TooLong(Exception):
    pass


class _Bounded(httpx.AsyncByteStream):
    """A response's bytes, up to :data:`MOST_BYTES`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > MOST_BYTES:
                raise _TooLong
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Transport(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if trace := traceparent():
            request.headers["traceparent"] = trace
        response = await super().handle_async_request(request)
        response.stream = _Bounded(response.stream)
        return response


#: What a call may fail with: errors of the API, answers that are none (the library parses them), the network.
_FAILURES = (errors.APIError, ValueError, httpx.HTTPError, OSError, _TooLong)


class GeminiClient:
    """One connection pool; made inside an event loop, closed with :meth:`close`."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.gemini_url
        self._timeout = settings.gemini_timeout_seconds
        # Its own client: with the library's, a cut connection is tried again after up to ten seconds, unseen.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=settings.gemini_calls_in_flight)
        self._http = httpx.AsyncClient(
            transport=_Transport(limits=limits), timeout=self._timeout, follow_redirects=False
        )
        options = types.HttpOptions(base_url=self._url, httpx_async_client=self._http)
        self._client = genai.Client(
            api_key=settings.gemini_api_key.get_secret_value(), vertexai=False, http_options=options
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def check(self, model: str, variable: str) -> None:
        """Ask whether the model is there and the key may use it; ``variable`` names the setting of the model.

        Raises:
            ConfigurationError: key, model or URL are wrong; the message says which.
            DependencyUnavailable: nobody answers, or not now.
        """
        try:
            async with asyncio.timeout(self._timeout):
                await self._client.aio.models.get(model=model)
        except errors.APIError as error:
            if (wrong := self._wrong_setting(error, model, variable)) is not None:
                raise ConfigurationError(wrong) from error
            raise self._unavailable(error) from error
        except ValueError as error:
            raise ConfigurationError(self._no_api()) from error
        except (httpx.HTTPError, OSError, _TooLong) as error:  # TimeoutError is one
            raise self._unavailable(error) from error

    async def generate(self, model: str, prompt: Prompt) -> Said | Declined:
        """Ask for one answer; see the module for what is raised."""
        config = types.GenerateContentConfig(
            system_instruction=prompt.system,
            temperature=0.0,
            max_output_tokens=prompt.most_tokens,
            response_mime_type="application/json",
            response_json_schema=dict(prompt.schema),
            thinking_config=_thinking(model),
        )
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.aio.models.generate_content(
                    model=model, contents=prompt.user, config=config
                )
        except _TooLong:
            # What it cost is not known; no more than was allowed.
            return Said("", 0, prompt.most_tokens)
        except _FAILURES as error:
            return self._failed(error)
        return _answer(response)

    async def stream(
        self, model: str, contents: Sequence[types.Content], config: types.GenerateContentConfig
    ) -> AsyncGenerator[types.GenerateContentResponse | Declined]:
        """Yield an answer as it comes, each piece within the timeout; see the module for what is raised."""
        config = config.model_copy(update={"temperature": 0.0, "thinking_config": _thinking(model)})
        events: Any = None
        try:
            async with asyncio.timeout(self._timeout):
                events = await self._client.aio.models.generate_content_stream(
                    model=model, contents=list(contents), config=config
                )
            while True:
                async with asyncio.timeout(self._timeout):
                    event = await anext(events, None)
                if event is None:
                    return
                yield event
        except _TooLong:
            return  # without an end: it was cut
        except _FAILURES as error:
            yield self._failed(error)
        finally:
            if events is not None:
                await events.aclose()

    async def embed(self, model: str, texts: Sequence[str], dimensions: int) -> list[list[float]]:
        """Return a vector per text, not of unit length; see the module for what is raised."""
        config = types.EmbedContentConfig(output_dimensionality=dimensions, task_type="SEMANTIC_SIMILARITY")
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.aio.models.embed_content(
                    model=model, contents=list(texts), config=config
                )
        except _FAILURES as error:
            declined = self._failed(error)
            raise DependencyUnavailable(DEPENDENCY, declined.message) from error
        found = [each.values or [] for each in response.embeddings or ()]
        if len(found) != len(texts) or any(len(each) != dimensions for each in found):
            raise DependencyUnavailable(
                DEPENDENCY,
                f"{model} answered {len(found)} vectors for {len(texts)} texts, or not of {dimensions} "
                "numbers: is it an embedding model?",
            )
        return found

    # -- what errors mean ----------------------------------------------------------------------------------

    def _failed(self, error: Exception) -> Declined:
        """Return what will not pass; raise what may."""
        if isinstance(error, errors.APIError):
            wrong = self._wrong_setting(error, "the model", "SWITCHBOARD_GEMINI_MODEL")
            if wrong is None and error.code in (400, 413, 422):
                return Declined("model_refused_request", _first_line(error.message), 0, 0)
            raise self._unavailable(error) from error
        if isinstance(error, ValueError):
            raise Misconfigured(DEPENDENCY, self._no_api()) from error
        raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> DependencyUnavailable:
        if isinstance(error, errors.APIError):
            wrong = self._wrong_setting(error, "the model", "SWITCHBOARD_GEMINI_MODEL")
            if wrong is not None:
                return Misconfigured(DEPENDENCY, wrong)
            message = f"{error.code} {error.status or ''}: {_first_line(error.message)}"
            return Throttled(message, _retry_after(error)) if error.code == 429 else _down(message)
        if isinstance(error, TimeoutError | httpx.ReadTimeout):
            return Unanswered(DEPENDENCY, f"no answer within {self._timeout:g} s")
        return _down(f"{self._url} cannot be reached ({error or type(error).__name__})")

    def _wrong_setting(self, error: errors.APIError, model: str, variable: str) -> str | None:
        """Return which setting an error says is wrong, ``None`` if it says none."""
        message = _first_line(error.message)
        if error.code in (401, 403) or "API_KEY" in str(error.details) or "API key" in message:
            return (
                f"Gemini does not take the key ({message}): set GEMINI_API_KEY or GEMINI_API_KEY_FILE to one "
                "that it takes"
            )
        if error.code == 404:
            return f"Gemini has no such model ({model}: {message}): set {variable} to one that it has"
        return None

    def _no_api(self) -> str:
        return (
            f"what answers at {self._url} is not the Gemini API (it sent no JSON): set SWITCHBOARD_GEMINI_URL, "
            "and see whether a proxy stands in between"
        )


def _down(message: str) -> DependencyUnavailable:
    return DependencyUnavailable(DEPENDENCY, message)


def _thinking(model: str) -> types.ThinkingConfig | None:
    """Leave out thinking, which is paid, where a model can do without."""
    return types.ThinkingConfig(thinking_budget=0) if model.startswith("gemini-2.5-flash") else None


def paid(response: types.GenerateContentResponse) -> tuple[int, int]:
    """Return the tokens that a response says were paid, in and out."""
    usage = response.usage_metadata or types.GenerateContentResponseUsageMetadata()
    return usage.prompt_token_count or 0, (usage.candidates_token_count or 0) + (
        usage.thoughts_token_count or 0
    )


def _answer(response: types.GenerateContentResponse) -> Said | Declined:
    spent = paid(response)
    candidate = response.candidates[0] if response.candidates else None
    parts = (candidate.content.parts if candidate is not None and candidate.content is not None else None) or ()
    text = "".join(part.text or "" for part in parts if not part.thought)
    why = refusal_of(response)
    if why and (not text or why.startswith(_UNREAD)):
        return Declined("model_refused", why, *spent)
    return Said(text, *spent)


def refusal_of(response: types.GenerateContentResponse) -> str:
    """Return why Gemini will not read or answer something, ``""`` if it does not say so."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return f"{_UNREAD}: {feedback.block_reason.value}"
    finished = response.candidates[0].finish_reason if response.candidates else None
    if finished is not None and finished.value in _BLOCKED:
        return f"Gemini refuses to answer: {finished.value}"
    return ""


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
        return float(header)
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


def _first_line(message: str | None) -> str:
    return (message or "no reason given").strip().partition("\n")[0][:300]
