"""Checks of a model's note against the messages: its words, numbers, names and language.

The quote is checked by whoever reads the answer; a true quote bears out no other thing.  Words are compared by
how they begin, so that inflection does not matter, and function words count for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from models.messages import Role
from models.windows import Window, WindowMessage
from processors.facts.candidates import is_quoted
from processors.prompts.languages import FUNCTION_WORDS, language_of, may_be_one_language
from processors.text.figures import numbers_in, read_out, without_days, years_meant
from processors.text.lexicon import MONTHS, WEEKDAYS


def source_of(number: int, quote: str, window: Window) -> WindowMessage | str:
    """Return the person's message with a 1-based number that holds the quote, or the reason against it.

    Reasons: ``unknown_source``, ``not_their_words``.
    """
    if not 1 <= number <= len(window.messages) or window.messages[number - 1].role is not Role.USER:
        return "unknown_source"
    message = window.messages[number - 1]
    return message if is_quoted(quote, [message]) else "not_their_words"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that begin with as many letters alike are one word: "teach", "teacher".
_ALIKE = 4

#: A quote of so few words may answer the question before it.
_SHORT_ANSWER = 6

#: "Yes, very." has no word of its own; a longer answer has.
_BARE_ANSWER = 3

_QUESTION = re.compile(r"[^.!?。！？\n]*[?？]")

#: Of a note's words so many must be borne out, if its value is, and if it has none.
_SHARE_WITH_VALUE, _SHARE = 1 / 4, 1 / 2

#: Of a summary's sentence so many: it says in few words what was said in many.
_SHARE_OF_SUMMARY = 1 / 3

#: So far from a message "next month" may be.
_NEAR = timedelta(days=62)

#: How a note speaks of the person, in their language, and how it frames what they say.
_OF_THE_PERSON = _words(
    "user users person nutzer nutzers nutzerin benutzer benutzerin person utilisateur utilisatrice personne "
    "usuario usuaria persona usuário usuária pessoa utente gebruiker gebruikster användaren användare "
    "użytkownik użytkownika użytkowniczka käyttäjä käyttäjän käyttäjällä käyttäjää käyttäjältä uživatel "
    "uživatelka uživatele "
    "assistant assistants"
)

#: Words that refer to something said before.
_ANAPHORA = _words(
    "it that this these those there then them they he she him her his its one ones so both either neither das "
    "dies diese dieser dort sie er ihn ihm es ihr beide ça cela celui celle y en lui leur eso esto esa ese "
    "allí lo la le "
    "isso isto lá ele ela questo quello lì lei"
)

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?:;„“\"«(]\s*$|^\s*$")
#: Scripts without spaces between words are compared by pairs of letters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_MONTH_OR_DAY = re.compile(rf"(?:{'|'.join(MONTHS)}|(?:{'|'.join(WEEKDAYS)})s?|utc|iso)", re.IGNORECASE)


class Note(NamedTuple):
    """Note to check.

    ``seen``: its words that stand in the known notes that the model was shown.  ``ends_known``: it ends one of
    those, which has words for what ends; they say only that it does ("sold it").
    """

    quote: str
    note: str
    value: str
    about: str
    seen: Collection[str] = ()
    ends_known: bool = False


def objection(note: Note, place: int, window: Window) -> str | None:
    """Return why a note on the message at ``place`` is not taken, as a slug; ``None`` if it is borne out."""
    message = window.messages[place]
    own = [each.content for each in window.messages if _is_of(each, message.user_id)]
    if not _in_their_language(note, message, own):
        return "wrong_language"
    asked = [_questions_in(each.content) for each in asked_before(note.quote, place, window)]
    texts = [*own, *asked]
    if wrong := invented(note.note, texts, message.sent_at, note.value, note.seen):
        return wrong
    seen = frozenset(note.seen)
    near = _Words([*_before(place, window), message.content, *asked], seen)
    known = _Words(texts, seen)
    if note.value and not note.ends_known and not (known if asked else near).bear_out(note.value, 1.0):
        return "not_borne_out"
    if note.about and not known.bear_out(note.about, 1.0):
        return "not_borne_out"
    if asked and len(words_of(note.quote)) > _BARE_ANSWER and not _Words([note.quote], seen).has_any(note.note):
        return "not_borne_out"
    share = _SHARE_WITH_VALUE if note.value or note.ends_known else _SHARE
    return None if known.bear_out(note.note, share) else "not_borne_out"


def asked_before(quote: str, place: int, window: Window) -> Sequence[WindowMessage]:
    """Return the assistant's question before a short answer, or before words that refer to it."""
    words = words_of(quote)
    if len(words) > _SHORT_ANSWER and not _ANAPHORA.intersection(words):
        return ()
    user_id = window.messages[place].user_id
    back = takewhile(lambda each: not _is_of(each, user_id), reversed(window.messages[:place]))
    return [each for each in back if each.role is Role.ASSISTANT and _questions_in(each.content)][:1]


def _questions_in(text: str) -> str:
    """Return the questions of a text: of what the assistant only says nothing bears out a note."""
    return " ".join(_QUESTION.findall(text))


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded; of scripts without spaces each two letters that stand together."""
    found = list[str]()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            found.append(word)
    return found


class _Words:
    """Words that bear out others."""

    def __init__(self, texts: Sequence[str], seen: frozenset[str]) -> None:
        text = "\n".join(texts)
        self._numbers = numbers_in(text) | read_out(text)
        self._known = set(words_of(text)) | seen
        self._alike = {word[:_ALIKE] for word in self._known if len(word) >= _ALIKE}

    def bear_out(self, text: str, share: float) -> bool:
        """Return whether at least this share of a text's words is among these."""
        words = _content_words(text)
        # What a date is resolved to stands nowhere; it is checked by itself.
        others = [word for word in words if self._has(word) or not _is_of_a_date(word)]
        return sum(map(self._has, words)) >= share * len(others)

    def has_any(self, text: str) -> bool:
        """Return whether a word of a text is among these."""
        return any(map(self._has, _content_words(text)))

    def _has(self, word: str) -> bool:
        is_known = word in self._known or word[:_ALIKE] in self._alike or _is_owner(word, self._known)
        return is_known or word in self._numbers


def _is_owner(name: str, known: Collection[str]) -> bool:
    """Return whether a short name is known by what is theirs: "pats birthday"."""
    return len(name) == _ALIKE - 1 and f"{name}s" in known


def _content_words(text: str) -> list[str]:
    """Return the words of a text that say something; all of a text of function words."""
    skipped = FUNCTION_WORDS.get(language_of(text), FUNCTION_WORDS["en"]) | _OF_THE_PERSON
    words = words_of(text)
    return [word for word in words if word not in skipped] or words


def _is_of_a_date(word: str) -> bool:
    return word.isdigit() or _MONTH_OR_DAY.fullmatch(word) is not None


def _is_of(message: WindowMessage, user_id: str) -> bool:
    return message.role is Role.USER and message.user_id == user_id


def _before(place: int, window: Window) -> list[str]:
    """Return the person's message before this one: a thing may be told in two."""
    user_id = window.messages[place].user_id
    own = [each.content for each in window.messages[:place] if _is_of(each, user_id)]
    return own[-1:]


def _in_their_language(note: Note, message: WindowMessage, own: Sequence[str]) -> bool:
    """Return whether a note may be in the language of its quote, or of the person's other messages."""
    for text in (note.quote, message.content, "\n".join(own)):
        if language_of(text):
            return may_be_one_language(note.note, text)
    return may_be_one_language(note.note, note.quote)


def is_told(text: str, texts: Sequence[str], said_at: datetime) -> bool:
    """Return whether a summary's sentence is supported by the texts up to a time."""
    return (
        may_be_one_language(text, "\n".join(texts))
        and invented(text, texts, said_at) is None
        and _Words(texts, frozenset()).bear_out(text, _SHARE_OF_SUMMARY)
    )


def invented(
    note: str, texts: Sequence[str], said_at: datetime, value: str = "", seen: Collection[str] = ()
) -> str | None:
    """Return the kind of an unsupported number or name in a note: ``invented_number``, ``invented_name``."""
    text = "\n".join(texts)
    said = said_at.date()
    numbers = numbers_in(text) | read_out(text) | {each for word in seen for each in numbers_in(word)}
    numbers |= years_meant(numbers, said) | {"0"}  # "14:00" of "fourteen hours"
    if any(numbers_in(without_days(told, said, _NEAR)) - numbers for told in (note, value)):
        return "invented_number"
    known = set(words_of(text)).union(seen)
    alike = {word[:_ALIKE] for word in known if len(word) >= _ALIKE}
    names = [
        name
        for name in _names(note)
        if name not in known and name[:_ALIKE] not in alike and not _is_owner(name, known)
    ]
    return "invented_name" if names else None


def _names(note: str) -> list[str]:
    """Return the words of a note that must be names: with a capital within a sentence, but in German."""
    if language_of(note) == "de":
        return []
    found = list[str]()
    for match in _WORD.finditer(note):
        word = match[0]
        is_first = _SENTENCE_END.search(note, 0, match.start()) is not None
        if (
            word[0].isalpha()
            and word[0].isupper()
            and len(word) > 1
            and not is_first
            and not _MONTH_OR_DAY.fullmatch(word)
        ):
            found.append(word.casefold())
    return [word for word in found if word not in _OF_THE_PERSON]
