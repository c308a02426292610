"""What to ask back, and how a question can be read, by the reason why it is open."""

from __future__ import annotations

import re

from models.understanding import Reason, Reference

_NAMED = re.compile(r'"([^"]{2,60})"|((?<!^)(?<![.?!] )[A-Z][\w-]+(?: (?:of |the )?[A-Z][\w-]+)*)')

#: Two readings and two questions each; ``{term}``: what the question names, ``{query}``: the question.
_READINGS = {
    Reason.MEANINGS: ("{term} as it is best known", "another {term} than the best known"),
    Reason.UNKNOWN_NAME: ("{term}, as it is written", "something that is written much like {term}"),
    Reason.WHAT: ("{query} – in general", "{query} – of one certain kind"),
    Reason.WHEN: ("{query} – as of now", "{query} – at an earlier time"),
    Reason.WHERE: ("{query} – where you are", "{query} – in another place"),
    Reason.WHO: ("{query} – for you", "{query} – for somebody else"),
}
_QUESTIONS = {
    Reason.MEANINGS: (
        "Which {term} do you mean?",
        "Is {term} a person, a place, a work?",
    ),
    Reason.UNKNOWN_NAME: ("I do not know {term}: what is it?", "Is {term} spelled as you mean it?"),
    Reason.WHAT: ("Which kind or which part of it do you mean?", "By which measure should I answer?"),
    Reason.WHEN: (
        "Which time do you mean: now, or when?",
        "The latest, or that of a certain year?",
    ),
    Reason.WHERE: ("Which place do you mean?", "Should the answer hold where you are, or elsewhere?"),
    Reason.WHO: (
        "Whom is it for, or whom is it about?",
        "What should I know about them?",
    ),
}


def term_of(question: str) -> str:
    """Return what the question names: the longest name or quotation in it, else ``""``."""
    named = [first or second for first, second in _NAMED.findall(question)]
    return max(named, key=len, default="")


def readings_of(question: str, reason: Reason) -> tuple[str, ...]:
    """Return the two readings of a question that is open for this reason (not: a reference)."""
    asked = question.rstrip(" ?.!")
    return tuple(each.format(term=term_of(question), query=asked) for each in _READINGS[reason])


def questions_for(question: str, reason: Reason) -> tuple[str, ...]:
    """Return two questions that would settle this reason (not: a reference)."""
    return tuple(each.format(term=term_of(question)) for each in _QUESTIONS[reason])


def questions_about(reference: Reference) -> tuple[str, ...]:
    """Return two questions that would settle what a word refers to."""
    if not reference.meanings:
        return (
            f"Who or what do you mean by “{reference.words}”?",
            f"Is “{reference.words}” somebody or something that we spoke of before?",
        )
    *others, last = reference.meanings
    choice = f"{', '.join(others)} or {last}" if others else last
    return (
        f"By “{reference.words}”, do you mean {choice}?",
        "Or is it something else?",
    )
