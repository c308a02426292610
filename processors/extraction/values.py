"""What fills a slot: cut out of a sentence, short, and readable without it."""

from __future__ import annotations

import re

from processors.extraction.english import VERB, VOWEL, anycase, third_person

#: From here on it is another clause.
_CUT = anycase(
    r"\s*(?:,(?!\d{3}|(?<=\d,) ?\d)|[;(\[{…!?]|:(?!\w)|\.{2,}|(?<!\bSt)(?<!\bMt)(?<!\bDr)(?<!\bMr)\.(?:\s|$)|\s[-–—]{1,2}\s|[-–—]{1,2}\s(?!and\b|or\b)|\s(?:because|'?cause (?:i|it|we|they|my)|cuz|since|as (?:it|i|they|long|much|well)|"
    r"when(?:ever)?|while|so (?:that|i|we|it|can|could|please|let|what|how|maybe|never|don't|no|always|they|he|she|you|when)|but|which|who|whose|where|if|"
    r"unless|although|though|even|after i|before i|until|that(?:'s)?|and (?:i|it|we|my|they|that|he|she|you|then|"
    r"am|was|were|have|has|is|are|can|could|so|now|would|want|need|also|how|what|the way|(?:strongly |really )?(?:love|like|enjoy|prefer|dislike|hate)|just|only|this|"
    rf"these|think|avoid|don't|make|find|please|get|look|keep|{VERB})(?:'\w+)?|or (?:something|so|whatever)|it's|i'm|i|"
    r"i've|especially|can you|could you|please|just (?:give|get|find|take|show|tell)|rather than|instead of|lol|haha)\b)"
)
_TAIL = anycase(
    r"(?:\s+|^)(?:a (?:whole )?(?:lot|bit|ton|while)|so much|very much|too(?: much)?|as well|though|these days|nowadays|right now|"
    r"just now|now|lately|recently|currently|at the moment|again|please|lol|haha|tbh|honestly|actually|"
    r"you know|for sure|at all|the (?:most|best)|most of all|more than anything|in general|generally|for now|"
    r"already|instead|today|together|around here|nearby|any ?more|any longer|no more|either|anyway|personally|"
    r"dear|thanks|thank you|from now on|all the time|always|and|or|also|even|just|very|so|really|since|still|yet|"
    r"quite|almost|alot|specifically|next|(?:pretty )?soon|(?:to )(?:death|bits|pieces)|best of all(?: .*)?|"
    r"dude|sir|there|from time to time|temporarily|better|best|beginning|starting|scheduled|coming up|planned|each|"
    r"for (?:me|us)|permanently|for good|going forward|every time|in the future|in future|next time|tonight)$"
)
_DETERMINER = anycase(
    r"(?:(?:the|an?|my|our|some|any|all|both|only|just|such|really|very|so|own|having|it when it's|lots of|a lot of|a (?:little |tiny )?bit of|a little|plenty of|"
    r"certain|just|nice|good|great|lovely|decent)\s+)+"
)
#: Words that point at something outside of the sentence, or at the one who is spoken to.
_POINTS = anycase(
    r"\b(?:it|its|it's|this|that|that's|these|those|them|they|their|theirs|there|here|he|him|his|she|her|hers|mine|one(?! day)|ones|something|"
    r"anything|everything|nothing|someone|somebody|stuff|things?|you|your|you're|yours|yourself|such|what|how|why|same|"
    r"other|others|another|both|way|part|idea|ideas|fact|whatever|"
    r"everyone|everybody|em|anyone|nobody|who|whom|u|ya|ur|else|lot|bit|kind|sort|following|above|below|"
    r"previous|so far|back)\b"
)
_DESCRIBED = anycase(
    r"\b(?:an?|the|my|such|very|really) [\w-]+$|\w{3,}(?:ional|ical|ive|ous|ful|able|ible|less)$"
)
#: Quotation marks, but no apostrophes inside of a word.
QUOTES = re.compile(r"(?<![^\W_])['\"‘’“”]|['\"‘’“”](?![^\W_])")
_ASIDE = re.compile(r" \([^()]{1,30}\)")
_ADJECTIVE = re.compile(r"\s*[a-z-]+(?<!ing)\Z")
_LISTING = re.compile(
    r"\s*[\w-]+, [\w-]+(?:,|(?: and| or)\b)|\s*(?!such\b|like\b|including\b)[a-z-]+ [a-z-]+s\b"
)
_NEW_CLAUSE = re.compile(
    r"\s*(?:and|but|so|because|i|i'[a-z]+|it|it's|he|she|they|we|which|who|where|when|that|that's|then|with|especially|also|or|as|in|on|at|for|"
    r"to|can|could|what|how|do|is|are|my|the|a|if|please|named|called|just|since|while|though|[A-Z]\w*)\b"
)
_NO_VALUE = anycase(
    r"(?:when|if|to|be|that|because|not|no|never|being able|is|are|was|were|i|we|and|or|but|for|with|than|as|more|less|well|"
    r"hear|see|know|knowing|hearing|having|been|get|getting)\b|(?:on|in|at|by|from|of|during|about|into)\s"
)
#: Ends like these were torn off: "escaping to", "making sure that people are".
_TORN = anycase(
    r"\b(?:is|are|was|were|will|would|can|could|has|have|makes|isn't|aren't|don't|doesn't|over)\b(?! \d)"
)
_TORN_END = anycase(
    r"\b(?:with|for|of|to|the|a|an|in|at|on|my|by|from|favou?rites?|about|as|into|than|their|our|be|not|both|some|any|many|several|more|ensure|to (?:understand|make|get|have|know|see|help|keep|maintain|improve|ensure|avoid|achieve))$"
)
#: What says which ones are meant: without it "films that are too long" would be all films.
_RESTRICTS = anycase(
    r"\s+(?:that|which|who|whose)\s+(?!(?:i|we|in|on|at|with|again|any ?more|this|next|last|(?:is|was) why)\b)(?P<clause>\w.*)",
)
#: Words that its clause may have beyond those of the phrase.
_RESTRICTION_WORDS = 10
_WORD = re.compile(r"[^\W_]")


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
    r"library|theat(?:er|re)|cinema|opera|ballet|arts|olympics|n[fbh][la]|usa?|uk|internet|web|news|colou?r \w+|"
    r"drums|piano|guitar|violin|sims|beatles|\w+ games)$|"
    # Said is also which one: "the coffee at work".
    r".*(?:\b[A-Z]| of | (?:at|in|on|from|near) (?!(?:the|this|that|your|it)\b))"
)


def points_at_one(value: str) -> bool:
    """Whether ``value`` is one thing that only the talk explains: "the yellow leaves"."""
    return value.startswith("the ") and _KNOWN.match(value) is None


_ARTICLE = anycase(r"(?:(?:both|all)(?: of)? )?(?P<article>the|an?|my|our|any)(?= )")
_WHOSE = {"my": "their", "our": "their"}


def clause_end(text: str) -> int:
    """Where the first clause of ``text`` ends."""
    cut = _CUT.search(text)
    return cut.start() if cut is not None else len(text)


_ITEM = r"(?!(?:and|or|but|i|it|he|she|they|you|we|that|which|who|so|because|in|on|at)\b)\w[\w'-]*(?: (?!(?:and|or|but|in|on|at)\b)\w[\w'-]*){0,2}"
#: Not two words for one thing: a dish, a genre.
_SERIES = anycase(
    rf"(?!(?:fish and chips|mac and cheese|rock and roll|r and b|arts and crafts|black and white|peace and quiet)\b){_ITEM}(?:,? and {_ITEM}|(?:, {_ITEM})+,? and {_ITEM})(?=$|[.;!?…]| (?:but|because|so)\b)"
)


def listed(text: str, attribute: str) -> list[str]:
    """The members of "hiking, swimming and long walks"; "heist and gangster films" may be one."""
    series = _SERIES.match(text)
    if series is None or (attribute == "like" and text[0].isupper()):  # "War and Peace"
        return [text]
    members = re.split(r",? and |, ", series[0])
    counts = [len(without_article(each).split()) for each in members]
    is_thing = len(members) > 2 and (counts[0] > 1 or members[0].endswith(("s", "ing")))
    return members if is_thing or max(counts) == 1 else [text]


def clean(text: str, *, words: int = 8, keep_article: bool = False) -> str:
    """Cut ``text`` to the phrase it begins with; ``""`` if that says nothing by itself.

    Cut at the next clause; trailing adverbs and leading determiners go; a phrase of more than ``words``
    words, or one that points at something else ("it", "your idea"), is none.
    """
    text = _ASIDE.sub("", QUOTES.sub("", text))
    cut = _CUT.search(text)
    if cut is not None and not keep_article and _goes_on(text, cut) and _ADJECTIVE.match(text, 0, cut.start()):
        cut = _CUT.search(text, cut.end())  # "clear, measurable goals"
    phrase = (text[: cut.start()] if cut else text).strip(" .\t\n*_~-–—")
    if cut and _goes_on(text, cut) and (_DESCRIBED.search(phrase) or _LISTING.match(text, cut.end())):
        return ""  # "a safe, inviting place" is torn apart
    if (restriction := _restriction(text, cut)) is None:
        return ""
    shorter = ""
    while phrase != shorter:
        shorter = phrase
        phrase = _TAIL.sub("", phrase).rstrip(" .,")
    if not keep_article:
        phrase = without_article(phrase)
    torn = _NO_VALUE.match(phrase) or _TORN.search(phrase) or _TORN_END.search(phrase) or _POINTS.search(phrase)
    if torn or not _WORD.search(phrase) or len(phrase.split()) > words:
        return ""
    return third_person(f"{phrase} {restriction}".rstrip())


def _goes_on(text: str, cut: re.Match[str]) -> bool:
    """Tell whether what stands behind a comma is more of the same phrase."""
    return cut[0].strip() == "," and _NEW_CLAUSE.match(text, cut.end()) is None


def _restriction(text: str, cut: re.Match[str] | None) -> str | None:
    """The relative clause that stands where ``text`` is cut, ``""`` if there is none.

    ``None``: it is torn or too long, so that nothing can be said of the phrase before it.
    """
    if cut is None or cut[0].strip().lower() not in ("that", "which", "who", "whose"):
        return ""
    if (found := _RESTRICTS.match(text, cut.start())) is None:
        return None
    clause, end = found["clause"], _CUT.search(found["clause"])
    clause = (clause[: end.start()] if end is not None else clause).strip(" .\t\n*_~-–—")
    goes_on = end is not None and _goes_on(found["clause"], end) and _LISTING.match(found["clause"], end.end())
    says_nothing = clause.endswith("something") or not _WORD.search(clause) or _TORN_END.search(clause)
    torn = goes_on or says_nothing or len(clause.split()) > _RESTRICTION_WORDS
    return None if torn else f"{text[cut.start() : found.start('clause')].strip()} {clause}"
