"""What a person has a taste for by name: "my favourite station is Radio Nord", "Nightfall by Ana Lund, I love it".

A name begins with a capital inside of a sentence.  Its subject is that of the words around it, or what was spoken
of before.
"""

from __future__ import annotations

import re

from processors.extraction.clauses import NO_MORE
from processors.extraction.drafts import ENDED, NEGATED, Draft
from processors.extraction.english import anycase
from processors.extraction.predicates import ASKED, LIKED, TOLD
from processors.extraction.tastes import bare_name, named_topic, topic_of

_NEXT = r"(?!(?:I|It|He|She|They|The|That|This|Can|Could|Her|His|My|You|We)(?:'\w+)?\b)"
_NAME = rf"(?-i:[A-Z])[\w&'-]*(?-i:[a-z])[\w&'-]*(?: (?:(?:of|the|de|la|von|van|by|and|&) )?(?:{_NEXT}(?-i:[A-Z])[\w&'.-]*|\d+(?:\.\d+)?)(?!\w)){{0,4}}"
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
        (rf"\b(?:play|hear|listen(?:ing)? to|put on|album|songs?|tracks?|tunes?|like|over|love|enjoy|replaying)\b[^.?!]{{0,30}}? ['\"‘“]?(?P<v>{_WORK})", False),
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
        if match is None or _NO_NAME.match(match["v"]) or not (told or topic):
            continue
        name = bare_name(match["v"])
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
