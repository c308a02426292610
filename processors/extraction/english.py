"""The English that the tables need: conjugation, point of view, whether a text is English at all."""

from __future__ import annotations

import re


def anycase(pattern: str) -> re.Pattern[str]:
    """A pattern for which "Rome" is "rome", unless a part of it says ``(?-i:…)``."""
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def words(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENGLISH = words(
    "the i to a and you my is it of in for that i'm me on with have be at we was are this can do not "
    "but no so just like an please from what how your don't want if or as"
)
_FOREIGN = words(
    "der die das und ist nicht ich ein eine zu mit auf für im el la los las que de del y es un una "
    "con por le les et est pas je il di che non sono per een het van niet en op o os em não uma com "
    "og det som jag är på nie się na w z jest mein mi yo ja mijn min moj mes sa ce au lo gli della ik "
    "du wir sie"
)


def is_english(text: str) -> bool:
    """Whether ``text`` may be read as English: cheap, and no for every text with more of another language.

    Counts function words; names from elsewhere ("La Paz") do not outweigh a sentence, letters of another
    script do.
    """
    found = [word.lower().replace("’", "'") for word in _WORD.findall(text[:2000])]
    if sum(not word.isascii() for word in found) * 2 > len(found):
        return False
    return sum(word in _FOREIGN for word in found) <= sum(word in _ENGLISH for word in found)


_PRONOUNS = {
    **{"i": "they", "me": "them", "my": "their", "mine": "theirs", "myself": "themselves"},
    **{"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"},
    **{"i'm": "they're", "i've": "they've", "i'd": "they'd", "i'll": "they'll", "we're": "they're"},
    **{"i am": "they are", "we've": "they've", "i was": "they were"},
}
#: Upper case inside a sentence is a name ("My Neighbor Totoro"), except "I" and what begins with it.
_PRONOUN = re.compile(
    r"(?<![\w'’-])(?:(?:I|i) (?:am|was)|[Ii]['’](?:m|ve|d|ll)|I|i|my|mine|myself|me|we['’](?:re|ve)|we|ours?|us|"
    r"ourselves)(?![\w'’-]|\.[a-z])"
)


def third_person(text: str) -> str:
    """Turn the point of view: "with my sister" becomes "with their sister"."""
    return _PRONOUN.sub(lambda match: _PRONOUNS[match[0].lower().replace("’", "'")], text)


def conjugate(verb: str) -> str:
    """Return the third person singular of a verb in the present tense."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"


_DOUBLED = re.compile(r"^[^aeiou]*[aeiou][bdgmnprt]$")


def gerund(verb: str) -> str:
    """Return the ``-ing`` form: what one likes to do and what one likes doing is the same."""
    if verb.endswith("ing") and len(verb) > 5:
        return verb  # "to avoid eating" names it so already
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) and verb != "be":
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if len(verb) <= 4 and _DOUBLED.search(verb) else f"{verb}ing"


#: Irregular past forms that a person tells events with; regular ones end in "ed".
PAST = words(
    "went got bought saw met took made ran won lost sold built wrote taught flew drove rode swam "
    "broke fell hurt left began became gave had found held spent read caught drew sang did ate drank "
    "slept grew heard hit kept led paid put quit sent set shot sat spoke stood threw told understood "
    "woke wore came brought chose felt fought hung hid knew laid lent let lit rose said sewed shook "
    "shut stole stuck swept swore tore thought"
)
#: Participles that are no past forms: who has begun, began.
PARTICIPLES = words(
    "been begun broken chosen done drawn driven eaten fallen flown given gone grown ridden risen seen shown "
    "spoken stolen sung swum taken thrown torn woken worn written"
)
#: Past forms of what happens in the head or all the time: no events.
NO_EVENT = words(
    "had felt thought knew said told did kept let heard was were needed wanted loved liked hated "
    "enjoyed used seemed hoped wished cared realized realised noticed wondered decided guessed meant "
    "understood mentioned asked tried looked talked checked agreed missed came set put believed "
    "worried supposed remembered appreciated figured imagined assumed stayed saw found heard read "
    "expected spoke helped got made need feed"
)


def is_past(verb: str) -> bool:
    """Whether a verb after "I" is in the past tense."""
    return verb in PAST or (verb.endswith("ed") and len(verb) > 4 and verb not in ("need", "feed", "exceed"))


#: Base forms that are no nouns, and those that are verbs only before an object: "dance" may be either.
_ONLY_VERB = "eat|go|listen|sing|bake|read|write|watch|teach|learn|spend|take|make|see|explore|meet|follow|do|have|own|wear"
_ALSO_NOUN = "dance|run|walk|swim|work|travel|play|sleep|talk|drink|help|shop|cook|ride|drive|hike|visit|live|camp|paint|draw|plan"
#: A verb that goes on with what the one before it began.
VERB = rf"(?:(?:{_ONLY_VERB})(?= )|(?:{_ALSO_NOUN})(?= (?:an?|the|my|our|to|in|at|on|for|with|out|up|around|as|from|every)\b))"
#: What "an" stands before: an hour, an opera; but a European, a one-way ticket, a usual table.
VOWEL = anycase(
    r"(?!eu|ewe|onc?e\b|u(?:biq|ku|ni(?![mn])|s[aeu]|ti|topi))[aeiou]|h(?:eir|onest|onou?r|ours?\b)"
)
