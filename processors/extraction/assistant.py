"""What is said to the assistant about itself: how it shall answer, and how its answer was."""

from __future__ import annotations

import re

from processors.extraction.drafts import Draft
from processors.extraction.english import anycase, third_person
from processors.extraction.predicates import LIKED

_POLITE = anycase(
    r"\A(?:(?:and|also|but|so|hey|well|actually|just|please|kindly|ok(?:ay)?|no|yes|great|good|thanks|thank you|"
    r"(?:can|could|would|will) you|(?:i want|i'd like|i would like|i need|i'd prefer|i prefer) you to|"
    r"remember to|try to|make sure (?:you|to))\b[,.!]* )+"
)
_ABOUT = (
    r"(?:answers?|answering|responses?|repl(?:y|ies)|respond|explanations?|explain|explaining|messages?|summar\w+|bullet points?|lists?|tables?|"
    r"emojis?|jargon|examples?|code|comments?|steps?|tone|words|sentences|paragraphs|apologi\w+|metric|imperial|"
    r"celsius|sources?|links?|citations?|formulas?|diagrams?|versions?|numbers?|details?|format\w*|dates?|percentages?)"
)
_TELLING = (
    r"(?:answer|respond|reply|write|speak|talk|explain|summari[sz]e|repeat|apologi[sz]e|include|"
    r"provide|give me|show me|tell me|let me know|use|cite|format|mention|remind|address|add|offer|present|specify|combine|confirm|list|highlight|"
    r"describe|suggest|verify|check|break|structure|clarify|emphasi[sz]e|incorporate|state|outline|note|lecture|assume)"
)
_MANNER = (
    r"(?:concise|brief|short(?:er)?|succinct|specific|precise|detailed|verbose|wordy|formal|informal|casual|polite|direct|"
    r"honest|blunt|friendly|serious|technical|simple|simpler|clear(?:er)?|thorough|creative|consistent|to the point)"
)
_LASTING = (
    r"(?:always|never|from now on,?|going forward,?|in (?:the )?future,?|for future reference,?|every time)"
)
#: How an instruction is given, and how it is said.
# fmt: off
_INSTRUCTIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (anycase(pattern), says)
    for pattern, says in (
        (rf"(?P<v>(?:always|never) {_TELLING}\b.{{3,200}})", "{v}"),
        (r"(?P<v>(?:always|never) [a-z]+ .{3,160} (?:when|whenever|if) (?:i|we|my)\b.{0,120})", "{v}"),
        (rf"{_LASTING} (?:please )?(?P<v>(?:don't |do not )?(?:{_TELLING}\b.{{3,200}}|be {_MANNER}\b.{{0,200}}))", "{v} from now on"),
        # Not of anybody: "you should always wear a helmet".
        (r"you (?:should|must|need to) (?P<v>(?:always|never) (?:(?:answer|respond|reply|cite|apologi[sz]e|use (?:emojis?|jargon|bullet))|(?:speak|write|talk) (?:in|to me)|(?:call|address|give|tell|ask|show) me)\b.{0,200})", "{v}"),
        (rf"(?P<v>{_TELLING}\b.{{3,160}}?),? (?:from now on|going forward|in (?:the )?future)\b", "{v} from now on"),
        (r"(?:don't|do not|stop|quit|no need to|avoid) (?P<n>(?:answer|respond|reply|apologi[sz]|repeat|explain|summari[sz]|lectur|use (?=emoji|jargon|bullet|tables)|includ|ask(?:ing)? (?:me|so)|assum|call(?:ing)? me)\w*\b.{0,120})", "not {n}"),
        (rf"(?P<v>be (?:a (?:bit|little) )?(?:(?:more|less|very|as|too) )*{_MANNER}\b.{{0,80}})", "{v}"),
        (rf"(?P<v>keep (?:it|things|your {_ABOUT}|{_ABOUT}) (?:(?:very|more|less|nice and) )?(?:{_MANNER}|under|below|to)\b.{{0,80}})", "{v}"),
        (r"(?P<v>(?:answer|respond|reply|write|speak|talk) (?:to me )?(?:only )?(?:in|with|like|as|more|less)\b.{2,120})", "{v}"),
        (rf"(?P<v>(?:more|less|fewer|no|shorter) (?:{_MANNER}|{_ABOUT}))\W*$", "give {v}"),
    )
)
# fmt: on
#: Not "call me Monday", which is about the telephone.
_CALLED = anycase(
    r"(?:always )?call me (?!(?:\w+day|tonight|tomorrow|later|back|again|anytime|crazy|old-fashioned)\b)"
    r"(?P<v>(?-i:[A-Z])[\w-]+)(?=$|[,.;!]| (?:from|and|when|in)\b)"
)
_JUDGED = anycase(
    rf"(?:(?:that|this|it|your|the|the last|your last)(?:(?: last| previous)? {_ABOUT})?(?:'s| is| was| were| are| isn't| wasn't)?) "
    r"(?P<v>(?:(?:just|still|all|much|way|far|a bit|not|very|really|so|super|extremely|exactly) )*(?:wrong|incorrect|inaccurate|unhelpful|useless|confusing|"
    r"misleading|too (?:long|short|verbose|wordy|vague|complicated|technical|formal|generic|detailed)|outdated|helpful|useful|"
    r"clear|spot on|informative|what i (?:needed|wanted|asked for|was looking for)))\W*$"
)
_TAIL = anycase(r"(?:,? (?:please|thanks|thank you|ok(?:ay)?|if possible|will you))*[\s.!?,;:]*$")
#: "Include them in my routes": nobody can tell what.
_POINTS = anycase(r"^(?:not |always |never )?\w+ (?:them|those|these|that one)\b")
#: "Always use metric units, set a route home" wants two things.
_NEXT_COMMAND = anycase(
    r",? (?:and )?(?=(?:set|play|find|navigate|start|turn) (?:an?|the|me|some|my|on|off|up|to) )"
)
_SECOND = {
    **{"you": "it", "your": "its", "yours": "its", "you're": "it is"},
    **{"you are": "it is", "you have": "it has", "you were": "it was"},
}
_LONGEST = 32


def to_assistant(text: str, *, after_answer: bool) -> Draft | None:
    """Read an instruction or feedback; ``after_answer``: the message before is the assistant's."""
    said = _TAIL.sub("", text)
    command = _NEXT_COMMAND.split(_POLITE.sub("", said), maxsplit=1)[0]
    if (called := _CALLED.match(command)) is not None:
        return Draft("name", called["v"], f"Is called {called['v']}", LIKED)
    for pattern, says in _INSTRUCTIONS:
        if (match := pattern.match(command)) is not None:
            told = says.format(**{name: got or "" for name, got in match.groupdict().items()})
            if _POINTS.search(told) or len((value := _turn(told)).split()) > _LONGEST:
                return None
            value = f"{value[:1].lower()}{value[1:]}"
            return Draft("instruction", value, f"Wants the assistant {_infinitive(value)}", LIKED)
    if after_answer and (match := _JUDGED.match(said)) is not None:
        value = _turn(match["v"].lower())
        return Draft("feedback", value, f"Found the assistant's answer {value}", LIKED)
    return None


def _infinitive(value: str) -> str:
    adverb, _, rest = value.partition(" ")
    return f"not to {rest}" if adverb == "not" else f"to {value}"


def _turn(text: str) -> str:
    turned = re.sub(
        r"\b(?:you (?:are|have|were)|you're|yours?|you)\b",
        lambda match: _SECOND[match[0].lower()],
        text,
        flags=re.IGNORECASE,
    )
    return third_person(" ".join(turned.split())).strip(" .,!")
