"""Which part of a summary a sentence belongs to: the phrases that give it away (English).

The rules are few and general; a sentence that none of them knows can still become a key fact by its words
(:mod:`processors.summaries.extractive`).
"""

from __future__ import annotations

import re
from enum import StrEnum

from models.messages import Role


class Section(StrEnum):
    """The lists of :class:`models.summaries.SessionSummary`."""

    PREFERENCES = "preferences"
    CONSTRAINTS = "constraints"
    KEY_FACTS = "key_facts"
    DECISIONS = "decisions"
    OPEN_QUESTIONS = "open_questions"
    TODOS = "todos"


def _any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern for all of them.  ``'`` stands for both apostrophes."""
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(alternatives.replace("'", "['’]"), re.IGNORECASE)


#: What may stand between "I" and its verb.
_ADVERBS = (
    r"(?: (?:really|also|just|still|only|always|usually|generally|actually|absolutely|definitely|do|now|all|"
    r"both|finally|already|probably|mostly|particularly|especially|kinda|would|much))*"
)
_WE = r"\b(?:i|we)"
_WILL = rf"{_WE}(?:'ll| will|'m going to| am going to|'re going to| are going to|'m gonna|'re gonna)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"

_DECISION = _any_of(
    r"\blet's (?:go (?:with|for)|use|do|book|take|stick (?:with|to)|choose|pick|meet|settle on|schedule|"
    r"start with|plan (?:on|for))\b",
    r"\bdecided (?:to|on|that|against|not|we|i)\b",
    rf"{_WE}(?:'ve| have|'d| had)?{_ADVERBS} "
    r"(?:decided|agreed|chose|chosen|picked|settled on|opted|went with|gone with)\b",
    rf"{_WILL}{_ADVERBS} (?:go (?:with|for)|use|take|choose|pick|stick (?:with|to)|opt for|adopt|settle)\b",
    r"\b(?:i'm|i am|we're|we are) going (?:with|for)\b",
    r"\b(?:it's|that's|it is|that is) (?:settled|decided|a deal|final)\b",
    r"\b(?:the|our|my|final) (?:decision|choice|plan) is\b",
    r"^(?:decision|agreed|decided)\b",
)

_CONSTRAINT = _any_of(
    r"\b(?:allergic|allerg(?:y|ies)|intoleran(?:t|ce)|vegetarian|vegan|diabetic|co?eliac|kosher|halal)\b",
    r"\b(?:gluten|dairy|lactose|nut|sugar|meat)[- ]free\b",
    rf"(?:{_WE}|\bmy \w+){_ADVERBS} (?:can't|cannot|can not|couldn't|mustn't|"
    r"(?:'m|am) (?:unable to|not able to|not allowed)) "
    r"(?!wait|believe|help|stop|imagine|thank|say|tell|complain|agree|stand|bear|remember|argue|get enough|"
    r"live without|let)",
    rf"{_WE}{_ADVERBS} (?:don't|do not|won't|never) (?:eat|drink|drive|fly|smoke|work|travel|use)\b",
    r"\b(?:my|our|the|a|tight|strict) (?:budget|deadline|limit)\b",
    r"\b(?:at most|at least|no more than|not more than|less than|more than|under|below|up to|within|"
    r"maximum of|max|no later than|not before|only have|only got)\s+(?:about |around )?[$€£]?\d",
    r"\b(?:due|back|done|ready|finished|there|home|delivered) (?:by|before) "
    rf"(?:\d|noon|midnight|tomorrow|tonight|next|{_DAY})",
    r"\b(?:must|has to|have to|needs to) (?:not )?be\b",
    r"\bi(?: also| really)? need (?:a|an|something|one) "
    r"(?!break|minute|second|moment|favou?r|hug|hand|drink|few)",
    r"\b(?:avoid|not allowed|off limits|wheelchair)\b",
)

_TODO = _any_of(
    rf"{_WE}{_ADVERBS} (?:need to|have to|have got to|had better|ought to|must|gotta) "
    r"(?!say|admit|agree|confess|tell you|know|be|hear)",
    rf"{_WE}'ve (?:still )?got to\b",
    r"\bi (?:really )?should (?!have\b|be\b|say\b)",
    r"\bremind me (?:to|about|when|in|on|at|next|tomorrow|again)",
    r"\b(?:(?:don't|do not) (?:let me )?forget|remember to|remains? to be|still (?:to do|open|outstanding))\b",
    r"\b(?:next steps?|to-?dos?|action items?)\b",
    rf"{_WILL}{_ADVERBS} (?:call|send|e-?mail|check|look into|ask|let you know|finish|prepare|write|update|"
    r"schedule|bring|pick up|contact|review|get back|follow up|buy|order|book|talk to|sign up|apply)\b",
    r"\blet's (?:not forget|follow up|check|remember)\b",
)

_PREFERENCE = _any_of(
    rf"\bi{_ADVERBS} (?:like|love|prefer|enjoy|adore|hate|dislike|detest|loathe|favou?r)\b"
    r"(?! (?:it|that|this|your|you|to (?:know|ask|hear|see if))\b)",
    rf"\bi{_ADVERBS} (?:don't|do not|didn't|never){_ADVERBS} (?:like|love|enjoy|want)\b",
    r"\b(?:i'd|i would)(?: much| really)? (?:rather|prefer)\b",
    r"\bmy (?:\w+ )?(?:favou?rites?|preferences?|preferred|go-to)\b",
    r"\bi (?:can't|cannot|can not) (?:stand|bear|live without|get enough)\b",
    r"\b(?:i'm|i am)(?: \w+){0,2} (?:fan of|into|fond of|keen on|partial to|passionate about|obsessed with)\b",
    r"\bi (?:always|usually|mostly|tend to) (?!wanted|thought|wondered|knew)",
)

#: In the order they are tried: "I'm allergic to nuts, so I need to check" is a constraint.
_PERSONAL = (
    (Section.CONSTRAINTS, _CONSTRAINT),
    (Section.TODOS, _TODO),
    (Section.PREFERENCES, _PREFERENCE),
)

_REQUEST = _any_of(r"\bplease\b(?! (?:feel free|let me know if|note))", r"^(?:can|could|would|will) you\b")

_QUESTION_OPENING = _any_of(
    r"^i(?:'m| am| was)? wonder(?:ing)?\b",
    r"^(?:what|where|when|who|whom|whose|why|how|which)\b",
    r"^(?:can|could|would|will|shall|should|do|does|did|is|are|was|were|have|has|may) "
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|my|your|our|anyone|any)\b",
)
_QUESTION_END = re.compile(r"[?？][\s\"'”’)!?？]*\Z")
_STATEMENT_END = re.compile(r"[.!;:…。！][\s\"'”’)]*\Z")

_PHATIC = _any_of(
    r"^\W*(?:hi|hey|hello|howdy|good (?:morning|afternoon|evening|night|day|luck|idea|point)|thanks?|thank you|"
    r"thx|wow|cool|nice|great|awesome|amazing|congrat\w*|sure|ok|okay|yes|yeah|yep|no|nope|of course|"
    r"absolutely|definitely|exactly|"
    r"sounds? (?:good|great|like)|you're welcome|no problem|my pleasure|bye|goodbye|see you|"
    r"take care|glad|happy|sorry|i see|got it|i know|me too|have a|keep (?:it )?up|"
    r"that's (?:\w+ )?(?:great|awesome|cool|nice|good|amazing|wonderful|right|true|fine)|"
    r"how are you|how have you been|how's it going|how is it going|what's up|what's new)\b",
    r"\b(?:how (?:can|may) i (?:help|assist)|anything else|feel free|let me know if|hope (?:this|that) helps|"
    r"is there anything|good to (?:see|hear)|nice to (?:see|meet|hear))\b",
)
_PHATIC_WORDS = 8

_EVASIVE = _any_of(
    rf"{_WE}(?:'m| am|'re| are) (?:not sure|unsure|undecided)\b",
    r"\b(?:no idea|not sure yet|don't know|do not know|haven't decided|have not decided|hard to say)\b",
    r"\b(?:get back to you|let you know|let me (?:check|think|see|look|ask|find out)|"
    r"i'll (?:check|think|ask|find out|look)|will check|one moment|decide later|"
    r"talk about (?:it|that) later)\b",
)


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks something, with or without its question mark."""
    if _QUESTION_END.search(sentence):
        return True
    return _STATEMENT_END.search(sentence) is None and _QUESTION_OPENING.search(sentence) is not None


def is_request(sentence: str) -> bool:
    """Tell whether a sentence asks somebody to do something."""
    return _REQUEST.search(sentence) is not None


def is_phatic(sentence: str) -> bool:
    """Tell whether a sentence only greets, thanks, agrees or offers help; those are short."""
    return len(sentence.split()) <= _PHATIC_WORDS and _PHATIC.search(sentence) is not None


def is_evasive(reply: str) -> bool:
    """Tell whether a reply puts the answer off."""
    return _EVASIVE.search(reply) is not None


def cued_section(sentence: str, role: Role) -> Section | None:
    """Return the list that a statement's wording puts it into; ``None``: none of them.

    Preferences, constraints and to-dos are the person's own words; what an assistant says about itself or
    advises is none.
    """
    if _DECISION.search(sentence):
        return Section.DECISIONS
    if role is not Role.USER:
        return None
    return next((section for section, cues in _PERSONAL if cues.search(sentence)), None)
