"""``models.memo.v1``: what a language model answered, once for each thing that it was asked.

An answer is written here before anything follows from it, so a replay finds it, costs nothing and differs in
nothing.  What was decided instead of asking (the day's budget was spent) stands here for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, NamedTuple

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp

Tokens = Annotated[int, msgspec.Meta(ge=0)]
Dollars = Annotated[float, msgspec.Meta(ge=0.0)]


class Outcome(StrEnum):
    """Outcome of a question.  ``over_budget``: nobody was asked, the built-in one did the work."""

    ANSWERED = "answered"
    REFUSED = "refused"
    OVER_BUDGET = "over_budget"


class Memo(msgspec.Struct, frozen=True, kw_only=True):
    """An answer.  Key: ``memo_id``, compacted; without a value: it was erased with the person it is about.

    ``conversation_id`` is the conversation in which it was asked first, ``prompt`` names the prompt and its
    version; ``arrived_at``: when the earliest of what it is about arrived, if it is about messages.
    ``text`` is what the model wrote about this question alone, ``reason`` and ``message`` say why it
    refused.  ``call`` is the same for what was asked in one call, whose tokens and price (US dollars, by the
    list that was valid then) are shared out among its memos.  ``cached_tokens``: those of ``input_tokens`` that
    the model's provider read from its cache.  ``generation``: the one that asked, and paid.
    """

    memo_id: Identifier
    user_id: Identifier
    purpose: Identifier
    prompt: Identifier
    model: Identifier
    outcome: Outcome
    asked_at: Timestamp
    conversation_id: str = ""
    call: str = ""
    text: str = ""
    reason: str = ""
    message: str = ""
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cached_tokens: Tokens = 0
    cost_usd: Dollars = 0.0
    tenant_id: Identifier = DEFAULT_TENANT
    arrived_at: Timestamp | None = None
    generation: Annotated[str, msgspec.Meta(max_length=20)] = ""


class Erased(NamedTuple):
    """Erasures in a conversation: of each person (``""``: of everybody) up to which arrival."""

    until: Mapping[str, datetime]

    def covers(self, user_id: str, arrived_at: datetime) -> bool:
        """Say whether what somebody said was erased; ``user_id`` empty: what nobody knows who of them said."""
        names = ("", user_id) if user_id else self.until
        return any(each in self.until and arrived_at <= self.until[each] for each in names)

    def touches(self, said: Iterable[tuple[str, datetime]]) -> bool:
        """Say whether any was, of what several said: who, and when it arrived."""
        return any(self.covers(*each) for each in said)


def memo_id(prompt: str, model: str, parameters: str, tenant_id: str, user_id: str, asked: str) -> str:
    """Return the id of what is asked: 32 hexadecimal digits, the same whenever the same is asked again."""
    name = "\x1f".join((prompt, model, parameters, tenant_id, user_id, asked))
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
