"""What the Gemini API answered: a text and what was paid for it, or that there will be none."""

from __future__ import annotations

from typing import NamedTuple

from google.genai import types

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


def paid(response: types.GenerateContentResponse) -> tuple[int, int]:
    """Return the tokens that a response says were paid, in and out."""
    usage = response.usage_metadata or types.GenerateContentResponseUsageMetadata()
    return usage.prompt_token_count or 0, (usage.candidates_token_count or 0) + (
        usage.thoughts_token_count or 0
    )


def answer_of(response: types.GenerateContentResponse) -> Said | Declined:
    """Return what a response says, or why it says nothing."""
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
