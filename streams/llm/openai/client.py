"""The provider that speaks OpenAI's API through the ``openai`` library: one call, its timeout, its errors.

The library makes requests and keeps connections.  What comes back is decoded here: it differs by server, and
the library builds a model of each piece of a stream.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from typing import Any

import httpx2
import msgspec
import openai

from models.answers import Dialogue
from models.errors import ConfigurationError, DependencyUnavailable
from processors.prompts.prompt import Prompt, told
from streams.config.settings.endpoints import Endpoint
from streams.llm.bounded import TooLongError
from streams.llm.openai.dialect import Dialect
from streams.llm.openai.failures import CONTEXT, Failures, Refusal, RefusedError, body_of, raise_inner
from streams.llm.openai.reading import StreamReader, answer_of, decode, names_of, pieces_of, vectors_of
from streams.llm.openai.transport import Transport
from streams.llm.port import (
    DEPENDENCY,
    MOST_BYTES,
    Abilities,
    Answer,
    Declined,
    Misconfigured,
    StreamEvent,
    Usage,
)
from streams.llm.wording import first_line, wrong_vectors

#: Statuses of a refusal that may be about one part of a request alone.
_ADAPTED = (400, 404, 422, 500, 501)

#: Most parts of a request that an endpoint may refuse one after the other.
_MOST_TRIES = 8

#: What of a client's own request is ours, and may be left out.
_OURS = ("stream", "stream_options")


_Body = Mapping[str, Any]


class OpenAIClient:
    """Implements :class:`streams.llm.port.Provider`: one connection pool."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._timeout = endpoint.timeout
        self._failures = Failures(endpoint)
        self.dialect = Dialect(endpoint)
        self._http = httpx2.AsyncClient(
            transport=Transport(endpoint), timeout=endpoint.timeout, follow_redirects=False
        )
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.url,
            api_key=endpoint.key.get_secret_value() or "none",
            max_retries=0,
            timeout=endpoint.timeout,
            http_client=self._http,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # -- at start, and for doctor --------------------------------------------------------------------------

    async def check(self) -> None:
        """See the port.  A model that is not listed is asked shortly: not every server lists what it has."""
        with _as_configuration():
            listed = await self._listed()
            if not self._is_listed(listed):
                await self._ask_shortly(listed)

    async def abilities(self) -> Abilities:
        """See the port."""
        with _as_configuration():
            listed = await self._listed()
            found = await self._ask_shortly(listed)
        problem = found.message if isinstance(found, Declined) else ""
        if isinstance(found, Answer) and found.text:
            said = told(found.text)
            if said is None or not isinstance(said.content, dict):
                problem = (
                    "it answers no JSON, though it is asked for it: set SWITCHBOARD_MODEL_STRUCTURED=prompt"
                )
        return Abilities(self.dialect.structured, self.dialect.takes_tools, problem)

    async def _listed(self) -> list[str]:
        """Return the models that the endpoint lists; none where it has no list."""
        try:
            async with (
                self._failing(),
                asyncio.timeout(self._timeout),
                self._client.models.with_streaming_response.list() as response,
            ):
                content = self._decoded(await response.read())
        except RefusedError as error:
            wrong = self._failures.wrong_setting(error.refusal)
            if error.refusal.status in (404, 405, 501) and isinstance(error.refusal.body, dict):
                return []
            if wrong is not None:
                raise Misconfigured(wrong) from error
            self._failures.declined(error.refusal)
            return []
        return names_of(content)

    def _is_listed(self, names: Sequence[str]) -> bool:
        model = self._endpoint.model
        return any(name in (model, f"{model}:latest", f"models/{model}") for name in names)

    async def _ask_shortly(self, listed: Sequence[str]) -> Answer | Declined:
        """Make the one short call; of a model that is not there, name those that are."""
        try:
            if self._endpoint.dimensions:
                await self.embed(["."])
                return Answer("")
            found = await self._call(self.dialect.probing)
        except Misconfigured as wrong:
            near = difflib.get_close_matches(self._endpoint.model, listed, 3, 0.4) or list(listed[:3])
            if self._is_listed(listed) or not near:
                raise
            raise Misconfigured(f"{_without_name(wrong)}; it lists {', '.join(near)}") from wrong
        return found if isinstance(found, Declined) else answer_of(found)

    # -- calls ---------------------------------------------------------------------------------------------

    async def generate(self, prompt: Prompt) -> Answer | Declined:
        """See the port."""
        try:
            found = await self._call(lambda: self.dialect.generating(prompt))
        except TooLongError:
            # What it cost is not known; no more than was allowed.
            return Answer("", Usage(0, prompt.most_tokens))
        return found if isinstance(found, Declined) else answer_of(found)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See the port."""
        for _ in range(_MOST_TRIES):
            body = self.dialect.embedding(texts)
            try:
                async with (
                    self._failing(),
                    asyncio.timeout(self._timeout),
                    self._client.embeddings.with_streaming_response.create(
                        model=self._endpoint.model, input=list(texts), extra_body=body
                    ) as response,
                ):
                    content = self._decoded(await response.read())
            except RefusedError as error:
                if self._adapts(error.refusal, body):
                    continue
                declined = self._failures.declined(error.refusal)
                raise DependencyUnavailable(DEPENDENCY, declined.message) from error
            except TooLongError as error:
                raise DependencyUnavailable(DEPENDENCY, f"more than {MOST_BYTES:,} bytes of vectors") from error
            found = vectors_of(content)
            if len(found) != len(texts) or any(len(each) != self._endpoint.dimensions for each in found):
                raise Misconfigured(wrong_vectors(self._endpoint, len(texts), found))
            return found
        raise DependencyUnavailable(DEPENDENCY, "the endpoint refuses one part of the request after the other")

    async def stream(self, dialogue: Dialogue) -> AsyncGenerator[StreamEvent]:
        """See the port."""
        for _ in range(_MOST_TRIES):
            body = self.dialect.streaming(dialogue)
            try:
                async with self._failing(), aclosing(self._events(body)) as events:
                    async for event in events:
                        yield event
            except RefusedError as error:
                # What a client asks for itself is its own mistake, and nothing is left out for others for it.
                ours = {name: body[name] for name in _OURS if name in body} if dialogue.messages else body
                if self._adapts(error.refusal, ours):
                    continue
                yield self._failures.declined(error.refusal)
            except TooLongError:
                pass  # without an end: it was cut
            return

    async def _call(self, make: Callable[[], _Body]) -> Mapping[str, Any] | Declined:
        """Return the endpoint's answer; request fields that it refuses are left out."""
        for _ in range(_MOST_TRIES):
            body = make()
            try:
                async with (
                    self._failing(),
                    asyncio.timeout(self._timeout),
                    self._client.chat.completions.with_streaming_response.create(
                        model=self._endpoint.model, messages=body["messages"], extra_body=body
                    ) as response,
                ):
                    content = self._decoded(await response.read())
                raise_inner(content)
            except RefusedError as error:
                if self._adapts(error.refusal, body):
                    continue
                return self._failures.declined(error.refusal)
            if not isinstance(content.get("choices"), list):
                raise Misconfigured(self._failures.no_api("its answer has no choices"))
            return content
        return Declined("model_refused_request", "the endpoint refuses one part of the request after the other")

    async def _events(self, body: _Body) -> AsyncGenerator[StreamEvent]:
        reader, done = StreamReader(), False
        async with AsyncExitStack() as opened:
            async with asyncio.timeout(self._timeout):
                response = await opened.enter_async_context(
                    self._client.chat.completions.with_streaming_response.create(
                        model=self._endpoint.model, messages=body["messages"], stream=True, extra_body=body
                    )
                )
            pieces = await opened.enter_async_context(aclosing(pieces_of(response.iter_bytes(), self._decoded)))
            while not done:
                async with asyncio.timeout(self._timeout):
                    data = await anext(pieces, None)
                if data is None:
                    break
                if done := data.strip() == b"[DONE]":
                    continue
                content = self._decoded(data)
                raise_inner(content)
                for event in reader.events(content):
                    yield event
        for event in reader.ended(done=done):
            yield event

    # -- errors --------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _failing(self) -> AsyncIterator[None]:
        """Turn errors of the library and of the network into our own."""
        try:
            yield
        except openai.APIStatusError as error:
            raise RefusedError(Refusal(error.status_code, error.response.headers, body_of(error))) from error
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:  # TimeoutError is one
            if isinstance(error.__cause__, TooLongError):
                raise TooLongError from error
            raise self._failures.unreached(error) from error
        except (httpx2.InvalidURL, openai.OpenAIError) as error:
            raise Misconfigured(self._failures.no_api(first_line(error))) from error

    def _adapts(self, refusal: Refusal, body: _Body) -> bool:
        if refusal.status not in _ADAPTED or CONTEXT.search(refusal.words):
            return False
        return self.dialect.adapt(refusal.words, body)

    def _decoded(self, data: bytes) -> dict[str, Any]:
        """Return the decoded JSON.

        Raises:
            Misconfigured: it is none, or no object.
        """
        try:
            content = decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise Misconfigured(self._failures.no_api("it sent no JSON")) from error
        if not isinstance(content, dict):
            raise Misconfigured(self._failures.no_api("it sent no object of JSON"))
        return content


@contextmanager
def _as_configuration() -> Iterator[None]:
    try:
        yield
    except Misconfigured as wrong:
        raise ConfigurationError(_without_name(wrong)) from wrong


def _without_name(error: DependencyUnavailable) -> str:
    return str(error).removeprefix(f"{error.dependency}: ")
