"""The provider that speaks the Gemini API through ``google-genai``: one call, its timeout, its errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import httpx
from google import genai
from google.genai import errors, types

from models.answers import Dialogue
from models.errors import ConfigurationError, DependencyUnavailable
from processors.prompts.prompt import Prompt
from streams.config.settings.endpoints import Endpoint
from streams.llm.bounded import TooLongError
from streams.llm.gemini.answers import answer_of, contents_of, tools_of
from streams.llm.gemini.failures import Failures
from streams.llm.gemini.own import own_request
from streams.llm.gemini.streaming import Transport, events_of, read, taken
from streams.llm.port import DEPENDENCY, Abilities, Answer, Declined, Misconfigured, StreamEvent, Usage
from streams.llm.wording import first_line, wrong_vectors

#: What a call may fail with: errors of the API, answers that are none (the library parses them), the network.
_FAILURES = (errors.APIError, ValueError, httpx.HTTPError, OSError, TooLongError)


class GeminiClient:
    """Implements :class:`streams.llm.port.Provider`: one connection pool."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._model = endpoint.model
        self._timeout = endpoint.timeout
        self._failures = Failures(endpoint)
        # Its own client: with the library's, a cut connection is tried again after up to ten seconds, unseen.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=endpoint.connections)
        self._http = httpx.AsyncClient(
            transport=Transport(limits=limits), timeout=self._timeout, follow_redirects=False
        )
        options = types.HttpOptions(
            base_url=endpoint.url, httpx_async_client=self._http, extra_body=dict(endpoint.extra) or None
        )
        self._client = genai.Client(
            api_key=endpoint.key.get_secret_value(), vertexai=False, http_options=options
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def check(self) -> None:
        """See the port."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._client.aio.models.get(model=self._model)
        except errors.APIError as error:
            if (wrong := self._failures.wrong_setting(error)) is not None:
                raise ConfigurationError(wrong) from error
            raise self._failures.unavailable(error) from error
        except ValueError as error:
            raise ConfigurationError(self._failures.no_api()) from error
        except (httpx.HTTPError, OSError, TooLongError) as error:  # TimeoutError is one
            raise self._failures.unavailable(error) from error

    async def abilities(self) -> Abilities:
        """See the port: every model of this API takes schemas and tools."""
        await self.check()
        return Abilities("schema", tools=True)

    async def generate(self, prompt: Prompt) -> Answer | Declined:
        """See the port."""
        config = types.GenerateContentConfig(
            system_instruction=prompt.system,
            temperature=_temperature(self._model),
            max_output_tokens=prompt.most_tokens,
            response_mime_type="application/json",
            response_json_schema=dict(prompt.schema),
            thinking_config=_thinking(self._model),
        )
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.aio.models.generate_content(
                    model=self._model, contents=prompt.user, config=config
                )
        except TooLongError:
            # What it cost is not known; no more than was allowed.
            return Answer("", Usage(0, prompt.most_tokens))
        except _FAILURES as error:
            return self._failures.declined(error)
        return answer_of(response)

    async def stream(self, dialogue: Dialogue) -> AsyncGenerator[StreamEvent]:
        """See the port."""
        asked: dict[str, Any] = {
            "system_instruction": dialogue.system,
            "temperature": _temperature(self._model),
            "max_output_tokens": dialogue.most_tokens,
            "thinking_config": _thinking(self._model),
            "tools": tools_of(dialogue),
        }
        try:
            contents: list[types.Content] = []
            if dialogue.messages:
                contents, asked = own_request(dialogue, self._model)
            else:
                contents = contents_of(dialogue)
            config = types.GenerateContentConfig(
                **asked,
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            )
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            if not dialogue.messages:
                raise
            yield Declined("model_refused_request", f"Gemini cannot be asked this: {first_line(error)}")
            return
        responses: list[httpx.Response] = []
        try:
            async with asyncio.timeout(self._timeout):
                with taken() as responses:
                    await self._ask(contents, config)
            for response in responses:
                async with aclosing(read(response)) as pieces:
                    while True:
                        async with asyncio.timeout(self._timeout):
                            content = await anext(pieces, None)
                        if content is None:
                            break
                        for each in events_of(content):
                            yield each
        except TooLongError:
            return  # without an end: it was cut
        except _FAILURES as error:
            yield self._failures.declined(error)
        finally:
            for response in responses:
                await response.aclose()

    async def _ask(self, contents: list[types.Content], config: types.GenerateContentConfig) -> None:
        """Ask for a stream, whose response is taken from the library: it has nothing to yield."""
        events = await self._client.aio.models.generate_content_stream(
            model=self._model, contents=list[Any](contents), config=config
        )
        async for _ in events:
            pass

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See the port."""
        dimensions = self._endpoint.dimensions
        config = types.EmbedContentConfig(output_dimensionality=dimensions, task_type="SEMANTIC_SIMILARITY")
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.aio.models.embed_content(
                    model=self._model, contents=list[Any](texts), config=config
                )
        except _FAILURES as error:
            declined = self._failures.declined(error)
            raise DependencyUnavailable(DEPENDENCY, declined.message) from error
        found = [each.values or [] for each in response.embeddings or ()]
        if len(found) != len(texts) or any(len(each) != dimensions for each in found):
            raise Misconfigured(wrong_vectors(self._endpoint, len(texts), found))
        return found


def _thinking(model: str) -> types.ThinkingConfig | None:
    """Bound thinking, which is paid: leave it out where a model can do without."""
    if model.startswith("gemini-2.5-flash"):
        return types.ThinkingConfig(thinking_budget=0)
    if model.startswith("gemini-2.5-pro"):
        return types.ThinkingConfig(thinking_budget=128)  # the least that it takes
    if model.startswith("gemini-3"):
        return types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW)
    return None


def _temperature(model: str) -> float | None:
    """Return how an answer is sampled: Gemini 3 loops below its own temperature, as its documentation says."""
    return None if model.startswith("gemini-3") else 0.0
