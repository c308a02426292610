"""The port that every provider of language models implements, and what a provider answers.

Errors are of two kinds.  What may pass is raised: :class:`Throttled` (with the wait that was asked for),
:class:`Misconfigured`, :class:`models.errors.Unanswered`, :class:`models.errors.DependencyUnavailable`.
What will not pass for this very request is returned: :class:`Declined`.  A provider never repeats a call that
failed: the stage waits and tries again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from models.answers import Dialogue, ToolCall
from models.errors import DependencyUnavailable
from processors.prompts.prompt import Prompt

#: Name of what is down, in errors and metrics.
DEPENDENCY = "model"

#: Bytes of a response that are read; a longer one answers nothing that was asked.
MOST_BYTES = 4_000_000

#: Reason of a :class:`Declined` request that does not fit into the model's context.
CONTEXT_EXCEEDED = "model_context_exceeded"


class Usage(NamedTuple):
    """Tokens that are paid.  ``cached_tokens`` are those of ``input_tokens`` that were read from a cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class Answer(NamedTuple):
    """An answer as the model wrote it; ``text`` may be empty."""

    text: str
    usage: Usage = Usage()


class Declined(NamedTuple):
    """There is no answer and there will be none: ``reason`` is a slug, ``message`` a sentence."""

    reason: str
    message: str
    usage: Usage = Usage()


class Throttled(DependencyUnavailable):
    """Too many calls.  ``retry_after`` (seconds): the wait that was asked for, ``None`` if none was."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(DEPENDENCY, message)
        self.retry_after = retry_after


class Misconfigured(DependencyUnavailable):
    """A setting is wrong, as it turned out while working: key, model or URL; the message says which."""

    def __init__(self, message: str) -> None:
        super().__init__(DEPENDENCY, message)


class TextDelta(NamedTuple):
    """A piece of a streamed answer."""

    text: str


class Finished(NamedTuple):
    """The model ended its answer.  ``at_limit``: the answer is longer than allowed and ends in the middle."""

    at_limit: bool


#: What a streamed answer consists of.  ``Usage`` holds totals, the last one counts; a stream without
#: :class:`Finished` or :class:`Declined` was cut.
StreamEvent: TypeAlias = TextDelta | ToolCall | Usage | Finished | Declined


class Abilities(NamedTuple):
    """Abilities of an endpoint, found by one short call.  ``structured``: how it is asked for JSON."""

    structured: str
    tools: bool
    problem: str = ""


class Provider(Protocol):
    """A model at an endpoint; made inside an event loop."""

    async def close(self) -> None:
        """Close the connections."""
        ...

    async def check(self) -> None:
        """Ask whether the model is there and the key may use it.

        Raises:
            ConfigurationError: key, model or URL are wrong; the message says which.
            DependencyUnavailable: the endpoint does not answer, or not now.
        """
        ...

    async def abilities(self) -> Abilities:
        """Return the endpoint's abilities, from at most one short call that is paid; raises as ``generate``."""
        ...

    async def generate(self, prompt: Prompt) -> Answer | Declined:
        """Ask for one answer by the prompt's schema."""
        ...

    def stream(self, dialogue: Dialogue) -> AsyncGenerator[StreamEvent]:
        """Yield an answer as it comes, each piece within the timeout."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector per text, not of unit length."""
        ...
