"""An answer to a person: what it was made of, and what a model was asked for it (requirements 3.6 and 5.4).

Three words that are never mixed: *found* (a search returned it), *in the prompt* (it was sent), *quoted* (the
answer names it).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Protocol, TypeAlias

import msgspec

from models.context import ContextItem, Count, TierUse
from models.messages import DEFAULT_TENANT, Identifier
from models.understanding import QueryUnderstanding


class AnswerKind(StrEnum):
    """Kind of an answer.

    ``answered``: a model's, or what is remembered; ``clarifying``: it asks back; ``unknown``: nothing is
    remembered about it; ``noted``: nothing was asked, and no model is there to reply.
    """

    ANSWERED = "answered"
    CLARIFYING = "clarifying"
    UNKNOWN = "unknown"
    NOTED = "noted"


class Trouble(StrEnum):
    """Why a model did not do its part."""

    DOWN = "down"  #: it cannot be reached, or answers with an error
    SLOW = "slow"  #: it did not answer in time
    THROTTLED = "throttled"  #: its limits are reached
    OVER_BUDGET = "over_budget"  #: the day's budget is spent
    REFUSED = "refused"  #: it will not answer this
    CUT = "cut"  #: its answer ends in the middle
    EMPTY = "empty"  #: it answered nothing
    MISCONFIGURED = "misconfigured"  #: key, model or URL are wrong
    MEMORY = "memory"  #: memory does not answer, so the answer knows nothing of it


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something that went wrong and is said in the turn; ``message`` is a sentence for a person."""

    problem: Trouble
    message: str


class AnswerItem(ContextItem, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was found.  ``n`` is its number in the prompt, 0 if it is not in; ``quoted``: the answer
    names it.
    """

    n: Count = 0
    quoted: bool = False


class PromptLaid(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a prompt: each tier with its tokens, and everything that was found.

    ``tokens`` is the whole of it, ``budget`` at most; ``round``: after how many searches.
    """

    version: str
    round: Count
    budget: Count
    tokens: Count
    tiers: tuple[TierUse, ...]
    items: tuple[AnswerItem, ...]


class MemorySearched(msgspec.Struct, frozen=True, kw_only=True):
    """A search that the model asked for (requirement 3.2), and the ids of what it found.

    ``problem``: why there was none, in a sentence.
    """

    round: Count
    query: str
    search_type: str
    limit: Count
    found: tuple[str, ...] = ()
    problem: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer.  ``by``: who made it; ``cut``: it ends before its end, as ``notices`` say why."""

    text: str
    kind: AnswerKind
    by: str
    understanding: QueryUnderstanding
    prompt: PromptLaid
    searches: tuple[MemorySearched, ...] = ()
    notices: tuple[Notice, ...] = ()
    cut: bool = False
    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0

    @property
    def quoted(self) -> tuple[AnswerItem, ...]:
        """Items that the answer cites."""
        return tuple(item for item in self.prompt.items if item.quoted)


# -- the model that answers -----------------------------------------------------------------------------------


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a model wants to have called.  ``id`` and ``signature``, if it gave them, go back with the
    result.
    """

    name: str
    arguments: Mapping[str, Any]
    signature: str = ""
    id: str = ""


class ToolRound(msgspec.Struct, frozen=True, kw_only=True):
    """Tool calls of a model and their results: ``results[i]`` belongs to ``calls[i]``."""

    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """Input of a model that answers: task, material, and what it searched for so far.

    ``tool`` declares the tool that it may call (name, description, JSON Schema of its parameters), ``None``: it
    may call none any more.  ``version`` names prompt and reading; ``most_tokens`` bounds the answer.

    ``messages``, in OpenAI's form, are a client's own: they take the place of ``system``, ``user`` and
    ``tool``, and ``options`` (tools, sampling) go with them as the client gave them.
    """

    version: str
    system: str
    user: str
    most_tokens: Count
    rounds: tuple[ToolRound, ...] = ()
    tool: Mapping[str, Any] | None = None
    messages: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = {}
    user_id: Identifier = "-"
    conversation_id: str = ""
    tenant_id: Identifier = DEFAULT_TENANT


class Spoken(msgspec.Struct, frozen=True):
    """A piece of a model's answer, as it comes."""

    text: str


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A model has ended.  ``trouble``: why not well; ``at_limit``: its answer is as long as one may be.
    ``calls``: what it wants to have called.
    """

    trouble: Notice | None = None
    at_limit: bool = False
    calls: tuple[ToolCall, ...] = ()
    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: float = 0.0


Piece: TypeAlias = Spoken | Ended


class Responder(Protocol):
    """A language model that answers, piece by piece."""

    @property
    def name(self) -> str:
        """Name and version, as said with each answer."""
        ...

    def stream(self, dialogue: Dialogue) -> AsyncGenerator[Piece]:
        """Yield what it says, as it says it, and at the end exactly one :class:`Ended`; never raises for what
        may happen to a model, its network or its limits.
        """
        ...
