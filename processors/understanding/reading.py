"""What a question means, without a language model (seed 004, feature 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.understanding import QueryUnderstanding, Reason
from processors.text.authorship import own_words
from processors.text.sentences import sentence_spans
from processors.understanding.references import Found, names, references, rewritten
from processors.understanding.words import PERSONAL

_MOST_READINGS, _MOST_QUESTIONS = 3, 4

#: A question without its mark, or a request to be told something of somebody.
_ASKS = re.compile(
    r"\W*(?:(?:so|and|but|ok|also) )?(?:who|whom|whose|what|which|when|where|why|how)(?:'s|'re)? \w|"
    r"\W*(?:(?:can|could) you )?(?:tell|remind) me (?:more )?(?:about|who|what|when|where|why|how)\b",
    re.I,
)
#: Longer messages bring along what they are about.
_LONGEST = 40


def understand(query: str, turns: Sequence[str], remembered: Sequence[str]) -> QueryUnderstanding:
    """Return what ``query`` means.

    ``turns``: what was said before, oldest first.  ``remembered``: statements found for it, best first.
    """
    asked = _question(query)
    found = references(query, asked, turns, remembered)
    # What a message says before its question tells what it is about, also where that cannot be read.
    unsettled = [] if query[: asked.start].strip() else [each for each in found if each.is_open]
    is_settled = bool(found) and not any(each.is_open for each in found)
    meant = rewritten(query, found) if is_settled else query
    was_open = unsettled or (is_settled and any(each.is_open for each in references(query, asked, turns, ())))
    readings, questions = _asked_back(query, unsettled)
    named = {each.words: each for each in (*(each.reference for each in found), *names(query, remembered))}
    return QueryUnderstanding(
        query=query,
        is_ambiguous=bool(unsettled),
        score=float(bool(was_open)),
        reasons=(Reason.REFERENCE,) if unsettled else (),
        possible_interpretations=readings,
        rewritten_query=meant if meant != query else None,
        clarifying_questions=questions,
        needed_context_from_memory=tuple(remembered),
        references=tuple(named.values()),
        final_augmented_context=augmented(meant, remembered),
    )


def _question(query: str) -> slice:
    """Return which part of a message is a question; of length 0: it asks nothing itself."""
    spans = sentence_spans(query) if own_words(query) == query and len(query.split()) <= _LONGEST else []
    asking = [
        (begin, end)
        for begin, end in spans
        if query[begin:end].rstrip("\"') \n").endswith("?") or _ASKS.match(query, begin, end)
    ]
    return slice(asking[0][0], asking[-1][1]) if asking else slice(len(query), len(query))


def _asked_back(query: str, unsettled: Sequence[Found]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two or three readings of an open question, and two to four questions that would settle it."""
    readings, questions = [], []
    for each in unsettled:
        word, meanings = each.reference.words, each.reference.meanings
        who, somebody = ("Who", "somebody") if word in PERSONAL else ("What", "something")
        readings += [rewritten(query, [each], meaning) for meaning in meanings]
        which = f"By “{word}”, do you mean {' or '.join(meanings)}?"
        questions += (
            [which, "Or is it something else?"]
            if meanings
            else [f"{who} is “{word}”?", "Did we speak of it before?"]
        )
        if len(readings) < 2:
            readings += [f"{query} – about {somebody} you told me of", f"{query} – about {somebody} new"]
    return tuple(readings[:_MOST_READINGS]), tuple(dict.fromkeys(questions[:_MOST_QUESTIONS]))


def augmented(query: str, remembered: Sequence[str]) -> str:
    """Return a question as a model should read it, with what is remembered."""
    return "\n".join([query, *(f"Known: {statement}" for statement in remembered)])
