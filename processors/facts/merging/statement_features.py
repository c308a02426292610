"""Features of one statement: its cues, words and names, and whom it is about."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.statements import Kind
from processors.text.stemming import stem_of

#: Cues of one sentence: English, and the commonest words of German, Spanish, French, Portuguese and Italian.
_CUES = (
    (
        "over",
        r"\b(?:any ?more|no longer|no more|not any|quit|gave up|given up|giv\w+ up|stopped|drop\w* out|dropped|is over|are over|finished|done with|is done|are done|(?:was|had) (?:my|the|our) last|is (?:history|dead|gone|closed|off)|are off|nicht mehr|keine? \w* ?mehr|kein\w* mehr|aufgehört|vorbei|vorüber|schluss|ya no|dejé|dejamos|se acabó|terminé|n(?:e|['’]\w+) (?:\w+ ){0,2}plus|arrêté|c['’]est fini|terminé|não \w+ mais|parei|larguei|acabou|já era|non \w+ più|smesso)\b",
    ),
    (
        "stop",
        r"\b(?:stop|quit|skip|drop|forget|no more|no need|(?:don['’]?t|dont|no longer) (?:have|need) to|hör auf|nicht mehr|deja de|ya no|arrête|para de|pode parar|não precisa)\b",
    ),
    (
        "called off",
        r"\b(?:cancel+\w*|call\w* off|postponed|moved (?:it|the|to)|after all|decided against|not going|aren['’]t coming|changed? (?:my|our) mind|fell through|abgesagt|verschoben|doch nicht|doch|cancel\w+|al final|annulé\w*|reporté\w*|finalement|cancelad\w+|adiad\w+)\b",
    ),
    (
        "lost",
        r"\b(?:sold|sell\w* (?:it|the|my|our|him|her)|gave (?:it|the|my|him|her|them)|got rid|lost|broke|left|died|passed away|put \w+ to sleep|retired?|resigned|handed in|fired|laid off|moved out|broke up|split|divorced|separated|ran away|is gone|no more|verkauft|gestorben|gekündigt|ausgetreten|getrennt|vendí|murió|vendu|mort|morreu|vendi|saiu|saí|morto|venduto)\b",
    ),
    (
        "came about",
        r"\b(?:passed|failed|bought|signed|closed on|got (?:the|my|a|it|married|engaged)|went well|was (?:beautiful|great|lovely|good|wonderful)|we did it|i did it|did it|are back|i['’]?m back|back from|arrived|was born|came|graduated|finished|married|won|made it|geschafft|bestanden|zurück|verheiratet|geboren|gekauft|aprobé|nació|compré|réussi|née?|acheté|passei|nasceu|comprei|deu certo)\b",
    ),
    (
        "now",
        r"\b(?:now|these days|nowadays|as of|since|from now on|from today|instead|new|switch\w*|chang(?:ed|es|ing)|moved|moving|started|start|became|become|turned|jetzt|inzwischen|neu\w*|seit|stattdessen|umgezogen|gewechselt|ahora|nuev\w+|desde|cambi\w+|mud\w+|maintenant|nouve\w+|depuis|déménagé|agora|nov[oa]|troquei|adesso|trasferit\w+)\b",
    ),
    (
        "again",
        r"\b(?:again|back (?:on|to|in|at)|made up|after all|(?:all )?healed|better|cleared|wieder|otra vez|de nuevo|vuelvo|à nouveau|re\w+commenc\w+|de novo|volt\w+|di nuovo)\b",
    ),
    (
        "allowed",
        r"\b(?:can|(?<!\d )(?<!st )(?<!nd )(?<!rd )(?<!th )(?<!of )(?<!in )(?<!by )may|fine|ok(?:ay)?|allowed|no (?:longer|more) (?:a )?secret|know\w* (?:now|about|it|everything)|told (?:him|her|them|everyone|everybody|my|mum|mom|mam)|not a secret|darfst|dürfen|wissen|puedes|ya sabe\w*|peux|sait|pode|sabe)\b",
    ),
    (
        "from now on",
        r"\b(?:from now on|from here on|in future|going forward|from today|next time|ab jetzt|ab sofort|künftig|a partir de|en adelante|désormais|dorénavant|de agora em diante|da ora)\b",
    ),
    (
        "always",
        r"\b(?:always|never|every|each|only|immer|nie|jede\w*|siempre|nunca|cada|toujours|jamais|chaque|sempre|todo|toda|usually|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|thurs|sats?|tues)\b",
    ),
    (
        "denied",
        r"\b(?:not|\w+n['’]t|dont|cant|doesnt|didnt|isnt|wont|no|never|none|nothing|without|hate|nicht|kein\w*|nie|nunca|sin|ne|n['’]\w+|pas|sans|não|sem|non|nada)\b",
    ),
    (
        "planned",
        r"\b(?:will|going to|gonna|plan\w*|booked|want to|wants to|hope|hoping|thinking of|next|saving|until|till|by the end|due|test|exam|wedding|trip|surgery|appointment|(?:on|in|the) (?:\d+|january|february|march|april|may|june|july|august|september|october|november|december)|werde\w*|nächst\w*|plane|gebucht|möchte|voy a|vamos|quiero|je vais|prochain\w*|vou|quero|marcad\w+)\b",
    ),
    (
        "order",
        r"^(?:\W|and |also |oh |ok(?:ay)?,? |so |but |then |yes,? |please |pls )*(?:please|stop|don['’]?t|do not|never|always|keep|use|write|give|answer|call|make|talk|remember|remind|no|only|just|you can|you may|u can|skip|start|spare|bitte|schreib\w*|antwort\w*|nenn\w*|kein\w*|contéstame|respond\w+|répond\w+|appel\w+|pode|me chama|fala)\b",
    ),
    ("you", r"\b(?:you|your|u|ur|du|dir|dich|sie|tú|te|vous|tu|você|vc)\b"),
    (
        "I",
        r"\b(?:i|i['’]\w+|im|ive|ill|my|me|we|our|us|ich|mein\w*|wir|yo|mi|mis|je|j['’]\w+|mon|ma|eu|meu|minha|nous|nosotr\w+|nós|\w+o)\b",
    ),
    (
        "date",
        r"\b\d{1,2}(?:st|nd|rd|th|\.)?\b|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b",
    ),
    (
        "secret",
        r"\b(?:secret|don['’]?t (?:tell|mention|bring)|do not (?:tell|mention)|never mention|nobody knows|not? a word|between us|geheim\w*|secreto|segredo|entre nous|não (?:fala|conta))\b",
    ),
    ("question", r"[?？]"),
)
CUES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(each, re.IGNORECASE)) for name, each in _CUES
)

#: Whom a sentence is about besides the person, by the word for them.
_OTHERS = re.compile(
    r"\b(wife|husband|sons?|daughters?|kids?|children|mum|mom|mam|dad|mother|father|brothers?|sisters?|boyfriend|"
    r"girlfriend|partner|nan|grand\w+|grandma|aunt|uncle|cousin|niece|nephew|parents|friend|neighbour|neighbor|boss|"
    r"colleague|roommate|frau|mann|sohn|tochter|mutter|vater|bruder|schwester|freundin|freund|madre|padre|hermana|"
    r"hermano|novia|novio|mère|père|sœur|frère|mãe|pai|irmã|irmão)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


class ComparedStatement(NamedTuple):
    """A statement to compare.  ``vector``: of unit length; ``slot``: empty where it fills none."""

    text: str
    vector: NDArray[np.float32]
    kind: Kind
    importance: int
    said_at: datetime
    slot: str = ""
    conversation_id: str = ""


class Read(NamedTuple):
    """Features of one statement, for any number of comparisons."""

    cues: tuple[bool, ...]
    words: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    others: frozenset[str]
    length: int


@lru_cache(maxsize=4_096)
def read(text: str) -> Read:
    """Return the features of a statement."""
    written = _WORD.findall(text)
    words = [each.casefold().replace("’", "'").removesuffix("'s") for each in written]
    return Read(
        tuple(pattern.search(text) is not None for _, pattern in CUES),
        frozenset(stem_of(each) for each in words),
        frozenset(
            word for word, each in zip(words, written, strict=True) if each[:1].isupper() and len(each) > 2
        ),
        frozenset(each for each in words if each[:1].isdigit()),
        frozenset(each.casefold().rstrip("s") for each in _OTHERS.findall(text)),
        len(words),
    )


def is_of_another(new: ComparedStatement, old: ComparedStatement) -> bool:
    """Return whether one of two statements is about a person whom the other does not mention: "my uncle sold his
    car" ends nothing of one's own, nor "I moved to Turin" that "my brother lives in Oslo".
    """
    if read(new.text).names & read(old.text).names:
        return False
    if _OF_ANOTHER.match(new.text) is not None and not read(old.text).others:
        return True
    is_own = _OWN.match(new.text) is not None and _OF_THEM.search(new.text) is None
    return is_own and _OF_ANOTHER.match(old.text) is not None and not read(new.text).others


_OWN = re.compile(r"(?:i|i['’]\w+|im|ive|ich|yo|je|j['’]\w+|eu)\b", re.IGNORECASE)
_OF_THEM = re.compile(
    r"\b(?:he|she|they|him|her|them|his|their|it|er|sie|ihn|ihm|él|ella|lo|la|il|elle|lui|ele|ela|dele|dela)\b",
    re.IGNORECASE,
)


#: "My uncle sold ...", but not "my wife and I ...".
_OF_ANOTHER = re.compile(
    rf"^(?:my|mein\w*|mi|mon|ma|meu|minha) {_OTHERS.pattern}\b(?! and i\b)(?!.*\b(?:i|we|me|us)\b)",
    re.IGNORECASE,
)
