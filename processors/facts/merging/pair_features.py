"""Features of a pair of a person's statements that tell whether the later one ends the earlier.

Names, brands and topics are no features; what a pair has is a number between about -2 and 3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
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
_WEEK = 7.0


class Said(NamedTuple):
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


def is_of_another(new: Said, old: Said) -> bool:
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


def rarity(words: frozenset[str], weights: Mapping[str, float], unknown: float) -> float:
    """Return how rare words are, together."""
    return sum(weights.get(each, unknown) for each in words)


#: What a pair has besides the cues of both, in this order.
PAIR = (
    "cosine",
    "cosine squared",
    "far",
    "gap to the nearest",
    "rank",
    "shared",
    "most shared",
    "share of old",
    "share of new",
    "gap to most shared",
    "names",
    "numbers",
    "other numbers",
    "turned",
    "same kind",
    "same slot",
    "one conversation",
    "hours",
    "weeks",
    "old length",
    "new length",
    "old importance",
    "new importance",
    "others shared",
    "others in old",
    "others in new",
    "shared others differ",
)
#: Cues and numbers whose products are features as well: what is so of the old with what is so of the new.
CROSSED_NEW = (
    "over",
    "stop",
    "called off",
    "lost",
    "came about",
    "now",
    "again",
    "allowed",
    "from now on",
    "denied",
    "order",
)
CROSSED_WITH = (
    "cosine",
    "shared",
    "gap to the nearest",
    "gap to most shared",
    "turned",
    "old planned",
    "old order",
    "old secret",
    "old always",
    "old denied",
    "same kind",
)


def names() -> list[str]:
    """Return the names of the features, in order."""
    cues = [name for name, _ in CUES]
    kinds = [kind.value for kind in Kind]
    plain = [*PAIR, *(f"old {each}" for each in cues), *(f"new {each}" for each in cues)]
    plain += [*(f"old is {each}" for each in kinds), *(f"new is {each}" for each in kinds)]
    crossed = [f"new {new} × {other}" for new in CROSSED_NEW for other in CROSSED_WITH]
    more = [
        f"{one} × {other}"
        for one in ("old is instruction", "old is event", "old is relation")
        for other in ("cosine", "shared", "new order", "new came about", "new allowed", "same kind", "weeks")
    ]
    more += [
        "cosine × shared",
        "cosine × gap to the nearest",
        "cosine × names",
        "cosine × same kind",
        "cosine × turned",
        "shared × gap to most shared",
    ]
    return plain + crossed + more


def features(
    new: Said, others: Sequence[Said], weights: Mapping[str, float], unknown: float
) -> NDArray[np.float32]:
    """Return the features of a statement with each of the earlier ones, shape ``(others, features)``."""
    now = read(new.text)
    cosines = np.array([float(new.vector @ each.vector) for each in others])
    shared = [now.words & read(each.text).words for each in others]
    common = np.array([rarity(each, weights, unknown) for each in shared])
    order = np.argsort(np.argsort(-cosines))
    whole = max(rarity(now.words, weights, unknown), 1.0)
    rows = []
    for at, old in enumerate(others):
        was = read(old.text)
        rare = max((weights.get(each, unknown) for each in shared[at]), default=0.0)
        days = max(0.0, (new.said_at - old.said_at).total_seconds() / 86_400)
        numbers = now.numbers & was.numbers
        values = dict(
            zip(
                PAIR,
                (
                    cosines[at],
                    cosines[at] ** 2,
                    min(cosines[at], 0.3),
                    cosines[at] - cosines.max(),
                    1.0 / (1.0 + order[at]),
                    common[at] / 10,
                    rare / 5,
                    common[at] / max(rarity(was.words, weights, unknown), 1.0),
                    common[at] / whole,
                    (common[at] - common.max()) / 10,
                    min(len(now.names & was.names), 2),
                    min(len(numbers), 2),
                    min(len(now.numbers ^ was.numbers), 3) / 3,
                    now.cues[_DENIED] != was.cues[_DENIED],
                    old.kind is new.kind,
                    bool(old.slot) and old.slot == new.slot,
                    bool(old.conversation_id) and old.conversation_id == new.conversation_id,
                    days < 0.1,
                    math.log1p(days / _WEEK) / 3,
                    math.log1p(was.length) / 3,
                    math.log1p(now.length) / 3,
                    old.importance / 3,
                    new.importance / 3,
                    bool(now.others & was.others),
                    bool(was.others),
                    bool(now.others),
                    bool(now.others) != bool(was.others),
                ),
                strict=True,
            )
        )
        values |= {f"old {name}": has for (name, _), has in zip(CUES, was.cues, strict=True)}
        values |= {f"new {name}": has for (name, _), has in zip(CUES, now.cues, strict=True)}
        values |= {f"old is {kind.value}": old.kind is kind for kind in Kind}
        values |= {f"new is {kind.value}": new.kind is kind for kind in Kind}
        for name in _NAMES[len(values) :]:
            one, _, other = name.partition(" × ")
            values[name] = float(values[one]) * float(values[other])
        rows.append([float(values[name]) for name in _NAMES])
    return np.array(rows, dtype=np.float32).reshape(len(others), len(_NAMES))


#: Features that are multiplied with the probability that the later statement ends anything, and with its logit.
LIKELY_WITH = (
    "cosine",
    "gap to the nearest",
    "rank",
    "shared",
    "gap to most shared",
    "old planned",
    "old secret",
    "names",
    "same kind",
)
LOGIT_WITH = ("cosine", "rank")


def with_telling(rows: NDArray[np.float32], logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Add to the features of pairs whether the later statement ends anything, as the logit of it, one a row."""
    likely = np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float32)
    products: list[NDArray[np.float32]] = [likely * rows[:, _NAMES.index(name)] for name in LIKELY_WITH]
    products += [logits * rows[:, _NAMES.index(name)] for name in LOGIT_WITH]
    return np.asarray(np.column_stack([rows, logits, likely, *products]), dtype=np.float32)


_DENIED = [name for name, _ in CUES].index("denied")
_NAMES = names()
