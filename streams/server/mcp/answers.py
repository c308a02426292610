"""Answers of the tools, within a budget of tokens: previews, handles, and ``next`` for more."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from processors.retrieval.recall.window import MOST_MATCHED
from processors.text.tokens import TokenCounter

#: Tokens of an answer at most, as JSON.
MOST_TOKENS = 8_000

#: Characters and bytes of a text that is one of several; the whole is behind its handle.  A token is a byte at
#: least, so that a memory with what stands before and after it always fits.
PREVIEW, _PREVIEW_BYTES = 800, 2_000

#: What is left for a text that is alone in its answer.
_ALONE = MOST_TOKENS - 2_000

A = TypeVar("A", bound=BaseModel)


class Memory(BaseModel):
    """Something that was remembered."""

    text: str
    confidence: float = Field(description="0 to 1: of a fact how sure it is, of a turn how well it answers")
    timestamp: str = Field(description="when it was said, or last confirmed")
    kind: str = Field(description="fact, turn or episode")
    score: float
    fact_id: str = Field(default="", description="for get_fact, correct and forget")
    conversation_id: str = Field(default="", description="for get_window, with index")
    index: int | None = None
    before: str = ""
    after: str = ""


class Found(BaseModel):
    """Memories, best first."""

    memories: list[Memory]
    empty: str = Field(default="", description="why nothing was found; says nothing if something was")
    next: str = Field(default="", description="how to get what did not fit; empty: this is all")


class FactLine(BaseModel):
    """A fact in a list."""

    fact_id: str
    statement: str
    kind: str
    confidence: float
    since: str


class FactList(BaseModel):
    """Facts; with ``next`` as cursor of the same call more of them."""

    facts: list[FactLine]
    known: bool = Field(description="whether anything is known of the person at all")
    empty: str = Field(default="", description="why there is none; says nothing if there is one")
    next: str = ""


class Evidence(BaseModel):
    """A sentence that a fact came from."""

    quote: str
    conversation_id: str
    said_at: str


class FactChange(BaseModel):
    """Change of a fact."""

    change: str
    at: str
    confidence: float


class FactDetail(BaseModel):
    """A fact with its history and its evidence, the latest first."""

    fact_id: str
    statement: str
    kind: str
    status: str
    confidence: float
    valid_from: str
    valid_to: str
    superseded_by: str
    evidence: list[Evidence]
    history: list[FactChange]
    next: str = ""


class ShownMessage(BaseModel):
    """One message."""

    index: int
    role: str
    text: str
    sent_at: str


class Window(BaseModel):
    """Messages around others."""

    conversation_id: str
    messages: list[ShownMessage]
    empty: str = Field(default="", description="why there is none; says nothing if there is one")
    next: str = Field(default="", description="the call that reads on; empty: this is all that was asked for")


class Conversation(BaseModel):
    """The beginning of a conversation."""

    conversation_id: str
    total: int
    messages: list[ShownMessage]
    next: str = Field(default="", description="the call that reads on; empty: this is all")


class ContextText(BaseModel):
    """Context of a conversation's next turn, as text for a prompt."""

    status: str = Field(
        description="made, nothing (nothing is remembered that belongs in it) or not_made_yet (standing notes)"
    )
    prompt: str


class Done(BaseModel):
    """Completed action, and the time from which it counts."""

    done: str
    position: str = Field(default="", description="partition:offset of the message in the log")
    fact_id: str = Field(
        default="", description="the fact that was made, or takes the place of the corrected one"
    )


def memory(result: dict[str, Any]) -> Memory:
    """Return a result of a search as a memory."""
    fact, turn = result.get("fact") or {}, result.get("turn") or {}
    episode = result.get("episode") or {}
    return Memory(
        text=preview(result["text"]),
        confidence=fact.get("confidence", result["score"]),
        timestamp=fact.get("last_evidence_at") or turn.get("sent_at") or episode.get("to") or "",
        kind=result["kind"],
        score=result["score"],
        fact_id=fact.get("fact_id", ""),
        conversation_id=result.get("conversation_id", ""),
        index=turn.get("index", episode.get("from_index")),
        before=preview((result.get("before") or {}).get("text", "")),
        after=preview((result.get("after") or {}).get("text", "")),
    )


def reading_on(conversation_id: str, first: int, last: int) -> str:
    """Return the call that shows the messages of a conversation from one index to another."""
    last = min(last, first + MOST_MATCHED - 1)
    return f"get_window(conversation_id={json.dumps(conversation_id)}, first={first}, last={last}, turns=0)"


def preview(text: str) -> str:
    """Return the beginning of a text."""
    beginning = text[:PREVIEW].encode("utf-8", "replace")[:_PREVIEW_BYTES].decode("utf-8", "ignore")
    return text if len(beginning) == len(text) else beginning[:-1] + "…"


def cut(text: str, count: TokenCounter, limit: int = _ALONE) -> str:
    """Return as much of a text as takes ``limit`` tokens in JSON, and how many characters that leaves out."""

    def takes(characters: int) -> int:
        return count(json.dumps(text[:characters], ensure_ascii=False))

    if takes(len(text)) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if takes(middle) <= limit else (low, middle - 1)
    return f"{text[:low]}… ({len(text) - low:,} more characters)"


def fitting(
    items: Sequence[Any], make: Callable[[Sequence[Any], int], A], count: TokenCounter, limit: int = MOST_TOKENS
) -> A:
    """Return ``make(first items, how many are left out)`` with as many items as fit into ``limit`` tokens."""
    low, high = 0, len(items)
    if tokens_of(make(items, 0), count) <= limit:
        return make(items, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(make(items[:middle], len(items) - middle), count) <= limit:
            low = middle
        else:
            high = middle - 1
    return make(items[:low], len(items) - low)


def tokens_of(answer: BaseModel, count: TokenCounter) -> int:
    """Return the tokens of an answer as the model reads it."""
    return count(answer.model_dump_json(indent=2))
