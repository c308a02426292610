"""Ways to say something without "I": put into the first-person sentence that the tables read.

"Teal is my favourite colour" is "My favourite colour is teal".  A row is what it looks like, and what it says.
"""

from __future__ import annotations

import re

from processors.extraction.parsing import without_opener

_NOT_A_THING = (
    r"(?!(?:it|that|this|these|those|he|she|they|there|here|what|which|who|one|so|and|but|to|if|when|is|are|i|my|we|play|find|keep|set|stick|just|"
    r"please|take|use|make|turn|start|put|show|get|let|go|can|could|also|yes|no|because|of course)\b)"
)
_MUCH = r"(?:(?:very|really|so|always|just|more|still|definitely|actually) )*"
_FAVOURITE = r"(?:all-time |absolute )?(?:fav(?:ou?rite|e)?s?|go-to|preferred|usual)(?: [\w-]+){0,3}"
_NO_LIKING = r"(?! (?:the|that|this|your|all|how|it|these|those|seeing|hearing|to (?:hear|see))\b)"

# fmt: off
_ROWS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), says)
    for pattern, says in (
        (rf"{_NOT_A_THING}(?P<v>[\w'& -]{{2,50}}?)(?:'s| is| are|,? that's) {_MUCH}my (?P<x>{_FAVOURITE})\W*$", "my {x} is {v}"),
        (rf"{_NOT_A_THING}(?P<v>[\w'& -]{{2,40}}?) (?:works? best|(?:is|are) {_MUCH}(?:important|essential|crucial|best|perfect|a must|key|ideal|better)) (?:for|to) me\b", "I like {v}"),
        (r"(?:and |but )*(?P<v>(?:the )?[\w-]+(?: [\w-]+){0,2}?)(?: (?:really|just))? (?:(?:doesn't|does not|don't|do not) (?:really )?matter|(?:is|are) (?:irrelevant|no object|not (?:important|an issue)))\b", "I don't care about {v}"),
        (rf"{_MUCH}(?P<v>(?:love|hate|adore|dislike|enjoy|can't stand|don't (?:like|eat|drink)){_NO_LIKING}\b .*)", "I {v}"),
    )
)
# fmt: on


def in_first_person(text: str) -> str:
    """Return the sentence that ``text`` stands for; ``""`` if it is none of these."""
    core = _BEGINS.sub(lambda word: word[0].lower(), without_opener(text))
    for pattern, says in _ROWS:
        if (match := pattern.match(core)) is not None:
            return says.format(**match.groupdict())
    return ""


#: A word that is no name, although a sentence begins with it.
_BEGINS = re.compile(r"^[A-Z](?=[a-z]+(?:ing|[- ]free)\b)")
