"""What fills a slot: cut out of a sentence, short, and readable without it."""

from __future__ import annotations

import re

from processors.extraction.english import VERB, VOWEL, third_person

#: From here on it is another clause.
_CUT = re.compile(
    r"\s*(?:,(?!\d{3})|[;(\[{…!?]|:(?!\w)|\.{2,}|(?<!\bSt)(?<!\bMt)(?<!\bDr)(?<!\bMr)\.(?:\s|$)|\s[-–—]{1,2}\s|[-–—]{1,2}\s(?!and\b|or\b)|\s(?:because|'?cause (?:i|it|we|they|my)|cuz|since|as (?:it|i|they|long|much|well)|"
    r"when(?:ever)?|while|so (?:that|i|we|it|can|could|please|let|what|how|maybe|never|don't|no|always|they|he|she|you|when)|but|which|who|whose|where|if|"
    r"unless|although|though|even|after i|before i|until|that(?:'s)?|and (?:i|it|we|my|they|that|he|she|you|then|"
    r"am|was|were|have|has|is|are|can|could|so|now|would|want|need|also|how|what|the way|(?:strongly |really )?(?:love|like|enjoy|prefer|dislike|hate)|just|only|this|"
    rf"these|think|avoid|don't|make|find|please|get|look|keep|{VERB})(?:'\w+)?|or (?:something|so|whatever)|it's|i'm|i|"
    r"i've|especially|can you|could you|please|just (?:give|get|find|take|show|tell)|rather than|instead of|lol|haha)\b)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:\s+|^)(?:a (?:whole )?(?:lot|bit|ton|while)|so much|very much|too(?: much)?|as well|though|these days|nowadays|right now|"
    r"just now|now|lately|recently|currently|at the moment|again|please|lol|haha|tbh|honestly|actually|"
    r"you know|for sure|at all|the (?:most|best)|most of all|more than anything|in general|generally|for now|"
    r"already|instead|today|together|around here|nearby|any ?more|any longer|no more|either|anyway|personally|"
    r"dear|thanks|thank you|from now on|all the time|always|and|or|also|even|just|very|so|really|since|still|yet|"
    r"quite|almost|alot|specifically|next|(?:pretty )?soon|(?:to )(?:death|bits|pieces)|best of all(?: .*)?|"
    r"dude|sir|there|from time to time|temporarily|better|best|beginning|starting|scheduled|coming up|planned|each|"
    r"for (?:me|us)|permanently|for good|going forward|every time|in the future|in future|next time|tonight)$",
    re.IGNORECASE,
)
_DETERMINER = re.compile(
    r"(?:(?:the|an?|my|our|some|any|all|both|only|just|such|really|very|so|own|having|it when it's|lots of|a lot of|a (?:little |tiny )?bit of|a little|plenty of|"
    r"certain|just|nice|good|great|lovely|decent)\s+)+",
    re.IGNORECASE,
)
#: Words that point at something outside of the sentence, or at the one who is spoken to.
_POINTS = re.compile(
    r"\b(?:it|its|it's|this|that|that's|these|those|them|they|their|theirs|there|here|he|him|his|she|her|hers|one(?! day)|ones|something|"
    r"anything|everything|nothing|someone|somebody|stuff|things?|you|your|you're|yours|yourself|such|what|how|why|same|"
    r"other|others|another|both|way|part|idea|ideas|fact|whatever|"
    r"everyone|everybody|em|anyone|nobody|who|whom|u|ya|ur|else|lot|bit|kind|sort|following|above|below|"
    r"previous|so far|back)\b",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"\b(?:an?|the|my|such|very|really) [\w-]+$|\w{3,}(?:ional|ical|ive|ous|ful|able|ible|less)$", re.IGNORECASE
)
_ASIDE = re.compile(r" \([^()]{1,30}\)")
_ADJECTIVE = re.compile(r"\s*[a-z-]+(?<!ing)\Z")
_LISTING = re.compile(r"\s*[\w-]+, [\w-]+(?:,|(?: and| or)\b)")
_NEW_CLAUSE = re.compile(
    r"\s*(?:and|but|so|because|i|i'[a-z]+|it|it's|he|she|they|we|which|who|where|when|that|that's|then|with|especially|also|or|as|in|on|at|for|"
    r"to|can|could|what|how|do|is|are|my|the|a|if|please|named|called|just|since|while|though|[A-Z]\w*)\b"
)
_NO_VALUE = re.compile(
    r"(?:when|if|to|be|that|because|not|no|never|being able|is|are|was|were|i|we|and|or|but|for|with|than|as|more|less|well|"
    r"hear|see|know|knowing|hearing|having|been|get|getting)\b|(?:on|in|at|by|from|of|during|about|into)\s",
    re.IGNORECASE,
)
#: Ends like these were torn off: "escaping to", "making sure that people are".
_TORN = re.compile(
    r"\b(?:is|are|was|were|will|would|can|could|has|have|makes|isn't|aren't|don't|doesn't|over)\b(?! \d)",
    re.IGNORECASE,
)
_TORN_END = re.compile(
    r"\b(?:with|for|of|to|the|a|an|in|at|on|my|by|from|about|as|into|than|their|our|be|not|both|some|any|many|several|more|ensure|to (?:understand|make|get|have|know|see|help|keep|maintain|improve|ensure|avoid|achieve))$",
    re.IGNORECASE,
)
#: What says which ones are meant: without it "films that are too long" would be all films.
_RESTRICTS = re.compile(
    r"\s+(?:that|which|who|whose)\s+(?!i\b|we\b|(?:is|was) why\b)(?P<clause>\w.*)", re.IGNORECASE | re.DOTALL
)
#: "Who said something" does not say what.
_UNSAID = re.compile(r"\b(?:something|anything|things|stuff|it|that|this)$", re.IGNORECASE)
#: "Made by small, independent farms" is torn at its comma.
_TORN_ADJECTIVE = re.compile(r"\b(?:by|with|of|from|in) [a-z-]+(?<!s)$")
_TWO_WORDS = re.compile(r"\s*[a-z-]+ [a-z-]+s\b")
#: Words that its clause may have beyond those of the phrase.
_RESTRICTION_WORDS = 10
#: "Sides 9, 11 and 13" is torn apart.
_CUT_NUMBERS = re.compile(r"\d, ?\d?$")
_WORD = re.compile(r"[^\W_]")
#: The words of a title end with its mark: "the song “Night Boat”".
_ENDS_QUOTED = re.compile(r"(?P<last>\w[!?]?)(?P<mark>[”\"])[\s.]*\Z")
_QUOTED = re.compile(r"^\s*['‘“\"]([^'’”\"]+)['’”\"](?!\w)")


def without_article(value: str) -> str:
    """ "A small dog" is a "small dog"."""
    determiner = _DETERMINER.match(value)
    return value[determiner.end() :] if determiner is not None else value


def with_article(text: str, value: str) -> str:
    """``value`` with the article that ``text`` begins with: one likes "the sea", "their dog"."""
    article = _ARTICLE.match(text)
    if article is None:
        return value
    said = article["article"].lower()
    if said in ("a", "an") and not text[article.end() + 1 :].startswith(
        value
    ):  # of another word: "a good evening"
        said = "an" if VOWEL.match(value) else "a"
    return f"{_WHOSE.get(said, said)} {value}"


#: What everybody knows without having been told which: "the sea", but not "the office" or "the red one".
_KNOWN = re.compile(
    r"the (?:beach|sea|ocean|lake|river|mountains?|woods|forest|desert|country|countryside|nature|outdoors?|city|"
    r"sun|sunshine|moon|stars|sky|rain|snow|wind|cold|heat|winter|summer|autumn|fall|spring|dark|night|water|park|playground|holidays|gym|zoo|"
    r"library|theat(?:er|re)|cinema|opera|ballet|arts|olympics|n[fbh][la]|usa?|uk|internet|news|colou?r \w+|"
    r"drums|piano|guitar|violin|sims|beatles|\w+ games)$|"
    # Said is also which one: "the coffee at work".
    r".*(?:\b[A-Z]| of | (?:at|in|on|from|near) (?!(?:the|this|that|your|it)\b))"
)


def points_at_one(value: str) -> bool:
    """Whether ``value`` is one thing that only the talk explains: "the yellow leaves"."""
    return value.startswith("the ") and _KNOWN.match(value) is None


_ARTICLE = re.compile(r"(?:(?:both|all)(?: of)? )?(?P<article>the|an?|my|our|any)(?= )", re.IGNORECASE)
_WHOSE = {"my": "their", "our": "their"}


def clause_end(text: str) -> int:
    """Where the first clause of ``text`` ends."""
    cut = _CUT.search(text)
    return cut.start() if cut is not None else len(text)


_ITEM = r"(?!(?:and|or|but|i|it|he|she|they|you|we|that|which|who|so|because)\b)\w[\w'&-]*(?: (?!(?:and|or|but)\b)\w[\w'&-]*){0,5}"
_SERIES = re.compile(
    rf"(?P<first>{_ITEM})(?P<more>(?:, {_ITEM})+)(?P<serial>,?) (?:and|or) (?P<last>{_ITEM})(?= but\b| because\b|[.;!?]|$)",
    re.IGNORECASE,
)
#: A member may have an article: "the sea, the wind and the rain".
_OTHER_CLAUSE = re.compile(rf"(?!\s*(?:my|the|an?|[A-Z]\w*)\b){_NEW_CLAUSE.pattern}")
_BEGINS_SERIES = re.compile(
    rf"{_ITEM}, {_ITEM},? (?:and|or|but not)\b|{_ITEM}(?:, {_ITEM}){{2,}}", re.IGNORECASE
)


def series(text: str) -> list[str] | None:
    """The members of "reading, long walks, and chess"; ``[]`` if where they end is not sure, ``None`` if it is none."""
    found = _SERIES.match(text)
    if found is None or _OTHER_CLAUSE.match(found["more"], 1):
        begins = _BEGINS_SERIES.match(text)
        return [] if begins and not _OTHER_CLAUSE.match(text, text.index(",") + 1) else None
    members = [found["first"], *found["more"][2:].split(", "), found["last"]]
    is_thing = " " in members[0] or members[0].endswith(("s", "ing")) or members[0][0].isupper()
    # "Old, quiet towns and cities" are no three.
    return members if found["serial"] or is_thing or all(" " not in each for each in members) else None


def clean(text: str, *, words: int = 8, keep_article: bool = False) -> str:
    """Cut ``text`` to the phrase it begins with; ``""`` if that says nothing by itself.

    Cut at the next clause; trailing adverbs and leading determiners go; a phrase of more than ``words``
    words, or one that points at something else ("it", "your idea"), is none.
    """
    text = _ASIDE.sub("", _QUOTED.sub(r"\1", text))
    cut = _CUT.search(text)
    if (
        cut is not None
        and cut[0].strip() == ","
        and not keep_article
        and _ADJECTIVE.match(text, 0, cut.start())
        and not _NEW_CLAUSE.match(text, cut.end())
    ):
        cut = _CUT.search(text, cut.end())  # "clear, measurable goals"
    phrase = (text[: cut.start()] if cut else text).strip(" .\t\n\"'“”*_~-–—")
    if (
        cut is not None
        and cut[0].strip() == ","
        and (
            _DESCRIBED.search(phrase)
            or _LISTING.match(text, cut.end())
            or (_TORN_ADJECTIVE.search(phrase) and _TWO_WORDS.match(text, cut.end()))
        )
        and not _NEW_CLAUSE.match(text, cut.end())
    ):
        return ""  # "a safe, inviting place" is torn apart
    ends_quoted = _ENDS_QUOTED.search(text[: cut.start()] if cut else text)
    restriction = _restriction(text, cut)
    if restriction is None:
        return ""
    shorter = ""
    while phrase != shorter:
        shorter = phrase
        phrase = _TAIL.sub("", phrase).rstrip(" .,\"'")
    if not keep_article:
        phrase = without_article(phrase)
    if (
        not _WORD.search(phrase)
        or _NO_VALUE.match(phrase)
        or _TORN.search(phrase)
        or _TORN_END.search(phrase)
        or _CUT_NUMBERS.search(text[: cut.end() + 2] if cut else "")
        or len(phrase.split()) > words
        or _POINTS.search(phrase)
    ):
        return ""
    if ends_quoted is not None and phrase.endswith(ends_quoted["last"]) and _is_open(phrase):
        phrase += ends_quoted["mark"]
    return third_person(f"{phrase} {restriction}".rstrip())


def _is_open(phrase: str) -> bool:
    """Tell whether a quotation in a phrase has lost its end."""
    return phrase.count("“") > phrase.count("”") or phrase.count('"') % 2 == 1


def _restriction(text: str, cut: re.Match[str] | None) -> str | None:
    """The relative clause that stands where ``text`` is cut, ``""`` if there is none.

    ``None``: it is torn or too long, so that nothing can be said of the phrase before it.
    """
    if cut is None or cut[0].strip().lower() not in ("that", "which", "who", "whose"):
        return ""
    if (found := _RESTRICTS.match(text, cut.start())) is None:
        return None
    clause, end = found["clause"], _CUT.search(found["clause"])
    clause = (clause[: end.start()] if end is not None else clause).strip(" .\t\n\"'“”*_~-–—")
    torn = (
        (end is not None and end[0].strip() == "," and _TORN_ADJECTIVE.search(clause))
        or not _WORD.search(clause)
        or _UNSAID.search(clause)
        or _TORN_END.search(clause)
        or len(clause.split()) > _RESTRICTION_WORDS
    )
    return None if torn else f"{text[cut.start() : found.start('clause')].strip()} {clause}"
