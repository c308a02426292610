"""What is said, in the form that the tables know: "teal is my favourite colour" is "my favourite colour is teal"."""

from __future__ import annotations

import re

from processors.extraction.english import anycase

#: What says the same in fewer words: relative clauses that are no more than a preposition, "kinds of".
# fmt: off
_PLAINER = tuple(
    (anycase(pattern), plain)
    for pattern, plain in (
        (r"\bsomething (?:more )?on the (\w+) side\b", r"\1 options"),
        (r" (?:that|which) (?:also )?(?:has|have|offers?|serves?|includes?|accepts?) (?!been|to\b|\w+ed\b)", " with "),
        (r" (?:that|which) (?:focus(?:es)? on|covers?|talks? about|(?:is|are) about|discuss(?:es)?) ", " about "),
        (r"\b(i)(m|ve)\b", r"\1'\2"),
        (r"\b(could|can|you|we|let's|please) start (play|look|find|show|go|listen|stream)ing\b", r"\1 \2"),
        (r"\b(could|can|you|we|let's|please) start (pick|select)ing\b", r"\1 always \2"),
        (r"\b(could|can|you|we|let's|please) start (us|tak|choos)ing\b", r"\1 always \2e"),
        (r"\b(do|did|does|ca|wo)nt\b", r"\1n't"),
        (r"(?<=\w) (?:types?|kinds?|sorts?|styles?) of (?!\W)", " "),
    )
)
# fmt: on
#: Who writes all in lower case writes places so: "i live in ohio", but not "i live in the woods".
_CAPITAL = re.compile(r"(?!I\b)[A-Z]")
_LOWER_PLACE = anycase(
    r"\b(?:i|we|i'm|i am|i've|i was)(?: (?:just|now|currently|originally|recently|have been|been|actually|also))* "
    r"(?:(?:live|living|lived|reside|based|born|raised|grew up) in|(?:moved|moving|relocated) to|(?:come )?from) "
    r"(?:(?:rural|northern|southern|eastern|western|upstate) )?"
    r"(?P<place>(?!(?:an?|the|my|our|your|his|her|their|this|that|it|here|there|home|town|peace|fear|harmony|style|luxury|one|two|"
    r"scratch|nowhere|somewhere|space|small|big|rural|another|far|work|school|where|what|something|different|new(?! [yohjmz])|\d+)\b)"
    r"[a-z]+(?: (?!(?:and|but|so|now|with|where|near|too|right|for|since|as|in|also|actually|originally|when|because|then|by|at|on|about|all|baby|babe|dude|man|lol|haha|btw|today|again|please)\b)[a-z]+)?)"
    r"(?=\W*$|[,.;!?]| (?:and|but|so|now|with|where|near|too|right|for|since|as|also|actually|originally|when|because|in|all)\b)"
)


def plainer(text: str) -> str:
    """``text`` in fewer words, with capitals where there are none at all."""
    for pattern, plain in _PLAINER:
        text = pattern.sub(plain, text)
    if _CAPITAL.search(text):
        return text
    return _LOWER_PLACE.sub(lambda found: found[0][: -len(found["place"])] + _place(found["place"]), text)


def _place(name: str) -> str:
    return name.upper() if name in ("usa", "uk", "us", "nyc", "la", "uae") else name.title()


_NOT_A_THING = (
    r"(?!(?:it|that|this|these|those|he|she|they|there|here|what|which|who|one|so|and|but|to|if|when|is|are|i|my|we|play|find|keep|set|stick|just|"
    r"please|take|use|make|turn|start|put|show|get|let|go|can|could|also|yes|no|because|of course)\b)"
)
_MUCH = r"(?:(?:very|really|so|always|just|more|still|definitely|actually) )*"
_FAVOURITE = r"(?:all-time |absolute )?(?:fav(?:ou?rite|e)?s?|go-to|preferred|usual)(?: [\w-]+){0,3}"
_NO_LIKING = r"(?! (?:the|that|this|your|all|how|it|these|those|seeing|hearing|to (?:hear|see))\b)"

_IS = r"(?:'s| is| are|,) (?!not\b)"
_NAME = r"(?P<v>(?:the )?(?-i:[A-Z]).*)"
#: Ways to say something without "I": what it looks like, and what it says.
# fmt: off
_ROWS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (anycase(pattern), says)
    for pattern, says in (
        (rf"{_NOT_A_THING}(?P<v>[\w'& -]{{2,50}}?)(?:'s| is| are|,? that's) {_MUCH}my (?P<x>{_FAVOURITE})\W*$", "my {x} is {v}"),
        (rf"{_NOT_A_THING}(?P<v>[\w'& -]{{2,40}}?) (?:works? best|(?:is|are) {_MUCH}(?:important|essential|crucial|best|perfect|a must|key|ideal|better)) (?:for|to) me\b", "I like {v}"),
        (r"(?:and |but )*(?P<v>(?:the )?[\w-]+(?: [\w-]+){0,2}?)(?: (?:really|just))? (?:(?:doesn't|does not|don't|do not) (?:really )?matter|(?:is|are) (?:irrelevant|no object|not (?:important|an issue)))\b", "I don't care about {v}"),
        (rf"{_MUCH}(?P<v>(?:love|hate|adore|dislike|enjoy|can't stand|don't (?:like|eat|drink)){_NO_LIKING}\b .*)", "I {v}"),
        (r"(?:remember,? |but |and )*no (?P<v>[\w-]+(?: (?:or|and) [\w-]+)?) for me\b", "I avoid {v}"),
        (r"(?P<v>not a fan of\b .*)", "I'm {v}"),
        (rf"my (?:full |first )?name{_IS}{_NAME}", "I'm called {v}"),
        (rf"my (?P<x>(?:[\w-]+ )*[\w-]+)'s name{_IS}{_NAME}", "my {x} is called {v}"),
        (rf"my (?:birthday|date of birth){_IS}(?:on )?(?:the )?(?P<v>(?-i:[A-Z\d]).*)", "I have a birthday on {v}"),
        (rf"my home ?town{_IS}{_NAME}", "I'm from {v}"),
        (rf"my (?:job|profession|occupation|day job){_IS}(?P<v>.*)", "I work as {v}"),
        (rf"my (?:employer|company|workplace){_IS}{_NAME}", "I work at {v}"),
        (rf"my (?:native language|mother tongue|first language){_IS}{_NAME}", "I speak {v}"),
        (rf"my age{_IS}(?P<v>\d.*)", "I'm {v}"),
        (rf"my diet{_IS}(?P<v>.*)", "I'm {v}"),
        (rf"my allergies{_IS}(?P<v>.*)", "I'm allergic to {v}"),
        (rf"my (?:(?:main )?hobby|hobbies|passion){_IS}(?!(?:very|so|too|really|important|expensive|boring|fun|great|simple|hard|relaxing|dying)\b)(?P<v>.*)", "I love {v}"),
    )
)
# fmt: on


def in_first_person(text: str) -> str:
    """Return the sentence that ``text`` stands for; itself if it is none of these."""
    core = _BEGINS.sub(lambda word: word[0].lower(), text)
    for pattern, says in _ROWS:
        if (match := pattern.match(core)) is not None:
            return says.format(**match.groupdict())
    return text


_FELT = r"(?:hate|love|like|dislike|enjoy|adore|detest|despise)"
#: "I hated olives. Now I love them": what was felt once, and what points at it.
_TURNED = anycase(
    rf"\bi (?:(?:used to|really|always|absolutely|once) )*(?:{_FELT}d?|enjoyed|(?:couldn't|can't|could not) stand) "
    r"(?P<v>(?!(?:it|them|him|her|this|that|you|to)\b)[\w'-]+(?: [\w'-]+){0,3}?)(?:,? (?:before|once|at first|as a (?:kid|child)))?"
    rf"(?:[.,;!]+|\s[-–—])?(?: (?:and|but|yet))? (?=[^.;!?]*\bnow\b)(?:now,? )?i (?:\w+ )*?(?:{_FELT}|can't stand) (?:it|them)(?: now)?\W*\Z"
)
_IT = anycase(r"\b(?:it|them)(?=(?: now)?\W*\Z)")


def turned(text: str, before: str) -> str:
    """``text`` with what it points at in what was said ``before``, where somebody has changed his mind about it."""
    found = _TURNED.search(f"{before} {text}".strip())
    return _IT.sub(lambda _: found["v"], text) if found is not None else text


def presupposed(text: str) -> str:
    """What a sentence takes as known, even if it asks: "is there anything for my nut allergy?"."""
    match = _ALLERGY.search(text)
    return f"I'm allergic to {match['v']}" if match is not None and not _NO_MORE.search(text) else ""


_ALLERGY = anycase(r"\bmy (?!food |bad |severe )(?P<v>[\w-]+) (?:allergy|intolerance)\b")
_NO_MORE = anycase(r"\b(?:outgr[eo]wn?|cured|got over|gotten over|lost|no longer|used to|any ?more|if)\b")
#: A word that is no name, although a sentence begins with it.
_BEGINS = re.compile(r"^[A-Z](?=[a-z]+(?:ing|[- ]free)\b)")
