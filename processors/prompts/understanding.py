"""Prompt for the meaning of a question (requirement 5.3).

A model is shown the question, what was said before it and statements that a search found, which have numbers: it can
only say that it needs what is in front of it.  What it says of words that the question does not have is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from models.understanding import QueryUnderstanding, QuestionAsked, Reason, Reference
from processors.prompts.fence import RULE, fenced
from processors.prompts.prompt import Prompt, items, told
from processors.retrieval.understanding.reading import augmented

VERSION = "understanding-2"

#: Room for the answer.
MOST_TOKENS = 700

_MOST_READINGS, _MOST_QUESTIONS, _MOST_REFERENCES, _MOST_MEANINGS = 3, 4, 6, 3
_LONGEST = 600

SYSTEM = f"""Task {VERSION}: say what a question means, before somebody else answers it.

The data holds, one JSON record per line: messages of the conversation before the question ("is": "message", oldest
first; "by": a letter for a person, A for who asks, or assistant, tool, system), what is known of who asks ("known"), and as its last record the "question". Records have a number n.
{RULE}
Do not answer the question either: say how it is to be understood.

- is_ambiguous: true only if a good answer could differ, depending on something that neither the question, nor the
  messages, nor what is known, nor common sense settles. Most questions are clear: a question that is merely broad, or
  that has a usual meaning, is not ambiguous.
- score: how likely it is, 0 to 1, that it must be clarified, going by the question alone.
- reasons: why: reference (it is open who or what "she" or "that one" is), meanings (a name or word has several),
  unknown_name (something is named that may not exist), what, when, where, who. Empty if it is clear.
- possible_interpretations: if it is ambiguous two or three complete questions that it may stand for, else empty.
- clarifying_questions: if it is ambiguous two to four short questions to ask back, else empty.
- rewritten_query: the question with what "she", "it", "there" refer to in their place; empty if nothing is replaced.
- references: for words of the question that stand for something said before: words, as they stand in the question, and
  meanings, the likeliest first.
- needed: the numbers of the records "known" that bear on the question.
Write in the language of the question."""

_TEXTS = {"type": "array", "items": {"type": "string"}}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "is_ambiguous": {"type": "boolean"},
        "score": {"type": "number"},
        "reasons": {"type": "array", "items": {"type": "string", "enum": [each.value for each in Reason]}},
        "possible_interpretations": _TEXTS,
        "clarifying_questions": _TEXTS,
        "rewritten_query": {"type": "string"},
        "references": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"words": {"type": "string"}, "meanings": _TEXTS},
                "required": ["words", "meanings"],
            },
        },
        "needed": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["is_ambiguous", "score", "reasons", "possible_interpretations", "clarifying_questions"],
}


def prompt(asked: QuestionAsked) -> Prompt:
    """Return the prompt about a question."""
    return Prompt(VERSION, SYSTEM, fenced(records_of(asked)), SCHEMA, MOST_TOKENS)


def records_of(asked: QuestionAsked) -> list[dict[str, Any]]:
    """Return the records for a model."""
    shown: list[dict[str, Any]] = [{"is": "message", "text": text[:_LONGEST]} for text in asked.turns]
    for record, speaker in zip(shown, asked.speakers, strict=False):
        record["by"] = speaker
    shown += [{"is": "known", "text": text[:_LONGEST]} for text in asked.remembered]
    return [{"n": n, **each} for n, each in enumerate([*shown, {"is": "question", "text": asked.query}], 1)]


def read(answer: str, asked: QuestionAsked) -> QueryUnderstanding | None:
    """Return the decoded answer; ``None`` if it is unusable."""
    said = told(answer)
    if said is None or said.cut or not isinstance(said.content, dict):
        return None
    content = said.content
    is_ambiguous = content.get("is_ambiguous")
    if not isinstance(is_ambiguous, bool):
        return None
    readings = _texts(content.get("possible_interpretations"), _MOST_READINGS)
    questions = _texts(content.get("clarifying_questions"), _MOST_QUESTIONS)
    reasons = tuple(dict.fromkeys(Reason(each) for each in items(content.get("reasons")) if each in [*Reason]))
    if is_ambiguous and (len(readings) < 2 or len(questions) < 2 or not reasons):
        return None
    references = _references(content.get("references"), asked.query)
    rewritten = content.get("rewritten_query")
    meant = rewritten.strip()[:_LONGEST] if isinstance(rewritten, str) and not is_ambiguous else ""
    known = _needed(content.get("needed"), asked)
    return QueryUnderstanding(
        query=asked.query,
        is_ambiguous=is_ambiguous,
        score=_score(content.get("score"), float(is_ambiguous)),
        reasons=reasons if is_ambiguous else (),
        possible_interpretations=readings if is_ambiguous else (),
        rewritten_query=meant if meant and meant != asked.query else None,
        clarifying_questions=questions if is_ambiguous else (),
        needed_context_from_memory=known,
        references=references,
        final_augmented_context=augmented(meant or asked.query, known),
    )


def _score(value: object, otherwise: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    if isinstance(value, float) and math.isnan(value):
        return otherwise
    return float(min(1.0, max(0.0, value)))


def _texts(value: object, most: int) -> tuple[str, ...]:
    found = [each.strip()[:_LONGEST] for each in items(value) if isinstance(each, str) and each.strip()]
    return tuple(dict.fromkeys(found))[:most]


def _references(value: object, query: str) -> tuple[Reference, ...]:
    found = []
    for each in items(value)[:_MOST_REFERENCES]:
        words = each.get("words") if isinstance(each, dict) else None
        if isinstance(words, str) and words.strip() and words.strip().casefold() in query.casefold():
            found.append(Reference(words.strip(), _texts(each.get("meanings"), _MOST_MEANINGS)))
    return tuple(found)


def _needed(value: object, asked: QuestionAsked) -> tuple[str, ...]:
    """Return the statements whose numbers are named."""
    first = len(asked.turns) + 1
    known = dict(enumerate(asked.remembered, first))
    named = [each for each in items(value) if isinstance(each, int) and not isinstance(each, bool)]
    return tuple(known[each] for each in dict.fromkeys(named) if each in known)
