"""Statements that take two to make: an answer to a question, and words that complete an earlier statement.

Seed 000's example needs all of it::

    user: you know what i like?     a person may announce what the next answer is about
    assistant: what?                a bare question only hands the turn back
    user: blueberries.              the answer: "I like blueberries"
    assistant: thats great.
    user: especially in smoothies.  completes it

An answer is put into the first person and judged by the same rules as any other clause.
"""

from __future__ import annotations

import re

from models.facts import Category
from processors.extraction.clauses import Clause
from processors.extraction.lexicon import FREQUENCY, HABITS, LIKING, PEOPLE_AND_PETS
from processors.extraction.rules import Ruling, rule

#: An answer is a little less sure than the same said unasked; one whose question is out of sight much less.
_ANSWERED, _INFERRED = 0.95, 0.55

_MAX_WORDS = 9
_END = re.compile(r"[\s.!,;:…~]+$")
_OPENER = re.compile(
    r"(?:(?:well|oh|um+|uh|hm+|so|probably|definitely|maybe|mostly|i (?:think|guess)|i'd say|i would say|it's|"
    r"it is|that would be|that's|just|mainly|usually|like|ok(?:ay)?|sure|yes|yeah)\b,? )+",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"(?:(?:yes|yeah|yep|yup|no|nope|nah|ok(?:ay)?|sure|thanks|thank you|great|cool|nice|good|perfect|awesome|"
    r"wow|fine|maybe|hello|hi|hey|bye|please|sorry|what|why|how|who|nothing|anything|something|idk|not|lol|"
    r"haha|really|right|true|exactly|of course|absolutely|alright|never ?mind|no idea|i|i'm|my|we|you|it|that|"
    r"this|they|he|she|there|can|could|would|will|do|does|is|are|let|let's|find|show|navigate|set|turn|start|"
    r"take|tell|give|stop|go|make|get|play|help|look|search|increase|decrease|none|neither|either|nobody|"
    r"nowhere|whatever|whichever|wherever|whoever|depends|dunno|unsure|for (?:my|him|her|them)|"
    r"(?:ca|do|does|did|have|is|are|was|wo|would)n't)\b|[^\w\"']*$"
    r"|(?:guess|skip|pass|next(?: question)?|same(?: here)?|secret|private|zero|negative|n/a|between jobs|"
    r"hard to (?:say|tell|choose|pick))$|.*\b(?:used to|would|depends|ago|doesn't|don't)\b)",
    re.IGNORECASE,
)
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|of course|definitely|absolutely|very much|a lot(?! of)|totally|"
    r"(?:sure|i do|i am)(?! \w))\b",
    re.IGNORECASE,
)
#: What takes a yes back, leaves it open, binds it to a condition or says it of somebody else.
_HARDLY_YES = re.compile(
    r"n't\b|\b(?:not|never|no|nope|nah|once|was|were|used|if|unless|until|but|except|when|only|depends|right|"
    r"whatever|one day|someday|soon|he|she|they|my (?!fav)|his|her|their|people|everyone|know|think|kidding|"
    r"joking)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:no|nope|nah|not at all|(?:definitely|absolutely|of course|certainly|totally) not|never|"
    r"(?:not really|i don't|i do not|i'm not|i am not)(?! (?!any ?more\b|really\b|at all\b)\w))\b",
    re.IGNORECASE,
)
_HARDLY_NO = re.compile(
    r"\b(?:yes|yeah|know|sure|certain|remember|idea|clue|comment|problem|worries|doubt|wait|if|unless|mind|"
    r"again|(?:i do|i am)(?! not)|longer than|more than|kidding|joking)\b",
    re.IGNORECASE,
)


def fragment(text: str) -> str | None:
    """The bare answer in a reply ("Blueberries, I think!" -> "Blueberries"), or None when there is none."""
    core = _OPENER.sub("", _END.sub("", re.sub(r",? (?:i think|i guess|probably|please|for me)\W*$", "", text)))
    if not core or core.endswith("?") or len(core.split()) > _MAX_WORDS or _NO_ANSWER.match(core):
        return None
    return core


# --- answers -------------------------------------------------------------------------------------------

_HANDED_BACK = re.compile(
    r"(?:(?:oh|hm+|ok(?:ay)?|no|nope|sure|yes|yeah|go on|go ahead|tell me|do tell)[,.!]* )*"
    r"(?:what|who|where|which(?: one)?|what is it|what's that|tell me(?: more)?|do tell|go on|go ahead|and|"
    r"like what)?[?!.]*$",
    re.IGNORECASE,
)
_LIKE = "|".join(sorted(LIKING))
_KEEP_DOING = "|".join(sorted(LIKING | HABITS))
_ANNOUNCED = re.compile(
    rf"(?:(?:do )?(?:you |ya )?(?:wanna |want to )?(?:know|guess|hear)(?: about)?) what(?: \w+)? "
    rf"(?P<clause>i (?:\w+ ){{0,2}}?(?:{_LIKE}|can't stand)|my [\w ]+? (?:is|are))(?P<rest> [^?]+)?\W*$",
    re.IGNORECASE,
)
_YOURS = re.compile(
    r"(?:.*\b)?what(?:'s| is| are|re) your (?P<noun>(?!name of)[\w' -]{2,40})\?$", re.IGNORECASE
)
_WHAT_DO_YOU = re.compile(
    rf"(?:.*\b)?(?:what|which|who)(?: (?:kinds?|types?|sorts?|style) of)?(?: [\w-]+){{0,3}}? (?:do you|"
    rf"would you (?!like|have|take|want)) ?"
    rf"(?:(?:usually|normally|generally|most|typically|really|mostly) )*(?P<verb>{_KEEP_DOING}|rather)"
    r"(?P<to> to \w+)?(?: (?:most|the most|best|these days|in general))?(?:[,:] [^?]*)?\?$",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"(?:.*\b)?where(?: do you (?P<verb>live|work|study)|(?: are you|'re you) (?P<be>from|based|living|"
    r"working))"
    r"(?: now| these days)?\?$",
    re.IGNORECASE,
)
_WORK = re.compile(
    r"(?:.*\b)?what do you do(?: for (?:a living|work))?\?$|(?:.*\b)?what(?:'s| is) your (?:job|profession|"
    r"occupation)\?$",
    re.IGNORECASE,
)
_AGE = re.compile(r"(?:.*\b)?how old are you\?$", re.IGNORECASE)
_ALLERGIES = re.compile(r"(?:.*\b)?(?:any|have|your) (?:food )?allergies\b[^?]*\?$", re.IGNORECASE)
_PREFERENCE = re.compile(
    r"(?:.*\b)?(?:do|would) you (?:rather|prefer)\b[^?]*\?$|.*\b(?:any|a|your) (?:\w+ )?preferences?\b[^?]*\?$",
    re.IGNORECASE,
)
_DO_YOU = re.compile(
    rf"(?:.*[,.!] )?(?:and )?do you (?P<adverb>usually |often |always |"
    rf"ever )?(?P<verb>{_KEEP_DOING})\b(?P<rest> [^?]+)\?$",
    re.IGNORECASE,
)
_ARE_YOU = re.compile(
    r"(?:.*[,.!] )?(?:and )?are you (?P<rest>(?!sure|ok|okay|there|ready)[^?]+)\?$", re.IGNORECASE
)
#: A question about somebody else's allergies or preferences, or about what is not wanted.
_OF_OTHERS = re.compile(
    rf"\b(?:does|has|he|she|they|his|her|their|anyone|anybody|everyone|guests?|your (?:{PEOPLE_AND_PETS}))\b",
    re.IGNORECASE,
)
_UNWANTED = re.compile(r"\b(?:avoid|skip|exclude|leave out|not|never|without)\b", re.IGNORECASE)
_PLACE = re.compile(r"(?:in|at|on|near|outside|just|from|close)\b", re.IGNORECASE)


def answer(question: str, reply: str, announcement: str = "") -> Ruling | None:
    """The statement that ``reply`` makes as an answer to ``question``, the last sentence before it.

    ``announcement`` is what the person who answers had said before the question, if anything.
    """
    sentence = None
    core = fragment(reply)
    if core is not None:
        if announcement and _HANDED_BACK.fullmatch(question):
            sentence = _announced(announcement, core)
        else:
            sentence = _content(question, core)
    if sentence is None:
        sentence = _yes_or_no(question, reply)
    ruling = (
        rule(Clause(sentence, hedged=bool(re.search(r"\b(?:maybe|i guess|probably)\b", reply, re.I))))
        if sentence
        else None
    )
    if ruling is None or ruling.category is None:
        return None
    return Ruling(ruling.statement, ruling.category, round(ruling.confidence * _ANSWERED, 3))


def _announced(announcement: str, core: str) -> str | None:
    match = _ANNOUNCED.fullmatch(announcement)
    return f"{match['clause']} {core}{match['rest'] or ''}" if match is not None else None


def _content(question: str, core: str) -> str | None:
    """The answer to a question that says what it is about, in the first person."""
    sentence = None
    if _PREFERENCE.fullmatch(question) and (_OF_OTHERS.search(question) or _UNWANTED.search(question)):
        return None
    if _ALLERGIES.fullmatch(question):
        # "Does your son have any allergies?", "Only my son, peanuts"
        theirs = re.sub(r"\bmy\b", "your", f"{question} {core}", flags=re.IGNORECASE)
        sentence = None if _OF_OTHERS.search(theirs) else f"I'm allergic to {core}"
    elif _WORK.fullmatch(question):
        sentence = (
            f"I'm {core}" if re.match(r"an? |the |retired|unemployed", core, re.I) else f"I work as {core}"
        )
    elif match := _YOURS.fullmatch(question):
        verb = "are" if re.search(r"what are your", question, re.IGNORECASE) else "is"
        sentence = f"My {match['noun']} {verb} {core}"
    elif match := _WHERE.fullmatch(question):
        place = core if _PLACE.match(core) else f"from {core}" if match["be"] == "from" else f"in {core}"
        sentence = f"I {match['verb']} {place}" if match["verb"] else f"I'm {_based(match['be'])}{place}"
    elif _AGE.fullmatch(question):
        sentence = f"I'm {core}" if core[:1].isdigit() else None
    elif match := _WHAT_DO_YOU.fullmatch(question):
        to = match["to"] or ""
        verb = match["verb"].lower()
        sentence = f"I prefer {core}" if verb == "rather" else f"I {verb}{to} {core}"
    elif _PREFERENCE.fullmatch(question):
        sentence = f"I prefer {core}"
    elif match := _DO_YOU.fullmatch(question):
        # "Do you have any pets?" "Two dogs."
        sentence = (
            f"I have {core}"
            if match["verb"].lower() == "have" and re.match(r"\d|an? |two|three|one", core, re.I)
            else None
        )
    return sentence


def _based(be: str) -> str:
    return "" if be.lower() == "from" else f"{be.lower()} "


_NOT_ABOUT_THEM = re.compile(
    r"\b(?:more|other|recommendations?|suggestions?|ideas?|tips?|advice|plans?|questions?|thoughts?|"
    r"time|news|preferences?|requirements?|photos?|pictures?|pics?|mind)\b",
    re.IGNORECASE,
)


#: A question that is turned round, leaves a choice, or asks about the one who asks.
_NO_PLAIN_QUESTION = re.compile(r"^ ?(?:not|never)\b|\b(?:or|i|i'm|my|mine|me|we|our|us)\b", re.IGNORECASE)


def _yes_or_no(question: str, reply: str) -> str | None:
    negative = _NO.match(reply) is not None and _HARDLY_NO.search(reply) is None
    positive = not negative and _YES.match(reply) is not None and _HARDLY_YES.search(reply) is None
    if not (positive or negative) or "?" in reply or len(reply.split()) > _MAX_WORDS:
        return None
    if (match := _DO_YOU.fullmatch(question)) is not None:
        rest, adverb = match["rest"], match["adverb"] or ""
        if _NOT_ABOUT_THEM.search(rest) or _NO_PLAIN_QUESTION.search(rest):
            return None
        if positive:
            adverb = "" if adverb.lower() == "ever " else adverb
            return f"I {adverb}{match['verb']}{re.sub(r'^ (any|an?y) ', ' ', rest)}"
        # No to "do you always eat meat?" is not "I don't eat meat".
        return f"I don't {adverb}{match['verb']}{rest}"
    if (match := _ARE_YOU.fullmatch(question)) is not None and not _NO_PLAIN_QUESTION.search(match["rest"]):
        return f"I'm {'' if positive else 'not '}{match['rest']}"
    return None


# --- completions ---------------------------------------------------------------------------------------

_COMPLETES = re.compile(
    r"(?:and |but |well,? |yeah,? |oh,? )?(?P<rest>(?:especially|particularly|specially|mainly|mostly|"
    r"preferably|except|but not|but only|as long as|unless|even|at least|only when|only if|only on|only in|"
    rf"just not|{FREQUENCY})\b[^?]*)$",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"(?:(?:oh|ah|wow|haha|yum|mm+)[,!.]* )*(?:that'?s |that is |sounds |how |so |very |really |looks )*"
    r"(?:great|good|nice|cool|awesome|lovely|delicious|tasty|amazing|wonderful|fantastic|perfect|yum(?:my)?|"
    r"me too|same|i (?:like|love) (?:them|it|that|those) too|excellent|good choice|great choice|nice choice|"
    r"sweet|fun|healthy)\b",
    re.IGNORECASE,
)


def completion(text: str) -> str | None:
    """Words that go on with an earlier statement ("especially in smoothies"), or None."""
    match = _COMPLETES.fullmatch(_END.sub("", text))
    if match is None or len(match["rest"].split()) < 2 or len(match["rest"].split()) > 15:
        return None
    if re.search(
        r"\b(?:i|you|he|she|we|it|that|this|they|please|can)\b|but \w+$", match["rest"], re.IGNORECASE
    ):
        return None
    return match["rest"][:1].lower() + match["rest"][1:]


_ABOUT_THE_SAME = re.compile(r"\b(?:it|them|that|this|those|these)\b", re.IGNORECASE)
_MAX_BARE_QUESTION = 3


def leads_elsewhere(question: str, rest: str) -> bool:
    """Whether ``question``, the last sentence before ``rest``, asks for something of its own.

    "How often?" and "How do you like them?" stay with the statement before, and so does "especially ...".
    """
    if not question.rstrip("\"') ").endswith("?") or re.match(r"(?:especially|particularly)\b", rest):
        return False
    return len(question.split()) > _MAX_BARE_QUESTION and _ABOUT_THE_SAME.search(question) is None


def complete(statement: str, rest: str) -> str:
    """Put the completion behind the statement."""
    return f"{statement}, {rest}"


def inferred_liking(reply: str, reaction: str, rest: str) -> Ruling | None:
    """An answer whose question is out of sight, praised and then completed, is something the person likes.

    This is the second window of the seed's example: "blueberries." - "thats great." - "especially in
    smoothies."  Nobody goes on with "especially" about what is praised, unless they like it.
    """
    core = fragment(reply)
    if core is None or len(core.split()) > 4 or not _PRAISE.match(reaction):
        return None
    if not re.match(r"(?:especially|particularly|mainly|mostly|preferably)\b", rest):
        return None
    return Ruling(f"User likes {core}", Category.PREFERENCE, _INFERRED)
