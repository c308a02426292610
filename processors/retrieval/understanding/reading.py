"""Meaning of a question, without a language model (requirement 5.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.understanding import QueryUnderstanding, Reason
from processors.retrieval.understanding.references import Found, names, references, rewritten
from processors.retrieval.understanding.words import PERSONAL
from processors.text.authorship import own_words
from processors.text.languages import language_of
from processors.text.sentences import sentence_spans

#: Readings and questions that are asked back; words of a message that does not tell what it is about.
_MOST_READINGS, _MOST_QUESTIONS, _LONGEST = 3, 4, 40
#: A question, also without its mark, or a request to be told something of somebody.
_ASKS = re.compile(
    r"[^?]*\?[?!\"')\s]*\Z|"
    r"\W*(?:(?:so|and|but|ok|also) )?(?:who|whom|whose|what|which|when|where|why|how)(?:'s|'re)? \w|"
    r"\W*(?:(?:can|could) you )?(?:tell|remind) me (?:more )?(?:about|who|what|when|where|why|how)\b",
    re.I,
)

#: How something is asked back, by language: who it is or what it is, of something known or new; which of
#: several, and what joins them; or something else.
_WORDINGS = {
    "en": (
        ("Who is “{word}”?", "about somebody you told me of", "about somebody new"),
        ("What is “{word}”?", "about something you told me of", "about something new"),
        ("By “{word}”, do you mean {meanings}?", " or "),
        "Or is it something that you have not told me of?",
    ),
    "de": (
        ("Wer ist „{word}“?", "über jemanden, von dem ich weiß", "über jemand Neues"),
        ("Was ist „{word}“?", "über etwas, von dem ich weiß", "über etwas Neues"),
        ("Ist mit „{word}“ {meanings} gemeint?", " oder "),
        "Oder etwas, von dem ich noch nichts weiß?",
    ),
    "es": (
        ("¿Quién es «{word}»?", "sobre alguien de quien me has hablado", "sobre alguien nuevo"),
        ("¿Qué es «{word}»?", "sobre algo de lo que me has hablado", "sobre algo nuevo"),
        ("¿Con «{word}» te refieres a {meanings}?", " o a "),
        "¿O es algo de lo que no me has hablado?",
    ),
    "fr": (
        ("Qui est « {word} » ?", "à propos de quelqu'un que je connais", "à propos de quelqu'un d'autre"),
        ("Qu'est-ce que « {word} » ?", "à propos de ce que je connais", "à propos d'autre chose"),
        ("« {word} » désigne-t-il {meanings} ?", " ou "),
        "Ou est-ce quelque chose que je ne connais pas encore ?",
    ),
    "pt": (
        ("Quem é “{word}”?", "sobre alguém de quem já me falou", "sobre alguém novo"),
        ("O que é “{word}”?", "sobre algo de que já me falou", "sobre algo novo"),
        ("“{word}” quer dizer {meanings}?", " ou "),
        "Ou é algo de que ainda não me falou?",
    ),
}


def understand(
    query: str, turns: Sequence[str], remembered: Sequence[str], days: Sequence[str] = ()
) -> QueryUnderstanding:
    """Return the meaning of ``query``.

    ``turns``: what was said before, oldest first.  ``remembered``: statements found for it, best first;
    ``days``: when each was said, if that is known.
    """
    asked = _question(query)
    found = references(query, asked, turns, remembered)
    # What a message says before its question tells what it is about, also where that cannot be read.
    unclear = [each for each in found if len(each.reference.meanings) != 1]
    unsettled = [] if query[: asked.start].strip() else unclear
    meant = rewritten(query, found) if not unclear else query
    was_open = unsettled or (not unclear and references(query, asked, turns, ()) != found)
    readings, questions = _asked_back(query, unsettled)
    known = names(query, remembered, days)
    named = {each.words: each for each in [*(each.reference for each in found), *known]}
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
    """Return the part of a message that is a question, of length 0 if there is none."""
    spans = sentence_spans(query) if own_words(query) == query and len(query.split()) <= _LONGEST else []
    asking = [span for span in spans if _ASKS.match(query, *span)]
    return slice(asking[0][0], asking[-1][1]) if asking else slice(len(query), len(query))


def _asked_back(query: str, unsettled: Sequence[Found]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two or three readings of an open question, and two to four questions that would settle it."""
    readings, questions = [], []
    person, thing, (which, joins), other = _WORDINGS[language_of(query)]
    for each in unsettled:
        word, meanings = each.reference.words, each.reference.meanings
        who, known, new = person if word in PERSONAL else thing
        readings += [rewritten(query, [each], meaning) for meaning in meanings]
        either = which.format(word=word, meanings=joins.join(meanings))
        questions += [either if meanings else who.format(word=word), other]
        if len(readings) < 2:
            readings += [f"{query} – {known}", f"{query} – {new}"]
    return tuple(readings[:_MOST_READINGS]), tuple(dict.fromkeys(questions[:_MOST_QUESTIONS]))


def augmented(query: str, remembered: Sequence[str]) -> str:
    """Return a question as a model should read it, with what is remembered."""
    return "\n".join([query, *(f"Known: {statement}" for statement in remembered)])
