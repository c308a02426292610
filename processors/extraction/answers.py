"""Statements that take two to make: the assistant asks, the person answers in a word.

An answer is put into a first-person sentence and read like any other.
"""

from __future__ import annotations

import re

# fmt: off
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (
        re.compile(
            rf"(?:.*[.,!;] )?(?:(?:and|so|oh|by the way|btw|well|just curious),? )*{question}\?\W*$",
            re.IGNORECASE | re.DOTALL,
        ),
        said,
    )
    for question, said in (
        (r"where (?:do you live|are you (?:based|living)|is home)(?: (?:now|these days|currently))?", "I live in {a}"),
        (r"(?:which|what) (?:city|town|country) (?:do you live|are you) in", "I live in {a}"),
        (r"where (?:are you|do you come) from(?: originally)?", "I'm from {a}"),
        (r"where do you work", "I work at {a}"),
        (r"what(?:'s| is) your name|(?:what|how) (?:should|can|may) i call you|who am i (?:speaking|talking) (?:to|with)", "My name is {a}"),
        (r"how old are you|what(?:'s| is) your age", "I'm {a} years old"),
        (r"what do you do(?: for (?:a living|work))?|what(?:'s| is) your (?:job|profession|occupation)", "I work as {a}"),
        (r"what are you allergic to|(?:do you have )?any (?:food )?allergies|do you have any (?:food )?allergies", "I'm allergic to {a}"),
        (r"what(?:'s| is| are) your (?P<x>fav[\w]+ [\w -]{2,30}|hobby|hobbies|birthday|diet|native language)", "My {x} is {a}"),
        (r"(?:what|which)(?: (?:kinds?|types?|sorts?) of)? (?P<x>[\w -]{2,30}) do you (?:like|prefer|enjoy|love)(?: (?:best|most|the most))?", "My favourite {x} is {a}"),
        (r"what do you (?P<x>like|love|enjoy|hate|prefer)(?: to \w+)?(?: most)?", "I {x} {a}"),
        (r"do you (?P<x>(?:like|love|eat|drink|enjoy|speak|smoke|have (?:a|any|an)) ?[\w' -]{0,40})", "I {x}"),
        (r"are you (?P<x>(?:an? )?(?:vegan|vegetarian|married|single|allergic to [\w -]{2,30}|from [\w -]{2,30}|retired|a student))", "I'm {x}"),
        (r"(?:do|would) you (?:rather|prefer) [^?]{3,80} or [^?]{2,60}", "I prefer {a}"),
    )
)
# fmt: on
_ANNOUNCED = re.compile(
    r"(?:(?:do )?you (?:wanna |want to )?know|guess) what (?P<c>i (?:really )?(?:like|love|hate|prefer|enjoy)|my favou?rite [\w ]{2,20} is)\W*$",
    re.IGNORECASE,
)
_HANDED_BACK = re.compile(
    r"(?:\w+[,.!]* ){0,3}(?:what|who|where|which(?: one)?|tell me|do tell|go on)(?: is it)?[?!. ]*$",
    re.IGNORECASE,
)
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|i do|i am|of course|absolutely|definitely|sure do|very much)\b[^?]{0,20}$",
    re.IGNORECASE,
)
_NO = re.compile(r"(?:no|nope|nah|not at all|never|i don't|i'm not|not really)\b[^?]{0,20}$", re.IGNORECASE)
_FILLER = re.compile(
    r"(?:(?:well|oh|um+|uh|hm+|so|i think|i guess|i'd say|it's|it is|that would be|just|mainly|mostly|in|at|on|from|as|"
    r"definitely|probably|currently|right now|yes|yeah)\b,? )+",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"(?:yes|yeah|no|nope|none|nothing|ok(?:ay)?|sure|thanks?|what|why|how|who|when|where|i|i'm|i've|my|we|you|it|that|this|they|idk|not|"
    r"depends|dunno|maybe|guess|secret|lol|haha|can|could|would|will|do|does|is|are|let|let's|please|never|"
    r"same|both|neither|either|any|anything|hello|hi|hey|bye|good|great|fine|wow|cool|nice|sorry|hmm+|nowhere|everywhere|everything|don't|too|skip|pass|none)\b",
    re.IGNORECASE,
)
_LONGEST_ANSWER = 6
_COMPLETES = re.compile(
    r"(?:and |but |well,? )?(?P<rest>(?:especially|particularly|preferably|except|but only|but not)\b [^?]{2,60}?)\W*$",
    re.IGNORECASE,
)
PRAISE = re.compile(
    r"(?:(?:oh|ah|wow|haha|yum|mm+)[,!.]* )*(?:that'?s |sounds |how |so |very |really )*"
    r"(?:great|good|nice|cool|awesome|lovely|delicious|tasty|amazing|wonderful|fantastic|perfect|yum(?:my)?|sweet|healthy)\b",
    re.IGNORECASE,
)


def bare(reply: str) -> str:
    """The answer in a short reply ("Berlin, I think!" gives "Berlin"); ``""`` if there is none."""
    core = re.split(r"[,.!;](?:\s|$)", reply.strip(), maxsplit=1)[0]
    filler = _FILLER.match(core)
    core = (core[filler.end() :] if filler else core).strip(" .!\"'")
    if not core or "?" in reply or len(core.split()) > _LONGEST_ANSWER or _NO_ANSWER.match(core):
        return ""
    return core


def answer(question: str, reply: str, announced: str = "") -> str:
    """The sentence that ``reply`` stands for after ``question``; ``announced`` is what the person said before it."""
    core = bare(reply)
    if core.lower() in question:
        core = core.lower()  # "Sweet" is no name where "sweet or savoury" was asked
    if announced and core and _HANDED_BACK.match(question) and (match := _ANNOUNCED.search(announced)):
        return f"{match['c']} {core}"
    for pattern, said in _FORMS:
        if (match := pattern.match(question[-300:])) is None:
            continue
        x = (match.groupdict().get("x") or "").strip()
        if "{a}" in said:
            return said.format(a=core, x=x) if core else ""
        x = re.sub(r"^have any\b", "have", x)
        if _YES.match(reply):
            return said.format(x=x)
        return (
            said.replace("I ", "I don't ", 1).replace("I'm", "I'm not").format(x=x) if _NO.match(reply) else ""
        )
    return ""


def completion(text: str) -> str:
    """Words that go on with what was said before ("especially in smoothies"); ``""`` if they do not."""
    match = _COMPLETES.match(text)
    if match is None or re.search(
        r"\b(?:i|you|he|she|we|it|that|this|they|please)\b", match["rest"], re.IGNORECASE
    ):
        return ""
    return match["rest"][0].lower() + match["rest"][1:]
