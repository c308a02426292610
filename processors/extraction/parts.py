"""A sentence cut into the pieces that may state or ask something for themselves.

What states nothing is left out here: conditions, what others say, jokes, quotations, fiction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from processors.extraction.english import PAST, anycase, words

_SAME_FORM = words("read put quit set let hit led lit found felt saw left spoke wore rose thought did")
#: A longer sentence was pasted, not said.
LONGEST_SENTENCE = 700


class Part(NamedTuple):
    """A piece of a sentence, whether it is asked, and the words that joined it to the piece before."""

    text: str
    asked: bool
    joint: str


_SELF = r"(?:i|we|i'[mdv]e?|i'll|we'[rv]e|we'll|my|our)\b"
_ASKING = (
    r"(?:(?:can|could|would|will|do|did|have|are|should) (?:you|we|i)|is there|are there|is it|any (?:ideas|tips|"
    r"suggestions|chance|advice|good)|what|how|which|who|where|why|please|let's|lets|find|show|play|take me|"
    r"give me|tell me|recommend|suggest|help|make sure|set|turn|navigate|remember|only|always|avoid|preferably|ideally|keep|take|play|direct|look for|stick|no need|"
    r"need|must|prefer|switch|check|it (?:has|needs|must|should))\b"
)
_JOINT = anycase(
    rf"(?:\s*(?:[,;:—–]|\.{{2,}}|\.(?=\s)|\s-{{1,2}}(?=\s))\s*|\s+)(?:(?P<word>(?:and|but|so|yet)(?: also| so| yes| then| now)?|because|'?cause|"
    rf"since|as(?! (?:my|our)\b)|plus|though|although|while|when|whenever|if|unless|whether|until|then|now|or|"
    rf"and if|but if|especially when|where|than|after|before|in case|(?:and |but |as )?you know(?: that)?|honestly)\s+)?(?={_SELF}|{_ASKING})"
)
NOT_STATED = anycase(
    r"(?:and )?(?:(?:and|but|so|or) )?(?:if|unless|whether|when|whenever|until|that|which|who|where|than|or|after|before|"
    r"in case|as if|especially when)$"
)
_UNREAL = anycase(
    r"\b(?:just kidding|only kidding|kidding aside|jk|j/k|only joking|just joking|yeah,? right|not!|as if!|"
    r"in (?:my|this|the) (?:dreams?|story|novel|game|script|play|scenario)|my character|my protagonist|role-?play|"
    r"hypothetical(?:ly)?|let's say|let's pretend|pretend(?:ing)?|imagine|imagining|suppose|supposing|what if|"
    r"say i|wish i|i wish|if i were|sarcas\w+|/s|theoretically|for example|e\.g|once upon|"
    r"act(?:ing)? as|quote|saying goes|lyrics?)\b"
)
KIDDING = anycase(r"\W*(?:(?:i'm |haha,? |lol,? |no,? )*(?:just |only )?(?:kidding|joking)|jk|/s|not)\W*$")
HEARSAY = anycase(
    r"(?:according to|rumou?r has it|to quote|in the words of|they say|people say|i(?:'ve)? heard|i was told|"
    r"(?:my|his|her|our|the|a|some|one of my) [\w' ]{2,30}? (?:says?|said|thinks?|thought|claims?|believes?|told|tells|suggest(?:s|ed)|"
    r"insists?|insisted|recommend(?:s|ed)|wants?|wanted|asked|guess(?:es)?|keeps? saying|joke[sd])(?! (?:to learn|to become|to be))\b|"
    r"(?-i:[A-Z])\w+ (?:says?|said|thinks?|thought|claims?|told|believes?|insists?)\b)"
)
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|```.*?(?:```|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_FIRST = anycase(r"\b(?:i|i'm|my|i've|we|me)\b")
_QUOTING_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)


def mask_quotes(text: str) -> str:
    """Blank out what others are quoted with, code, and quoted lines, character for character."""
    masked = _QUOTED.sub(
        lambda match: " " * len(match[0]) if match[0][0] == "`" or _FIRST.search(match[0]) else match[0], text
    )
    return _QUOTING_LINE.sub(lambda match: " " * len(match[0]), masked)


#: "I moved to Rome and got a dog" are two things done, and so are "I have a dog and work as a nurse" two that hold.
_ALSO_DID = rf"(?:{'|'.join(sorted(PAST - _SAME_FORM))}|\w{{2,}}ed(?= (?:an?|the|my|our|to|in|at|for|with|some|from|on|up|out|into|off|back|home)\b))"
_NO_OTHER = r"(?:(?!\b(?:who|which|that|she|he|they|it|you|if|when|as|and i)\b)[^.;?!])"
_CONJOINED = anycase(
    rf"\b(?P<self>i|we) (?:(?:just|recently|also|finally|actually) )?(?:(?:{_ALSO_DID})\b(?:(?!\bto (?!(?-i:[A-Z])|the|a)){_NO_OTHER}){{1,80}}?,? and (?:then |also |later )?(?!had to\b)(?=(?:{_ALSO_DID}) )"
    rf"|(?:live|work|have|teach|own|study|am)\b(?:(?!\bto\b){_NO_OTHER}){{1,60}}?,? and (?=(?:work|live|have|teach|own|study|love|enjoy|play|do not|don't|am) ))"
)


def parts(sentence: str) -> Iterator[Part]:
    """The pieces of a sentence that may state or ask something for themselves."""
    if len(sentence) > LONGEST_SENTENCE or _UNREAL.search(sentence) or HEARSAY.match(without_opener(sentence)):
        return
    sentence = _CONJOINED.sub(lambda found: f"{found[0]}{found['self']} ", sentence)
    asked = sentence.rstrip("\"'”’)* ").endswith("?")
    begin, joint = 0, ""
    cuts = list(_JOINT.finditer(sentence, 1))
    # A plain space joins nothing ("the food I like"); a lead-in ("last week I went") is cut off later.
    cuts = [cut for cut in cuts if cut[0].strip()]
    for cut in cuts:
        left = sentence[begin : cut.start()].strip()
        if OPENER.fullmatch(f"{left}, ") or (not cut["word"] and LEAD_ONLY.fullmatch(left)):
            continue  # "well, I ...", "last week, I ..."
        yield Part(sentence[begin : cut.start()].strip(), False, joint)
        begin, joint = cut.end(), cut["word"] or ("," if cut[0].strip()[:1] in ",-—–" else "")
    yield Part(sentence[begin:].strip(), asked, joint)


OPENER = anycase(
    r"(?:(?:yes|yeah|yep|yup|no(?=[,.!:]| (?:i|i'm|i've|my|we)\b)|nope|nah|well|so|oh|ah|aw+|and|but|also|plus|ok|okay|alright|right|sure|thanks?|"
    r"thank you|hey|hi|hello|wow|woohoo|haha+|lol|hm+|um+|uh|sorry|anyway|besides|honestly|actually|personally|"
    r"to be (?:honest|fair|clear)|tbh|btw|fyi|by the way|you know(?: what)?|i mean|like|in fact|of course|for sure|"
    r"absolutely|definitely|totally|exactly|unfortunately|luckily|guess what|just so you know|as you know|"
    r"as i said|perfect|great|cool|nice|awesome|good|alas|please (?:remember|note)|remember|keep in mind|note|"
    r"the thing is|for (?:the record|me)|because|since|as|then|no wait|wait|correction|i meant|that said|"
    r"first(?:ly)?|let me (?:introduce myself|tell you)|(?-i:[A-Z])[a-z]+,(?= (?:i|my)\b))"
    r"(?:,? (?:that|so much|a lot|again|there|both|everyone|all|(?-i:[A-Z])[a-z]+(?=[,!.])))?[\s,!.:…—–-]+)+"
)


def without_opener(text: str) -> str:
    """ "Well, yes, I do" is "I do"."""
    opener = OPENER.match(text)
    return text[opener.end() :] if opener is not None else text


LEAD = anycase(
    r"(?:(?:back )?in|on|at|for|every|last|next|this|yesterday|today|tonight|tomorrow|recently|lately|currently|"
    r"usually|sometimes|normally|generally|these (?:days|weeks)|nowadays|now|after|during|two|three|four|five|six|an? (?:while|long time|few|couple|day|week|month|year)|since|from|"
    r"growing|once|most|each|as|with|right|by|until|earlier|just|\d+)\b(?P<lead>[^,.;?!]{0,60}?),?\s+(?=(?:i|i'm|i've|we|i'll|my)\b)"
)
LEAD_ONLY = anycase(rf"{LEAD.pattern.partition('(?P<lead>')[0]}[^,;]{{0,60}}")
