"""Which clauses of a sentence state something about the person who says it.

Left out: questions, conditions, what others are quoted with ("according to my sister, I ..."), and the
request that hangs on a statement ("I love Thai food, can you find a place?").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from processors.extraction.own_words import Sentence


@dataclass(frozen=True, slots=True)
class Clause:
    """A declarative clause, beginning with its subject; ``lead`` is the adverbial that stood before it."""

    text: str
    lead: str = ""
    hedged: bool = False
    elided: bool = False


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """The first-person clauses of a sentence that state something."""
    text = _OPENERS.sub("", sentence.text)
    if _CONDITION.match(text) or _HEARSAY.match(text):
        return
    text, request = _cut_request(text)
    parts = list(_split(text))
    asked = bool(request) or (len(parts) > 1 and _INTERROGATIVE.match(parts[0]) is not None)
    for n, part in enumerate(parts):
        last = n == len(parts) - 1
        if last and sentence.is_question and not asked:
            return
        if _CONDITION.match(part) or _inside_quotes(text, part):
            continue
        if (clause := _clause(part, first=n == 0)) is not None:
            yield clause


# --- what stands around a statement --------------------------------------------------------------------

_UNSURE = r"(?:maybe|perhaps|probably|possibly|apparently|supposedly|presumably|allegedly)"
#: "Maybe, I like it" is not said to somebody called Maybe.
_NAME = (
    rf"(?!(?:{_UNSURE}|hypothetically|theoretically|hopefully|ideally|imagine|suppose|pretend)\b)"
    r"(?-i:[A-Z][a-z]+)"
)
_OPENERS = re.compile(
    r"\A(?:(?:(?:yes|yeah|yep|yup|no|nope|nah|well|so|oh|ah|aw+|and|but|also|plus|ok|okay|alright|right|sure|"
    r"thanks?|thank you|hey|hi|hello|hiya|wow|woohoo|yay|haha+|lol|hm+|um+|uh|sorry|anyway|besides|honestly|"
    r"actually|personally|seriously|to be (?:honest|fair|clear)|tbh|btw|fyi|by the way|speaking of which|"
    r"you know|i mean|like|in fact|of course|for sure|absolutely|definitely|totally|exactly|basically|"
    r"unfortunately|luckily|guess what|just so you know|just (?:to|a quick) \w+|as you know|as i said|"
    r"as always|"
    r"(?:please )?(?:remember|note|keep in mind|you (?:should )?know|(?:i )?want you to know|"
    r"let me tell you)(?: that)?|the thing is|for (?:the record|me|what it's worth)|that's (?:great|perfect|"
    r"good|fine|nice|cool|right)|perfect|great|cool|nice|awesome|good)"
    rf"(?:(?: so much| a lot| again| there| both)?(?:,? {_NAME})?\s*(?:[,!.:—–-]+\s*|\s+(?=(?:i|my|we)\b)))"
    rf"|{_NAME}, (?=(?:i|my|we)\b)))+",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:if|unless|suppose|supposing|imagine|assuming|what if|let's say|say i|in case|whether|as if|even if|"
    r"i wish|if only|pretend|hypothetically|theoretically|hopefully|ideally|"
    r"(?:should|had|were) i|as soon as (?:i|my|we))\b"
    r"|once (?:i|i've|my|we)\b[^,]*,",
    re.IGNORECASE,
)
#: What others say of a person is not what the person says.
_HEARSAY = re.compile(
    r"(?:according to (?!my (?:doctor|birth|passport))|to quote|quoting|in the words of|rumou?r has it|"
    r"as (?!i\b)[\w' -]{2,40}? (?:says?|said|puts? it|used to say)\b)",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:is|are|was|were|but|thinks?|thought|says?|said|believes?|assumes?|assumed|knows?|knew|claims?|"
    r"guess(?:es)?|swears?|told|insists?)\b",
    re.IGNORECASE,
)
_INTERROGATIVE = re.compile(
    r"(?:who|what|when|where|why|how|which|can|could|would|will|shall|should|do|does|did|is|are|was|were|has|"
    r"may|isn't|aren't|don't you|any|wanna|want to)\b(?! i\b.*\b(?:love|hate|like)\b.*!)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(?:^|[,;.–—-]?\s+)(?:(?:so|and|but|then|now),? )?(?:"
    r"(?:(?:can|could|would|will|do|did|should|won't|couldn't|can't) (?:you|we|i)|is there|are there|have you|"
    r"do you|is it|are you|what|where|how|which) (?=.*\?$)"
    r"|(?:can|could|would|will) you\b"
    r"|please\b(?! (?:me|him|her|them)\b)"
    r"|(?<=[,;–—-] )(?:let's|find|show|play|set|turn|navigate|make|book|start|take me|give|tell|recommend|"
    r"suggest|help|any (?:ideas|suggestions|recommendations|tips)|what about|how about)\b"
    r"|so (?:let's|find|show|play|set|turn|navigate|make sure|book|start|take me|give me|tell me|recommend|"
    r"suggest)\b"
    r").*$",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"(?:,? (?:right|you know|okay|ok|huh|eh|lol|haha+|isn't it|don't you think|don't i|am i right|"
    r"if that makes sense|if that helps|remember)\?*)$",
    re.IGNORECASE,
)


def _cut_request(text: str) -> tuple[str, str]:
    """Part a statement from the request or the tag that hangs on it."""
    for pattern in (_REQUEST, _TAG):
        for match in pattern.finditer(text):
            if match.start() > 0 and _FIRST_PERSON.search(text, 0, match.start()):
                return text[: match.start()], match[0]
    return text, ""


def _inside_quotes(text: str, part: str) -> bool:
    position = text.find(part)
    return position > 0 and text.count('"', 0, position) % 2 == 1


# --- clauses of a sentence -----------------------------------------------------------------------------

_FIRST_PERSON = re.compile(r"\b(?:i|my|we|me)\b", re.IGNORECASE)
_SUBJECT = r"(?:i|i'(?:m|ve|d|ll)|we|we'(?:re|ve|d|ll))\b(?!')"
_JOINT = re.compile(
    rf"(?P<hard>\s*;\s*|\s+[-–—]+\s+|\s*[–—]\s*|\.\.+\s*|…\s*|,? (?:and|but|so|yet) (?={_SUBJECT})"
    rf"|, (?:and|but|so) (?=my\b))"
    rf"|(?P<reason>,? (?:because|cause|'cause|cuz|since|as|although|though|while|plus) )(?={_SUBJECT}|my\b)"
    rf"|(?P<comma>, )(?={_SUBJECT})",
    re.IGNORECASE,
)
_ASKS = re.compile(
    rf"{_INTERROGATIVE.pattern}|(?:please|find|show|play|set|turn|navigate|make|book|start|take|give|tell|"
    rf"recommend|"
    r"suggest|help|get|keep|avoid|use|look|search|choose|pick|skip|stop|don't|route|park|open|close|add|put)\b",
    re.IGNORECASE,
)
_COMPANION = re.compile(r"(?:me|my [\w-]+(?: [\w-]+)?)", re.IGNORECASE)
_DECLARATIVE = re.compile(rf"(?:{_SUBJECT}|my\b)", re.IGNORECASE)


def _split(text: str) -> Iterator[str]:
    """Cut where a new clause with its own first-person subject begins."""
    start = 0
    for joint in _JOINT.finditer(text):
        left = text[start : joint.start()].strip()
        if joint["hard"] is not None:
            # A dash in front of a remark ("- so exciting!") is no joint: the remark would be lost.
            if not _DECLARATIVE.match(text, joint.end()) or _COMPANION.fullmatch(left):
                continue  # ..., and "my wife and I" is one subject
        elif joint["reason"] is not None:
            if not _ASKS.match(left):
                continue  # "I moved because I love it": one statement
        elif _LEAD.fullmatch(left) or _HEDGE.match(f"{left} I"):
            continue  # "Last week, I went", "Maybe, I like it"
        yield left
        start = joint.end()
    yield text[start:].strip()


_HEDGE = re.compile(
    rf"(?:(?:i (?:think|guess|suppose|believe|reckon)|{_UNSURE})(?: that)?,?) "
    r"(?=(?:i|my|we)\b)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?:i (?:would|'d|have to|must|gotta|do) (?:say|admit|confess)|i (?:can|have to) tell you|i (?:told|"
    r"already told|said to) "
    r"you|i know|you know how|it's just|it's because|you see|the truth is|that's (?:because|why|how|where|"
    r"when))"
    r"(?: that)?,? (?=(?:i|my|we)\b)",
    re.IGNORECASE,
)
_CONNECTED_ASIDE = re.compile(
    rf"{_ASIDE.pattern}|(?:because|since|cause|'cause|as|while) (?=(?:i|my|we)\b)", re.IGNORECASE
)
_SUBORDINATE = r"(?:when|whenever|while|after|before|since|until|as|ever since)"
#: An adverbial before the subject; only a subordinate one has an "I" of its own.
_LEAD = re.compile(
    rf"(?:{_SUBORDINATE} (?:{_SUBJECT} )?[^,;?!]{{3,80}}"
    r"|(?:yesterday|today|tonight|tomorrow|lately|recently|currently|nowadays|usually|sometimes|generally|"
    r"normally|typically|often|these days|right now|at the moment|once|growing up|due to|because of|thanks to|"
    r"given|despite|during|last|next|this|every|each|most|on|in|"
    rf"at|for|from|with|over|back in|a (?:few|couple)|two|three|\d+|by|as an?|as the)\b(?:(?! (?:{_SUBJECT}|"
    rf"(?:is|are|was|were|where|what|why|how|which|that)\b))[^,;?!]){{0,60}})",
    re.IGNORECASE,
)
_LED = re.compile(
    rf"(?P<lead>{_SUBORDINATE} (?:{_SUBJECT} )?[^,;?!]{{3,80}}?|{_LEAD.pattern}?)(?:, ?| )"
    rf"(?P<clause>(?:{_SUBJECT}|my) .*)",
    re.IGNORECASE,
)
#: "Sushi is my favorite food" is "my favorite food is Sushi".
_IS_MINE = re.compile(
    r"(?!(?:it|that|this|these|those|he|she|they|there|here|what|who|which|one|so|and|but|"
    r"to)\b)(?P<thing>[\w'& -]{2,60}?)"
    r"(?P<verb>'s| is| are) (?:still |definitely |always |one of )?my (?P<noun>[\w-]+(?: [\w-]+){0,3})",
    re.IGNORECASE,
)
#: First words of a statement without its "I": "Love hiking!", "Just got back from Rome", "Allergic to nuts".
_ELIDED = re.compile(
    r"(?:(?:always|never|really|just|absolutely|definitely|strongly|totally|still|also|finally) )*"
    r"(?:(?P<be>allergic to|(?:not )?(?:an? )?(?:big |huge |great )?fan of|obsessed with|gonna|(?:not )?into|"
    r"thinking of)|(?P<have>been \w+ing)|"
    r"(?P<do>(?:love|hate|prefer)(?! (?:and|or|of|is|was|are|has|will|can|comes|means|built)\b)|adore|dislike|"
    r"enjoy|can't stand|don't (?:like|eat|drink|enjoy|care)|loved|hated|enjoyed|went|bought|finished|joined|"
    r"visited|moved|started|got (?:a|an|my|back|married|engaged|promoted|hired|into)"
    r"))\b.*",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"(?:\s+[-–—]+\s+|\s*[–—]\s*|\.\.+ ?|…)(?:(?:so|it's|it was|such|pretty|really|super|very|what|how|can't|"
    r"totally)\b[^-–—]*"
    r"|[\w']+(?: [\w']+){0,2})$",
    re.IGNORECASE,
)
#: Possessive, or a long run of dots that does not end the text takes exponential time.
_END = re.compile(r"(?:[\s.!?,;:…~]|(?<=\s)(?:[-–—]|[:;]-?[)D(P]))++$")
_TAIL = re.compile(
    r",? (?:lol|haha+|though|tho|then|too|as well|either|actually|honestly|you know|for sure|i guess|i think|"
    r"btw|by the way|thanks|thank you|man|dude|anyway|tbh|to be honest|i must say|as you know|please)$",
    re.IGNORECASE,
)


def _clause(part: str, *, first: bool) -> Clause | None:
    """Strip what stands before the subject and behind the statement; None when there is no subject."""
    hedged = elided = False
    text, before = part, ""
    while text != before:
        before = text
        text = _OPENERS.sub("", text)
        if (match := _HEDGE.match(text)) is not None:
            text, hedged = text[match.end() :], True
        if (match := (_ASIDE if first else _CONNECTED_ASIDE).match(text)) is not None:
            text = text[match.end() :]
    lead = ""
    if not _DECLARATIVE.match(text):
        if (led := _LED.fullmatch(text)) is not None:
            lead, text = led["lead"], led["clause"]
        elif (mine := _IS_MINE.fullmatch(_END.sub("", text))) and not _REPORTS.search(mine["thing"]):
            verb = "is" if mine["verb"] == "'s" else mine["verb"].strip()
            thing = mine["thing"]
            if thing.split(" ", 1)[0].endswith("ing"):
                thing = thing[0].lower() + thing[1:]
            text = f"my {mine['noun'].strip()} {verb} {thing}"
        elif first and (short := _ELIDED.fullmatch(text)) is not None:
            subject = "I'm" if short["be"] else "I've" if short["have"] else "I"
            text, elided = f"{subject} {text[0].lower()}{text[1:]}", True
        else:
            return None
    text = _REMARK.sub("", _END.sub("", text))
    while (shorter := _END.sub("", _TAIL.sub("", text))) != text:
        text = shorter
    return Clause(text, lead, hedged, elided) if text else None
