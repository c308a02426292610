"""Puts together what a question means (seed 004, feature 2), without a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.understanding import QueryUnderstanding, Reason, Reference
from processors.understanding.clarity import Clarity
from processors.understanding.questions import questions_about, questions_for, readings_of, term_of
from processors.understanding.references import references, rewritten

#: A question about the person who asks is about what is remembered, and a model of the world's questions knows
#: nothing of that.
_OWN = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.I)
#: "What is my dog called?": if nothing is known of it, asking back would not tell.
_ASKS = re.compile(
    r"\W*(?:who|whom|whose|what|which|when|where|why|how|do|does|did|is|are|was|were|am|has|have|had)\b.*\?",
    re.I | re.S,
)
_WORD = re.compile(r"[^\W\d_]")
_MOST_QUESTIONS = 4
_MOST_READINGS = 3


def understand(
    query: str, turns: Sequence[str], remembered: Sequence[str], clarity: Clarity, *, threshold: float = 0.5
) -> QueryUnderstanding:
    """Return what ``query`` means.

    ``turns``: what was said before, oldest first.  ``remembered``: statements found for it, best first.
    ``threshold``: probability from which a question is open.  What memory answers is not asked back, unless a
    word of the question can stand for several, or for nothing that was said.
    """
    # What holds no word, such as an emoji, asks nothing that could be made clearer.
    score = clarity.probability(query) if _WORD.search(query) else 0.0
    found = references(query, turns)
    unsettled = [each for each in found if len(each.meanings) != 1]
    meant = rewritten(query, found) if found and not unsettled else None
    is_own = _OWN.search(query) is not None and (bool(remembered) or _ASKS.match(query) is not None)
    unclear = score >= threshold and not is_own and meant is None
    reasons = [Reason.REFERENCE] if unsettled else []
    if unclear and not unsettled:
        reasons.append(_reason(clarity, query))
    readings, questions = _asked_back(query, reasons, unsettled)
    return QueryUnderstanding(
        query=query,
        is_ambiguous=bool(reasons),
        score=score,
        reasons=tuple(reasons),
        possible_interpretations=readings,
        rewritten_query=meant,
        clarifying_questions=questions,
        needed_context_from_memory=tuple(remembered),
        references=tuple(found),
        final_augmented_context=augmented(meant or query, remembered),
    )


def _reason(clarity: Clarity, query: str) -> Reason:
    """Return the model's reason, unless it is about a reference or a name and the question holds none."""
    reason = clarity.reason(query)
    about_nothing = (reason is Reason.REFERENCE) or (
        reason in (Reason.MEANINGS, Reason.UNKNOWN_NAME) and not term_of(query)
    )
    return Reason.WHAT if about_nothing else reason


def _asked_back(
    query: str, reasons: Sequence[Reason], unsettled: Sequence[Reference]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    readings: list[str] = []
    questions: list[str] = []
    for each in unsettled:
        for meaning in each.meanings:
            readings.append(rewritten(query, [Reference(each.words, (meaning,))]))
        questions += questions_about(each)
    for reason in reasons:
        if reason is not Reason.REFERENCE:
            readings += readings_of(query, reason)
            questions += questions_for(query, reason)
    if reasons and len(readings) < 2:
        readings += [
            f"{query} – of somebody or something we spoke of",
            f"{query} – of somebody or something new",
        ]
    return tuple(readings[:_MOST_READINGS]), tuple(questions[:_MOST_QUESTIONS])


def augmented(query: str, remembered: Sequence[str]) -> str:
    """Return a question as a model should read it, with what is remembered."""
    return "\n".join([query, *(f"Known: {statement}" for statement in remembered)])
