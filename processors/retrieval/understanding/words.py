"""The words of English, German, Spanish and French by which references are found."""

from __future__ import annotations

import re
from enum import Enum

from processors.text.languages import FUNCTION_WORDS
from processors.text.lexicon import EITHER, MEN, MONTHS, WEEKDAYS, WOMEN

#: What a word can stand for.  PERSON: a woman or a man; ANY: a person or a thing, such as German "er".
Kind = Enum("Kind", "WOMAN MAN PERSON SEVERAL THING PLACE ANY")
_PEOPLE = Kind.WOMAN, Kind.MAN, Kind.PERSON
FITS = {Kind.WOMAN: _PEOPLE[::2], Kind.MAN: _PEOPLE[1:], Kind.ANY: _PEOPLE}
_PRONOUNS = {
    "en": "WOMAN she|her|hers; MAN he|him|his; SEVERAL they|them|their|theirs; PLACE there; "
    "THING it|its|that one|this one|the other one|the first one|the second one|that|this",
    "de": "ANY er|ihn|ihm|sie; PLACE dort|dorthin",
    "es": "WOMAN ella; MAN él; SEVERAL ellos|ellas; PLACE allí|allá",
    "fr": "ANY elle|il|lui; SEVERAL ils|elles; PLACE là-bas",
}
KINDS = {
    language: {
        word: Kind[row.split()[0]] for row in table.split("; ") for word in row.partition(" ")[2].split("|")
    }
    for language, table in _PRONOUNS.items()
}
#: Stand for a person whatever else the question says; the others are often empty ("it rains", "they say").
PERSONAL = frozenset("she her hers he him his er ihn ihm sie ella él elle il lui".split())
FOUND = {
    language: re.compile(rf"(?<!\w)(?:{'|'.join(sorted(table, key=len)[::-1])})(?![\w'])", re.I)
    for language, table in KINDS.items()
}
#: Nothing that was said is meant: "what time is it", "is there a bus", "they say", "il y a".
EMPTY = re.compile(
    r"\b(?:is|was|are|were|isn't|aren't|will|would|who'?s|any(?:one|body)|some(?:one|body)|you|hi|hello|hey|out|in|up|over|down|back|right|been) there\b|\bthere(?:'s| is| are| was| were| will|"
    r" has| have| a| any| be| such)\b|\bwhat (?:time|day|date|year) is it\b|\bhow(?:'s| is) it going\b|\bit(?:'s| is| was)? (?:is |be |getting )?(?:rain|snow|sunn|cold|hot|warm|dark|late|early|"
    r"time|take|possible|ok|okay|worth|true|normal|safe to|feel|seem|better|best|legal|mean to|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\w*|\b(?:do|did) they (?:say|call|make)\b|\b(?:that|"
    r"this) (?!one\b|mean|work|is\b|was\b|about\b|do\b|come\b|cost)[a-z]|\b(?:so|like|than|all|but|believe|know|think|say|says|sure|sorry) (?:that|this)\b|\bil (?:y a|faut|fait|pleut|neige|"
    r"est (?:possible|vrai|l'heure))\b|\b(?:y a|faut|pleut|neige|fait|est|quelle heure est)-?(?:t-)?il\b",
    re.I,
)
_OWNER = r"(?i:my|our|your|his|her|their|the|a|an|mein|meine[mnrs]?|unsere?[mnrs]?|deine?[mnrs]?|seine?[mnrs]?|eine?[mnrs]?|mi|mis|tu|su|nuestr[oa]s?|un|una|el|la|mon|ma|mes|notre|nos|ton|ta|son|sa|une|le)"
_KIN = {
    "several": r"parents|children|kids|friends|colleagues|neighbou?rs|sisters|brothers|cousins|grandparents|sons|daughters|dogs|cats|eltern|kinder|freunde|großeltern|padres|hijos|hijas|amigos|hermanos|enfants|amis",
    "woman": rf"(?:step|grand)?(?:sister|mother|daughter)|{'|'.join(WOMEN)}|woman|girl|lady|queen|chefin|ärztin|nachbarin|"
    r"lehrerin|jefa|vecina|voisine|cheffe",
    "man": rf"(?:step|grand)?(?:brother|father|son)|{'|'.join(MEN)}|guy|boy|king|chef|arzt|nachbar|lehrer|jefe|vecino|voisin",
    "either": rf"{'|'.join(EITHER)}|coworker|teacher|doctor|dentist|therapist|manager|landlord|landlady|nurse|patient|person|"
    r"student|author|president|baby|child|dog|cat|horse|rabbit|hamster|puppy|kitten|pet|hund|katze|kind|perro|perra|gato|gata|"
    r"chien|chienne|chat",
}
_PARTS = "|".join(f"(?P<{part}>{found})" for part, found in _KIN.items())
#: A person or pet by their part in a life, and their name if it follows.
KIN = re.compile(
    rf"\b(?P<owner>{_OWNER} (?:[\w-]+ )??|(?=(?i:mum|mom|mama|dad|papa|grandma|grandpa|nan|oma|opa|mamá|papá|maman)\b))(?i:{_PARTS})\b"
    r"(?:(?:,? (?:is )?(?:called|named)|,|'s name is|'s called| heißt| se llama| s'appelle)? (?P<name>[A-ZÀ-Þ][\w-]+))?"
)
#: "Anna, my sister", "Anna is my sister".
CALLED = re.compile(rf"\b(?P<name>[A-ZÀ-Þ][\w-]+)(?:,| is| ist| es| est) {_OWNER} (?i:{_PARTS})\b")
NAME = re.compile(
    r"(?:\b(?P<before>(?:(?:In|At|To|From|With)\b|[a-zà-ÿ'][\w']*)) )?(?P<name>\b[A-ZÀ-Þ][a-zà-ÿ]+(?: [A-ZÀ-Þ][a-zà-ÿ]+)?)\b"
)
#: What a name does that a sentence begins with.
DOES = re.compile(r" (?:is|was|has|had|will|wants|came|said|[a-z]+es|works|ist|hat|est|a|[a-z]+ed)\b")
NEAR = frozenset("in at to near around through towards left visit visited nach en à a dans aus from de".split())
#: Capitalized, and nobody's name.
NO_NAMES = frozenset(
    "christmas easter english german french spanish "
    "qu ok okay yes no hi hello hey thanks thank please sorry oh well great good nice sure let here every all most these those maybe actually today tomorrow yesterday god mr mrs dr guess "
    "remember give show write make translate noted congratulations".split()
).union(WEEKDAYS, MONTHS, *FUNCTION_WORDS.values())
#: As it is told back to who said it.
TURNED = dict(
    each.split("/") for each in "my/your our/your mein/dein meine/deine mi/tu mon/ton ma/ta mes/tes".split()
)
THING = re.compile(r"\b(?:my|the|a|an|your|this|that|our) (?P<thing>[a-z][a-z-]+(?: [a-z]+)?)\b")
NO_THINGS = FUNCTION_WORDS["en"].union(
    "bit lot while few couple way time day days week month year thing things kind sort moment minute hour evening morning night afternoon weekend one other same most best first last next only "
    "idea question good great nice little new near after before broke fell came went today yesterday tomorrow around".split()
)
#: An occasion or a thing of one's own, which a plain question with "the" leaves open.
_OCCASIONS = (
    r"concert|gig|meeting|party|appointment|wedding|dinner|lunch|trip|flight|interview|exam|conference|presentation|rehearsal|reception|workshop|ceremony|match|festival|recipe|restaurant|hotel|"
    r"tickets?|package|parcel|invoice|deadline|konzert|termin|treffen|party|hochzeit|flug|reise|prüfung|besprechung|restaurant|hotel|concierto|reunión|fiesta|cita|boda|viaje|vuelo|examen|"
    r"restaurante|réunion|fête|rendez-vous|mariage|voyage|vol|examen"
)
#: "When is the concert?", "Wo ist die Hochzeit morgen?": who asks wants to know it of one that is known.
OCCASION = re.compile(
    r"^\W*(?:so |and |und |y |et )?(?:when|where|what time|how (?:much|long)|wann|wo|um wie viel uhr|(?:a qué )?(?:hora|cuándo|dónde)|quand|où|à quelle heure)(?:'s| is| are| was| were| does| do|"
    r" did| will| ist| sind| war| beginnt| fängt| es| está| son| fue| era| empieza| est| était| commence)+ "
    rf"(?P<words>(?:the|der|die|das|el|la|los|las|le|les|l['’]) ?(?P<noun>{_OCCASIONS}))"
    r"(?: (?:start|begin|end|take place|happen|over|again|tomorrow|tonight|today|be|held|on|at|an|morgen|heute|nochmal|denn|mañana|hoy|demain|déjà|leave|arrive|land|cost))*\W*$",
    re.I,
)
