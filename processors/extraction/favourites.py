"""What is preferred, and what is named as liked: "my favourite colour is blue", "I prefer jazz", "put on Radio Nord".

A name begins with a capital inside of a sentence.  Its subject is that of the words around it, or what was spoken
of before.
"""

from __future__ import annotations

import re

from processors.extraction.clauses import NO_MORE, Clause, Mood
from processors.extraction.drafts import AFFIRMED, ENDED, NEGATED, Draft, say
from processors.extraction.english import anycase, gerund, words
from processors.extraction.predicates import ASKED, LIKED, TOLD
from processors.extraction.tastes import bare_name, named_topic, preference, preferred, tells_class, topic_of
from processors.extraction.values import clean, points_at_one, with_article

#: Nouns that say nothing without what they are of: "I love the colour".
BARE_NOUN = anycase(
    r"making (?:a|the) difference|(?:\w+ )?(?:colou?rs?|details?|textures?|genre|songs?|track|vibes?|energy|looks?|pics?|pictures?|photos?|designs?|styles?|spirit|passion|"
    r"attitude|atmosphere|places?|spots?|names?|views?|quotes?|combo|tattoo|outfit|patterns?|results?|moments?|feeling|choices?|sound|support|"
    r"words|advice|suggestions?|thoughts?(?: \w+)?|dedication|positivity|creativity|work|job|team|story|stories|memories|journey|process|challenges?|experiences?|"
    r"relaxing|talking|escaping|trying|seeing|being|making|helping|getting|having|doing|going|adding|taking|giving|putting)"
)
_FAVOURITE = anycase(
    r"(?:(?:all[- ]time|absolute|personal|new|current) )?(?:fav(?:ou?rite|e)?s?|go-to|preferred|usual|preference)(?: (?P<x>[\w -]+?)(?P<y> to \w[\w ]*)?)?$"
)

#: "My favourite one to hum" is one of what was spoken of before.
_OF_SOME = anycase(r"(?:ones?|thing|part|bit|way) \w")


def favourite(clause: Clause) -> list[Draft] | None:
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
    assertion = clause.assertion
    if not topic:
        sentence = say(f"like {value}", polarity=polarity, assertion=assertion)
        return Draft("like", value, sentence, TOLD, polarity=polarity, assertion=assertion)
    slot = named_topic(value, topic) if topic in ("song", "album", "track", "tune", "station") else topic
    holds = "no longer " if assertion is ENDED else "not " if polarity is NEGATED else ""
    sentence = f"Favourite {topic} is {holds}{with_article(clause.rest, value)}"
    return Draft(f"favourite/{slot}", value, sentence, TOLD, polarity=polarity, assertion=assertion)


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
    assertion = clause.assertion
    is_verb = ((groups.get("to") and "avoid" not in turned) or groups.get("not_to")) and not groups.get("verb")
    if is_verb and read is not None and read.topic and read.value.startswith(f"{verb} "):
        value = value[len(verb) + 1 :]  # "not to watch any westerns": the subject tells what is done
        read = preferred(value)
    is_untold = points_at_one(with_article(match["v"], value)) and not topic_of(value)
    if read is not None and read.topic and not (is_verb and read.value.casefold() == verb.casefold()):
        shown = read.phrase if read.phrase.startswith(("to ", f"{value} ")) else with_article(match["v"], value)
        attribute, value, sure = f"favourite/{read.topic}", read.value, TOLD
    elif verb in _BARE or is_untold or (" " not in value and tells_class(value)):
        return []
    else:
        attribute, sure = "like", LIKED
        value = f"{gerund(verb.lower())}{value[len(verb) :]}" if is_verb else value
        shown = value if is_verb else with_article(match["v"], value)
    sentence = say(f"prefer {shown}", polarity=polarity, assertion=assertion)
    if turned and polarity is NEGATED:
        sentence = f"Prefers not {shown}" if shown.startswith("to ") else f"Avoids {shown}"
    return [Draft(attribute, value, sentence, sure, polarity=polarity, assertion=assertion)]


_BARE = words("song way go keep make have get start stay do it")


_NEXT = r"(?!(?:I|It|He|She|They|The|That|This|Can|Could|Her|His|My|You|We)(?:'\w+)?\b)"
_NAME = rf"(?-i:[A-Z])[\w&'-]*(?-i:[a-z])[\w&'-]*(?: (?:(?:of|the|de|la|von|van|by|and|&|(?:with|in|on|to) the) )?(?:{_NEXT}(?-i:[A-Z])[\w&'.-]*|\d+(?:\.\d+)?)(?!\w)){{0,4}}"
_BEST = r"(?:fav(?:ou?rite|e)s?|go-to|preferred|usual)"
_WORK = rf"(?-i:[A-Z])[^,.?!:;\"]{{1,50}}? by {_NAME}"

# fmt: off
#: How something is named: what it looks like, and whether it is told to be the favourite.  ``{v}``: the name.
_ROWS: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (anycase(pattern), told)
    for pattern, told in (
        (rf"\bmy (?:(?:all-time|absolute|personal|current|own) )*{_BEST}(?P<x>(?: (?!is\b|are\b)[a-z-]+){{0,3}}?)(?:,? (?:is|are|it's|which is|called|named))? (?P<v>(?-i:(?!I\b)){_WORK}|{_NAME})", True),
        (rf"\bmy (?:(?:all-time|absolute|personal|current|own) )*{_BEST}(?: (?!is\b|are\b)[a-z-]+){{0,3}}?,(?: it's)? (?P<v>{_WORK})", True),
        (rf"\b(?<!one )(?<!body )(?<!friend )(?<!guy )(?<!man )(?<!woman )(?<!girl )(?:called|named) (?P<v>{_WORK}|{_NAME})", False),
        (rf"\b(?:latest|newest|next|new|last|more|some) (?P<v>{_NAME})(?= (?:episodes?|news|updates?|albums?|shows?|podcasts?|songs?|music|tracks?)\b)", False),
        (rf"\b(?:eat|fill up|refuel|charge|shop|dine)(?:ing)? at (?P<v>{_NAME})", False),
        (rf"\b(?:part of|on|within|in) the (?P<v>{_NAME}) network\b", False),
        (rf"\b(?:specifically|especially|something like|informative like) (?P<v>{_NAME})", False),
        (rf"\b(?:play(?:ing)?|hear|listen(?:ing)? to|put on|album|songs?|tracks?|tunes?|like|over|love|enjoy|replaying)\b[^.?!]{{0,30}}? ['\"‘“]?(?P<v>{_WORK})", False),
    )
)
#: "... that's my favourite", "... make it my favourite": of what was named before it.
_LIKED_SO = anycase(
    rf"\b(?:(?:make|set|keep) (?:that|it|this|them)(?: (?:as|to be))?|(?:that|it|he|she|they|this|these|those)(?:'s|'re| is| are| has been|'s been)(?: (?:still|definitely|always|just|been))*) (?:my|our)(?: new)? (?:(?:all-time|absolute|personal) )*{_BEST}(?P<x>(?: [a-z-]+){{0,3}})")
# fmt: on
_LAST_NAME = re.compile(rf"{_WORK}|{_NAME}")
#: Nothing is meant by these but the beginning of a sentence, a day, or oneself.
_NO_NAME = re.compile(
    r"(?:I|I'\w+|Can|Could|Would|Please|Play|Find|The|It|That|This|Yes|No|Also|Set|And|But|Thanks?|What|Where|How|Is|Are|Do|"
    r"Hey|Hi|My|We|You|Let's|Switch|Add|Start|Use|Show|Make|Just|Actually|Sure|Ok(?:ay)?|He|She|They|Now|Great|Perfect|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|"
    r"November|December|English)\b"
)


#: A denial is that of a name if it stands no more than this many words before it.
_NEAR = 7
DENIED = anycase(
    r"\b(?:not(?! only)|never(?! (?:get )?(?:tired|bored|sick)\b)|over|done with|(?<!never get )(?<!never )tired of|without|avoid|skip(?! (?:ahead )?to\b)|exclude|stop|remove|disable|no longer|(?:other|rather) than|instead of)\b|n't\b"
)


def _is_name(found: re.Match[str]) -> bool:
    """The first word of a sentence is a capital whatever it is: a name is known by a second one."""
    if _NO_NAME.match(found[0]) or found[0].split(" ", 1)[0].endswith("ly"):
        return False
    begins = found.string[: found.start()].rstrip("\"'“ ")[-1:] in ("", ".", "!", "?")
    return not begins or " " in found[0] or not found[0][1:].islower()


def named(sentence: str, before: str, subject: str) -> Draft | None:
    """Return what a sentence names as liked or wanted.

    ``before``: what the person said before it in the same message; ``subject``: of which taste was spoken last.
    """
    topic = topic_of(sentence, topic_of(before, subject))
    for pattern, told in _ROWS:
        match = pattern.search(sentence)
        if match is None or _NO_NAME.match(match["v"]):
            continue
        name = bare_name(match["v"])
        if not (told or named_topic(name, topic)):
            continue
        if (of := (match.groupdict().get("x") or "").strip()) and not topic_of(of):
            topic = of  # "my favourite character is ...", whatever was spoken of before
        near = [*sentence[: match.start()].split()[-_NEAR:], sentence[match.start() : match.start("v")]]
        return _of_name(
            name, named_topic(name, topic), told, sentence, DENIED.search(" ".join(near)) is not None
        )
    if (so := _LIKED_SO.search(sentence)) is not None:
        earlier = f"{before} {sentence[: so.start()]}"
        names = [bare_name(each[0]) for each in _LAST_NAME.finditer(earlier) if _is_name(each)]
        if names:
            return _of_name(names[-1], named_topic(names[-1], topic_of(so["x"]) or topic), True, sentence)
    return None


def _of_name(name: str, topic: str, told: bool, sentence: str, denied: bool = False) -> Draft:
    attribute = f"favourite/{topic}" if topic else "like"
    if denied and NO_MORE.search(sentence):
        return Draft(attribute, name, f"No longer likes {name}", LIKED, assertion=ENDED)
    if denied:
        return Draft(attribute, name, f"Avoids {name}", LIKED, polarity=NEGATED)
    if told:
        return Draft(attribute, name, f"Favourite {topic} is {name}" if topic else f"Likes {name}", TOLD)
    says, sure = ("Likes", LIKED) if _FOND.search(sentence) else ("Asks for", ASKED)
    return Draft(attribute, name, f"{says} {name}", sure)


_FOND = anycase(
    r"\bi(?:'m|'ve| am| have)?(?: been| just| really| so| quite)* (?:always|usually|often|never get tired|love|like|enjoy|prefer|"
    r"into|following|adore|hooked|replaying|can't get enough)\b|\bfav(?:ou?rite|e)\b"
)
