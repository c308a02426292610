"""What a person says of what is his: "my name is", "my exam is on Friday", and what he prefers."""

from __future__ import annotations

import re
from datetime import datetime

from models.statements import SELF
from processors.extraction import predicates
from processors.extraction.clauses import Clause, Mood
from processors.extraction.drafts import AFFIRMED, CORRECTED, ENDED, HOLDS, NEGATED, Draft, date_of, dated, say
from processors.extraction.english import anycase, gerund, words
from processors.extraction.tastes import named_topic, preference, preferred, tells_class, topic_of
from processors.extraction.values import clean, points_at_one, with_article

#: Nouns that say nothing without what they are of: "I love the colour".
BARE_NOUN = anycase(
    r"(?:\w+ )?(?:colou?rs?|details?|textures?|genre|songs?|track|vibes?|energy|looks?|pics?|pictures?|photos?|designs?|styles?|spirit|passion|"
    r"attitude|atmosphere|places?|spots?|names?|views?|quotes?|combo|tattoo|outfit|patterns?|results?|moments?|feeling|choices?|sound|support|"
    r"words|advice|suggestions?|thoughts?(?: \w+)?|dedication|positivity|creativity|work|job|team|story|stories|memories|journey|process|challenges?|experiences?|"
    r"escaping|trying|seeing|being|making|helping|getting|having|doing|going|adding|taking|giving|putting)"
)
_FAVOURITE = anycase(
    r"(?:(?:all[- ]time|absolute|personal|new|current) )?(?:fav(?:ou?rite|e)?s?|go-to|preferred|usual|preference)(?: (?P<x>[\w -]+?)(?P<y> to \w[\w ]*)?)?$"
)

#: "My favourite one to hum" is one of what was spoken of before.
_OF_SOME = anycase(r"(?:ones?|thing|part|bit|way) \w")


def told_of_own(clause: Clause) -> list[Draft] | None:
    """ "My favourite colour is blue"."""
    favourite = _FAVOURITE.fullmatch(clause.subject)
    if favourite is None or clause.mood not in (Mood.BE, Mood.WAS):
        return None
    value = clean(clause.rest, words=7)
    if not value or clause.mood is Mood.WAS or _OF_SOME.match(f"{favourite['x']}{favourite['y'] or ''}"):
        return []
    return [favourite_of(favourite["x"] or "", value, clause)]


def favourite_of(topic: str, value: str, clause: Clause) -> Draft:
    """A favourite by its subject: the named one, or that of the value."""
    topic = clean(topic.lower(), words=3)
    named = preference(f"{value} {topic}".strip())
    if named is not None and named.topic and len(topic.split()) <= 1:
        topic = named.topic
    polarity = NEGATED if clause.negated else AFFIRMED
    assertion = ENDED if clause.ended else CORRECTED if clause.corrects else HOLDS
    if not topic:
        sentence = say(f"like {value}", polarity=polarity, assertion=assertion)
        return Draft("like", value, sentence, predicates.TOLD, SELF, polarity, assertion)
    slot = named_topic(value, topic) if topic in ("song", "album", "track", "tune", "station") else topic
    holds = "no longer " if assertion is ENDED else "not " if polarity is NEGATED else ""
    sentence = f"Favourite {topic} is {holds}{with_article(clause.rest, value)}"
    return Draft(f"favourite/{slot}", value, sentence, predicates.TOLD, SELF, polarity, assertion)


_PREFERS = anycase(
    r"(?:prefer|favou?r|opt for)(?P<to> to)? (?P<not>(?:to )?(?:avoid(?:ing)?|not(?P<not_to> to)?) )?(?:only )?(?P<verb>(?:have|use|take|see|be|using|taking|having|listening to) )?(?P<v>.*)",
)
#: "I always park on the street" prefers it; "I always forget" does not.
_USES = anycase(
    r"(?:(?:use|choose|pick|take|listen to|go for|go with|stick to|rely on) |(?=(?:park|pay|charge|fill up|refuel|fly|shop) ))(?P<v>.*)",
)
_ALTERNATIVE = anycase(
    r" to (?=\w+ing\b)| over (?!(?:\d|an? |one |two|three|four|five|ten|half))| rather | instead | compared | than (?!(?:\d|an? |one |two|three|four|five|ten|half))"
)


def prefers(clause: Clause) -> list[Draft] | None:
    match = _PREFERS.match(clause.rest)
    if match is None and clause.adverbs & {"always", "only", "usually", "exclusively"}:
        match = _USES.match(clause.rest)
    if match is None:
        return None
    value = clean(_ALTERNATIVE.split(match["v"], maxsplit=1)[0], words=10)
    if not value or (" " not in value and BARE_NOUN.fullmatch(value)):
        return []
    read, groups, verb = preferred(value), match.groupdict(), value.split(" ", 1)[0]
    turned = groups.get("not") or ""  # "I prefer to avoid motorways", "I prefer not to drive"
    polarity = NEGATED if clause.negated is not bool(turned) else AFFIRMED
    assertion = ENDED if clause.ended else HOLDS
    is_verb = ((groups.get("to") and "avoid" not in turned) or groups.get("not_to")) and not groups.get("verb")
    if is_verb and read is not None and read.topic and read.value.startswith(f"{verb} "):
        value = value[len(verb) + 1 :]  # "not to watch any westerns": the subject tells what is done
        read = preferred(value)
    is_untold = points_at_one(with_article(match["v"], value)) and not topic_of(value)
    if read is not None and read.topic and not (is_verb and read.value.casefold() == verb.casefold()):
        shown = read.phrase if read.phrase.startswith(("to ", f"{value} ")) else with_article(match["v"], value)
        attribute, value, sure = f"favourite/{read.topic}", read.value, predicates.TOLD
    elif verb in _BARE or is_untold or (" " not in value and tells_class(value)):
        return []
    else:
        attribute, sure = "like", predicates.LIKED
        value = f"{gerund(verb.lower())}{value[len(verb) :]}" if is_verb else value
        shown = value if is_verb else with_article(match["v"], value)
    sentence = say(f"prefer {shown}", polarity=polarity, assertion=assertion)
    if turned and polarity is NEGATED:
        sentence = f"Prefers not {shown}" if shown.startswith("to ") else f"Avoids {shown}"
    return [Draft(attribute, value, sentence, sure, SELF, polarity, assertion)]


_BARE = words("song way go keep make have get start stay do it")


def own_occasion(clause: Clause, said_at: datetime) -> list[Draft]:
    """ "My dog is called Rex", "my exam is on Friday"."""
    named = re.match(r"(?:called|named) (?P<v>[A-Z]\w+)", clause.rest)
    if named is not None and predicates.PET.fullmatch(clause.subject):
        value = f"{clause.subject} named {named['v']}"
        return [Draft("pet", value, f"Has a {value}", predicates.TOLD)]
    is_held = clause.mood in (Mood.BE, Mood.WAS) and not clause.negated
    if not is_held or not predicates.OCCASION.fullmatch(clause.subject):
        return []
    date, left = date_of(clause.rest, clause.rest, said_at, ahead=clause.mood is Mood.BE)
    if date is None or len(left.split()) > 3:
        return []
    attribute = "event" if clause.mood is Mood.WAS or date.at < said_at.replace(hour=0) else "plan"
    sentence = f"{clause.subject[0].upper()}{clause.subject[1:]} {dated(date)}"
    return [Draft(attribute, clause.subject, sentence, predicates.HAPPENED, date=date)]
