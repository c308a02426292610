"""What a sentence leaves to the one before it, or to what only those who talk can see (English)."""

from __future__ import annotations

from processors.summaries.perspective import is_past
from processors.summaries.speech_acts import any_of, says

_TIME = (
    r"(?:(?:past|last|coming|next) )?(?:week\w*|month|year|morning|afternoon|evening|night|spring|summer|"
    r"autumn|fall|winter|term|semester|season|time|\w+day)\b"
)
#: "It", which stands for what comes behind, for the time or for the weather.
_EXPLETIVE = (
    r"(?!it(?:'s| is| was) an? (?:\w+ ){1,6}that\b(?<!shame that)(?<!pity that)(?<!relief that))it(?:'s| is|"
    r" was|'d be| would be| will be|'ll be| has been|'s been| can be| could be| might be| must be| feels?|"
    r" felt| seems?| takes?| took| makes?| made| means?| helps?| costs?)(?:(?! (?:to|that|how|when|if|like|"
    r"for|all|about|because|on|in|of|by|based)\b) \w[\w-]*){1,6} (?:to \w|that (?:i|we|you|he|she|it|they|the|"
    r"my|our|there)\b|(?:how|when|if|seeing|having|being) )"
)
_NO_MATTER = (
    r"it(?:'s| is| was|'ll be| will be) (?:\w+ ){0,3}(?:rain|snow|sunny|windy|late|early|time|"
    r"\d|half|quarter|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|spring|summer|autumn|winter|"
    r"christmas|(?:my|our|\w+'s) (?:\w+ )?(?:birthday|anniversary|turn))|it (?:seems|appears|turns out|"
    r"turned out) that\b|it (?:seems|seems like|looks like|turns out|turned out) (?:i|we|my|our|there)\b"
)
#: Whether a sentence is about what only the sentence before it names.
points_back = says(
    rf"^(?!{_EXPLETIVE}|{_NO_MATTER})it\b|^(?!this {_TIME}|that {_TIME})(?:this|that)\b",
    # "Started when I was young": what, the sentence before says.
    r"^(?:(?:really|just|also) )?(?:made(?! (?:an?|my|our) )|reminded|brought(?! (?:the|an?|my|our) )|meant|"
    r"(?:started|began|ended)(?! (?:the|an?|my|our|\w+ing) )|happened|lasted|turned out(?! that )|"
    r"came out|belongs|brings|depends|feels|gets|gives|helps|keeps|looks(?! like (?:the|my|our|we|i)\b)|"
    r"makes|means|reminds|seems|shows|sounds|takes)\b",
    r"^(?:i|we) (?:\w+ )?(?:chose|picked|decided on) (?:it|them|this|that|these|those)\b|^(?:its|their|"
    r"his|her) ",
    r"^(?:one|some|both|neither|none|all|most) of (?:them|these|those|it)\b",
)
_PICTURE = r"(?:pics?|pictures?|photos?|snaps?|shots?)"
#: Whether a sentence is about what is shown to whom it is said to.  A picture, or what somebody stands before.
is_seen = says(
    rf"^(?:(?:and|so) )?here(?:'s| is| are) (?:\w+ ){{0,3}}(?:{_PICTURE}|peek|look|one)\b|"
    r"^check (?:out(?! of\b)|this|these|my)\b",
    rf"^(?:this|that|the) (?:\w+ )?{_PICTURE}\b(?! of (?:the|my|our)\b)|"
    rf"\b(?:your|great|nice|cool|gorgeous|chill) {_PICTURE}\b",
    r"\bthis (?:book|series|place|recipe|movie|painting|dress|game|song|spot|shop|car)\b(?! of\b)|"
    r"\b(?:this|these)\W*\Z|\b(?:include|chose|picked|take) this (?:at|in|on|for|because)\b",
    r"\b(?:that|this) way\W*\Z",
)


#: Who "we" are besides the speaker, only what is said around it says.
_WE = any_of(r"\bwe\b")
_ANOTHER = any_of(
    r"\b(?:he|she|him|her|my (?:\w+ )?(?:mom|mum|mother|dad|father|parents|wife|husband|girlfriend|boyfriend|"
    r"fianc\w+|friends?|brother|sister|boss|team|family|company|firm)|(?:\w+ )?friends|\w+mates?|colleagues|"
    r"co-?workers|neighbou?rs|you and (?!i\b|me\b)\w+|(?<!both of )them)\b"
)


def is_we_with_another(sentence: str, around: str) -> bool:
    """Tell whether a "we" may be its speaker and somebody who is spoken of around it."""
    return bool(_WE.search(sentence) and not _ANOTHER.search(sentence) and _ANOTHER.search(around))


_OWN_WE = any_of(
    r"\bwe(?:'ve| have)? (?:all |both |just |also |even |really |already |finally |recently )*(?P<verb>\w+)\b",
    r"\bwe(?:'re| are) (?:\w+ly |all |both |just |now )?(?P<doing>(?!going\b|being\b|having\b)\w+ing)\b",
)


def is_own_we(sentence: str) -> bool:
    """Tell whether somebody tells what "we" did, were or are doing, and not with whom."""
    told = (
        found["doing"] or is_past(found["verb"]) or "'ve " in found[0] for found in _OWN_WE.finditer(sentence)
    )
    return any(told) and not _ANOTHER.search(sentence)


_ADVISED = any_of(
    r"\bwhy (?:don't|not)\b|\b(?:how|what) about\b|\bmaybe you\b|"
    r"\byou (?:should|could|might|ought to|had better)\b"
)
_CONSEQUENCE = any_of(
    r"^(?:then |that way,? |and |so )*(?:you|we|i|it|that)(?:'ll|'d| will| would| can| could)\b"
)


def follows_from_advice(advice: str, sentence: str) -> bool:
    """Tell whether a sentence says what would come of advice: "You will have more room"."""
    return _CONSEQUENCE.search(sentence) is not None and _ADVISED.search(advice) is not None
