"""The tables as patterns: whose somebody is, who does something, and what it leads to."""

from __future__ import annotations

import re

from processors.extraction.graph.names import DATE, NAME, NAMES
from processors.extraction.graph.roles import PET_PLURALS, PETS, PLURALS, ROLES, SOCIAL
from processors.extraction.graph.wordings import ADJECTIVES, WORDINGS


def _any(words: object) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))  # type: ignore[call-overload]


_ONE = _any([*ROLES, *PETS])
_SEVERAL = _any([*PLURALS, *PET_PLURALS])
#: "of five years", between what somebody is and the name.
_SINCE = r"(?: (?:of|for|since|from) (?:[a-z]+ )?[\w-]+(?: years| months)?)?"
_CALLED = (
    r"(?:,? (?:is |are |who is |who's |who’s )?(?:called|named)|(?:'s|’s|s'|s’)? names? (?:is|are)|'s name's)"
)
#: "my", "Anna's", "my sister's", "her"
_OWNER = (
    rf"(?:(?P<self>\b(?:[Mm]y|[Oo]ur))|\b[Mm]y {ADJECTIVES}(?P<ownerrole>{_any(ROLES)})(?: (?P<ownernamed>{NAME}))?['’]s"
    rf"|(?<![\w'’-])(?P<owner>{NAME})['’]s|\b(?P<pronoun>[Hh]is|[Hh]er))"
)
_THEIRS = rf"{_OWNER} (?P<ex>ex-|ex )?{ADJECTIVES}"
#: Nothing more follows: "Anna, my sister, ...", but not "Luckily, my sister's here".
_NO_PLACE = r"(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfrom )(?<!\bnear )(?<!\bof )"
_CLOSED = r"(?=\s*(?:[,.;!)]|$|(?:and|who|from|since|for|of|at|in)\b))"

#: What is said in passing, and so holds whatever is said of it.
PASSING = (
    # my sister Anna; Anna's dog Rex
    re.compile(rf"{_THEIRS}(?P<role>{_ONE}) (?P<name>{NAME})"),
    # my sister, Anna, ...: at the end of a sentence it may be whom one speaks to
    re.compile(rf"{_THEIRS}(?P<role>{_ONE}){_SINCE}, (?P<name>{NAME}),(?= \w)"),
    # my dogs Rex and Luna; my sisters, Anna and Eva
    re.compile(rf"{_THEIRS}(?P<roles>{_SEVERAL}),? (?P<name>{NAMES})"),
    # my sister named Anna, my dog who's called Rex
    re.compile(rf"{_THEIRS}(?P<role>{_ONE}|(?P<roles>{_SEVERAL})){_CALLED} (?P<name>{NAMES})"),
    # Anna, my sister,
    re.compile(rf"(?<=\w )(?P<name>{NAME}), (?:one of )?{_THEIRS}(?P<role>{_ONE}){_CLOSED}"),
    re.compile(
        rf"^\W*(?P<name>{NAME}), (?:one of )?{_THEIRS}(?P<role>(?!friend|buddy|pal){_ONE})(?=\s*(?:[,.;!]|$))"
    ),
    # a friend of mine, Anna; a friend named Anna
    re.compile(
        rf"\b(?:an?|another|this|(?P<self>one of my)) {ADJECTIVES}(?P<role>{_any(SOCIAL)})s?"
        rf"(?: of mine,?(?:{_CALLED})?|,?{_CALLED}) (?P<name>{NAME})"
    ),
    # Anna, a friend of mine
    re.compile(rf"(?<![\w'’-])(?P<name>{NAME}), an? {ADJECTIVES}(?P<role>{_any(SOCIAL)}) of mine"),
)
#: What is told, and so may be denied or asked.
TOLD = (
    # Anna is my sister; this is Rex, my dog
    re.compile(rf"(?<![\w'’-])(?P<name>{NAME}) (?:is|was) (?:one of )?{_THEIRS}(?P<role>{_ONE}){_CLOSED}"),
    # Anna is a friend of mine
    re.compile(rf"(?<![\w'’-])(?P<name>{NAME}) is an? {ADJECTIVES}(?P<role>{_any(SOCIAL)}) of mine"),
    # I have a dog called Rex; we got another cat named Tom
    re.compile(
        r"\b(?P<self>I|[Ww]e)(?:['’]ve)?(?: \w+)? (?:have|has|had|got|adopted|brought home|took) "
        rf"(?:an?|another|this|one|two|three|new|the|our|my) (?:[a-z]+ ){{0,2}}?(?P<role>{_ONE}|(?P<roles>{_SEVERAL}))"
        rf"(?:{_CALLED}|,) (?P<name>{NAMES})"
    ),
    re.compile(
        rf"\b(?:(?P<called>named|called)|(?:his|her) name is) (?:my|our|the) (?:[a-z]+ ){{0,2}}?(?P<role>{_any(PETS)}) "
        rf"(?P<name>{NAME})(?P<self>)"
    ),
)
#: Somebody by what they are alone: "my sister" may be "she" in what follows.
ALONE = re.compile(rf"\b[Mm]y (?P<ex>ex-)?{ADJECTIVES}(?P<role>{_any(ROLES)})\b(?! [^\W\d_a-z])")

BIRTHDAY = re.compile(
    rf"(?:\b(?P<self>[Mm]y|[Oo]ur)|\b[Mm]y {ADJECTIVES}(?P<role>{_any(ROLES)})(?:'s|’s)|(?<![\w'’-])(?P<name>{NAME})(?:'s|’s)"
    rf"|\b(?P<pronoun>[Hh]er|[Hh]is)) (?P<day>birthday|(?:wedding )?anniversary)(?: is| was|'s|,)?(?: coming up)?(?: on)? {DATE}"
)

_THING = rf"(?:the |The )?(?P<thing>{NAME})(?![\w’'-]*[^\W_]| \d|\.\w|/)"
#: What is said to be related, without who.
VERBS = re.compile(
    "(?:(?<=[\\s'’])|^)(?:"
    + "|".join(f"(?P<v{number}>(?i:{wording.pattern}))" for number, wording in enumerate(WORDINGS))
    + f") {_THING}",
)
#: How whoever was spoken of is called: "Her name's Anna", "I named him Rex"
CALLED = re.compile(
    rf"\b(?:(?P<pronoun>[Hh]is|[Hh]er|[Ii]ts) name(?: is|['’]s)|(?:named|called) (?P<named>her|him|it)|"
    rf"(?P<is>[Ss]he|[Hh]e|[Ii]t)(?: is|['’]s) (?:called|named)|(?P<their>[Tt]heir) names are) (?P<name>{NAMES})"
)
#: A pet of the speaker, without its name.
PET_ALONE = re.compile(
    rf"\b(?:(?P<my>[Mm]y|[Oo]ur)|(?:got|adopted|rescued|have|bought|welcomed|brought home|found)(?: myself| us)? (?:an?|another|this|two|three|four|some))"
    rf" (?:[a-z]+ ){{0,2}}?(?P<pet>{_any([*PETS, *PET_PLURALS])})\b"
    r"(?=\s*(?:[,.;!?)'’]|$)|(?:['’]s)? (?:is|was|and|has|had|who|that|to|in|at|on|so|when|with|for|yesterday|today|last|"
    r"loves|likes|the|this)\b)(?! (?:named|called))"
)
#: Somebody and the speaker, who belong together: no part of the sentence ends there.
TOGETHER = re.compile(rf"((?<![\w'’-]){_NO_PLACE}{NAME}|\b[Mm]y {ADJECTIVES}(?:{_any(ROLES)})) and I\b")
#: Who it is said of, before it.
SUBJECT = re.compile(
    rf"(?:\b[Mm]y (?:ex-)?{ADJECTIVES}(?P<role>{_any(ROLES)})(?:,? (?P<rolename>{NAME})),?|\b[Mm]y {ADJECTIVES}(?P<role2>{_any(ROLES)}),?"
    rf"|(?P<self>\b(?:I|We|we))|\b(?P<pronoun>[Ss]he|[Hh]e)\b|(?<![\w'’-])(?P<name>{NAME}),?)"
    r"(?P<andself> (?:and|&) (?:I|me)\b)?(?:,? who)?"
    r"(?:['’](?:m|s|ve|re|d))?"
    r"(?: (?:am|is|are|was|were|have|has|had|do|did|both|all|now|currently|still|also|just|recently|actually|finally|"
    r"already|even|once|then|first|no longer|don['’]t|doesn['’]t|do not|does not|only|usually|got|went))*['’]?\s*$"
)
#: Whose subject stands further back: "... and works at".
GOES_ON = re.compile(r"(?:\band|\bbut|,)(?: (?:now|also|currently|just|recently|then|he|still))?\s*$")
#: Nothing stands before a verb that is said of the speaker without "I".
ELIDED = re.compile(
    r"^\W*(?:(?:[Yy]eah|[Yy]ep|[Oo]h|[Ww]ell|[Jj]ust|[Rr]ecently|[Aa]lso|[Ss]o|[Ff]inally|[Aa]ctually)\W+)*$"
)
