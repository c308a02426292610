"""The Gemini API through ``google-genai``: one call, its timeout, and what its errors mean.

A call that failed is never repeated here: what is to be tried again is for the stage to wait for.  Errors are
of two kinds.  What may pass is raised: :class:`~.failures.Throttled` (with the wait that was asked for),
:class:`models.errors.Unanswered`, :class:`models.errors.DependencyUnavailable`.  What will not pass for this
very request is returned, as :class:`~.answers.Declined`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import httpx
from google import genai
from google.genai import errors, types

from models.errors import ConfigurationError, DependencyUnavailable
from processors.prompts.prompt import Prompt
from streams.cloudevents import traceparent
from streams.llm.answers import Declined, Said, answer_of
from streams.llm.failures import DEPENDENCY, Failures
from streams.settings import Settings

#: Bytes of an answer that are read; one that has more says nothing that was asked for.
MOST_BYTES = 4_000_000


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
        url = settings.gemini_url
        self._timeout = settings.gemini_timeout_seconds
        self._failures = Failures(url, self._timeout)
        # Its own client: with the library's, a cut connection is tried again after up to ten seconds, unseen.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=settings.gemini_calls_in_flight)
        self._http = httpx.AsyncClient(
            transport=_Transport(limits=limits), timeout=self._timeout, follow_redirects=False
        )
        options = types.HttpOptions(base_url=url, httpx_async_client=self._http)
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
            if (wrong := self._failures.wrong_setting(error, model, variable)) is not None:
                raise ConfigurationError(wrong) from error
            raise self._failures.unavailable(error) from error
        except ValueError as error:
            raise ConfigurationError(self._failures.no_api()) from error
        except (httpx.HTTPError, OSError, _TooLong) as error:  # TimeoutError is one
            raise self._failures.unavailable(error) from error

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
            return self._failures.declined(error)
        return answer_of(response)

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
            yield self._failures.declined(error)
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
            declined = self._failures.declined(error)
            raise DependencyUnavailable(DEPENDENCY, declined.message) from error
        found = [each.values or [] for each in response.embeddings or ()]
        if len(found) != len(texts) or any(len(each) != dimensions for each in found):
            raise DependencyUnavailable(
                DEPENDENCY,
                f"{model} answered {len(found)} vectors for {len(texts)} texts, or not of {dimensions} "
                "numbers: is it an embedding model?",
            )
        return found


def _thinking(model: str) -> types.ThinkingConfig | None:
    """Leave out thinking, which is paid, where a model can do without."""
    return types.ThinkingConfig(thinking_budget=0) if model.startswith("gemini-2.5-flash") else None
