"""Answer types of a question, in five languages: a time, a number, a name or a place; and the names in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import normalize

from processors.text.languages import language_of
from processors.text.lexicon import MONTHS, WEEKDAYS

TIME, NUMBER, NAME, PLACE = "time", "number", "name", "place"

#: Of each language the words that ask for each, looked for in this order.
_ASKS = {
    language: {kind: re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) for kind, words in table.items()}
    for language, table in {
        "en": {
            TIME: r"when|when['’]?s|how long|how many (?:days|weeks|months)"
            r"|(?:what|which) (?:dates?|days?|months?|years?|time)",
            NUMBER: r"how (?:many|much|old|tall|far|big|high|often)"
            r"|(?:what|which) (?:size|dose|number|price|age)",
            NAME: r"who|who['’]?s|whose|whom|name[ds]?|surname|called"
            r"|which (?:town|city|village|street|shop|company|brand|school)",
            PLACE: "where|where['’]?s",
        },
        "de": {
            TIME: r"wann|wie lange|um wie ?viel uhr|welche[mnrs]? (?:tag|tage|tagen|datum|monat|jahr|woche)",
            NUMBER: r"wie ?viele?|wie (?:alt|groß|hoch|oft|weit|schwer)|welche (?:nummer|größe|dosis)",
            NAME: r"wer|wem|wen|wessen|heißt|heißen|heisst|name|namen|nachname",
            PLACE: "wo|wohin|woher",
        },
        "es": {
            TIME: r"cu[aá]ndo|qu[eé] (?:d[ií]as?|fecha|mes|año|horas?|horario)",
            NUMBER: r"cu[aá]nt[oa]s?|qu[eé] (?:edad|n[uú]mero|talla|dosis)",
            NAME: r"qui[eé]n(?:es)?|llaman?|nombre|apellido",
            PLACE: "d[oó]nde|ad[oó]nde",
        },
        "fr": {
            TIME: r"quand|combien de temps|quel(?:le)?s? (?:jours?|date|mois|ann[ée]e|heure)",
            NUMBER: r"combien|quel(?:le)?s? (?:âge|num[ée]ro|taille|dose|prix)",
            NAME: r"qui|appell?ent?|appelle|nom|pr[ée]nom",
            PLACE: "où",
        },
        "pt": {
            TIME: r"quando|quanto tempo|(?:que|q|qual) (?:dia|data|mês|ano|horas?|horário)",
            NUMBER: r"quant[oa]s?|(?:que|qual a) (?:idade|dose)|qual o (?:n[uú]mero|preço|valor)",
            NAME: "quem|chamam?|nome|sobrenome",
            PLACE: "onde|aonde",
        },
    }.items()
}

#: A capital within a sentence.
_NAME = re.compile(r"(?<=[\w,'’] )[A-ZÀ-Þ]\w+")
_CALENDAR = frozenset((*WEEKDAYS, *MONTHS, "christmas", "easter"))


def asks_for(query: str) -> str:
    """Return the answer type of a question; ``""``: none of them."""
    return next((kind for kind, asks in _ASKS[language_of(query)].items() if asks.search(query)), "")


def names_unsaid(query: str, known: Iterable[str]) -> bool:
    """Say whether a question names something that stands in none of the ``known`` texts.

    In German every noun has a capital, so nothing is known to be a name there.
    """
    if language_of(query) == "de":
        return False
    names = {_folded(name) for name in _NAME.findall(query)} - _CALENDAR
    for text in known if names else ():
        folded = _folded(text)
        names = {name for name in names if name not in folded}
    return bool(names)


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold()
