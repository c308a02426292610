"""An answer without a language model: what is remembered, quoted with its sources, or that nothing is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.answers import AnswerItem, AnswerKind
from models.messages import Role
from models.understanding import QueryUnderstanding
from processors.text.languages import language_of

#: Items that are quoted.
_MOST = 5

#: What is asked rather than told.
_ASKS = re.compile(
    r"\?\s*$|^\W*(?:who|whom|whose|what|which|when|where|why|how|do|does|did|is|are|was|were|am|has|have|had|can|"
    r"could|will|would|should|may|might|shall|tell|show|remind|list|find|give|explain|describe|recommend|suggest)\b",
    re.I,
)

NOTHING = "I know nothing about that: nobody has told me so far."
NOTED = "Noted. No language model is set up to reply; ask me for it, and I quote it."
BLIND = "I cannot look at what I remember now. Ask me again in a while."
#: By the language of the question.
ASKS_BACK = {
    "en": "Which of these do you mean?",
    "de": "Was davon ist gemeint?",
    "es": "¿Cuál de estas cosas quieres decir?",
    "fr": "Laquelle de ces questions est la bonne ?",
    "pt": "Qual destas perguntas é a certa?",
}
REMEMBERED = "This is what I remember about that:"

#: How what is said here begins: repeating it answers nothing.
OURS = (NOTHING, NOTED, BLIND, *ASKS_BACK.values(), REMEMBERED)


def is_asked(text: str) -> bool:
    """Say whether somebody wants something answered, rather than tells something."""
    return _ASKS.search(text.strip()) is not None


def quotation(items: Sequence[AnswerItem], text: str, *, blind: bool) -> tuple[str, AnswerKind]:
    """Return the quotations about ``text``, each with its source, and the kind of that answer."""
    if not is_asked(text):
        return NOTED, AnswerKind.NOTED
    if not items:
        return BLIND if blind else NOTHING, AnswerKind.UNKNOWN
    lines = [f"- {_quoted(item)}" for item in items[:_MOST]]
    return "\n".join([REMEMBERED, *lines]), AnswerKind.ANSWERED


def _quoted(item: AnswerItem) -> str:
    said = " ".join(item.text.split())
    on = "" if item.at is None else f" on {item.at.day} {item.at:%B %Y}"
    return f"{_who(item)} said{on}: “{said}” [{item.n}]"


def _who(item: AnswerItem) -> str:
    """Return the speaker of an item; a fact is what the person said."""
    who = {Role.USER: "You", Role.ASSISTANT: "The assistant", Role.TOOL: "A tool", Role.SYSTEM: "The system"}
    return item.speaker or who[item.role or Role.USER]


def asked_back(understanding: QueryUnderstanding) -> str:
    """Return the readings of an open question and what would settle it (requirement 5)."""
    lines = [ASKS_BACK[language_of(understanding.query)]]
    lines += [f"{n}. {each}" for n, each in enumerate(understanding.possible_interpretations, 1)]
    if understanding.clarifying_questions:
        lines += ["", *understanding.clarifying_questions]
    return "\n".join(lines)
