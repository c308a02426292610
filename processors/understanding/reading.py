"""What a question means, without a language model (seed 004, feature 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.understanding import QueryUnderstanding, Reason
from processors.text.authorship import own_words
from processors.text.sentences import sentence_spans
from processors.understanding.references import Found, names, references, rewritten
from processors.understanding.words import PERSONAL

#: Readings and questions that are asked back; words of a message that does not tell what it is about.
_MOST_READINGS, _MOST_QUESTIONS, _LONGEST = 3, 4, 40
#: A question, also without its mark, or a request to be told something of somebody.
_ASKS = re.compile(
    r"[^?]*\?[?!\"')\s]*\Z|"
    r"\W*(?:(?:so|and|but|ok|also) )?(?:who|whom|whose|what|which|when|where|why|how)(?:'s|'re)? \w|"
    r"\W*(?:(?:can|could) you )?(?:tell|remind) me (?:more )?(?:about|who|what|when|where|why|how)\b",
    re.I,
)


def understand(query: str, turns: Sequence[str], remembered: Sequence[str]) -> QueryUnderstanding:
    """Return what ``query`` means.

    ``turns``: what was said before, oldest first.  ``remembered``: statements found for it, best first.
    """
    asked = _question(query)
    found = references(query, asked, turns, remembered)
    # What a message says before its question tells what it is about, also where that cannot be read.
    unclear = [each for each in found if len(each.reference.meanings) != 1]
    unsettled = [] if query[: asked.start].strip() else unclear
    meant = rewritten(query, found) if not unclear else query
    was_open = unsettled or (not unclear and references(query, asked, turns, ()) != found)
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
    asking = [span for span in spans if _ASKS.match(query, *span)]
    return slice(asking[0][0], asking[-1][1]) if asking else slice(len(query), len(query))


def _asked_back(query: str, unsettled: Sequence[Found]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two or three readings of an open question, and two to four questions that would settle it."""
    readings, questions = [], []
    for each in unsettled:
        word, meanings = each.reference.words, each.reference.meanings
        who, somebody = ("Who", "somebody") if word in PERSONAL else ("What", "something")
        readings += [rewritten(query, [each], meaning) for meaning in meanings]
        first = f"By “{word}”, do you mean {' or '.join(meanings)}?" if meanings else f"{who} is “{word}”?"
        questions += [first, f"Or is it {somebody} that you have not told me of?"]
        if len(readings) < 2:
            readings += [f"{query} – about {somebody} you told me of", f"{query} – about {somebody} new"]
    return tuple(readings[:_MOST_READINGS]), tuple(dict.fromkeys(questions[:_MOST_QUESTIONS]))


def augmented(query: str, remembered: Sequence[str]) -> str:
    """Return a question as a model should read it, with what is remembered."""
    return "\n".join([query, *(f"Known: {statement}" for statement in remembered)])
