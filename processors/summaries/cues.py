"""Which part of a summary a sentence belongs to: the phrases that give it away (English).

The rules are few and general; a sentence that none of them knows can still become a key fact by its words
(:mod:`processors.summaries.extractive`).
"""

from __future__ import annotations

import re
from enum import StrEnum

from models.messages import Role
from processors.summaries.speech_acts import any_of


class Section(StrEnum):
    """The lists of :class:`models.summaries.SessionSummary`."""

    PREFERENCES = "preferences"
    CONSTRAINTS = "constraints"
    KEY_FACTS = "key_facts"
    DECISIONS = "decisions"
    OPEN_QUESTIONS = "open_questions"
    TODOS = "todos"


#: What may stand between "I" and its verb.  No negation and no doubt.
_ADVERBS = (
    r"(?: (?:really|also|just|still|only|always|usually|generally|actually|absolutely|definitely|do|now|all|"
    r"both|finally|already|mostly|particularly|especially|kinda))*"
)
_WE = r"\b(?:i|we)"
_WILL = rf"{_WE}(?:'ll| will|'m going to| am going to|'re going to| are going to|'m gonna|'re gonna)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
#: People whose needs are those of the person who tells of them.
_MINE = (
    r"(?:i|we|(?:my|our) (?:\w+ )?(?:mother|father|mom|mum|dad|parents?|wife|husband|partner|spouse|sons?|"
    r"daughters?|child|children|kids?|baby|family|girls|boys|twins|grand\w+|dog|cat))"
)
_DIET = (
    r"(?:(?:(?!not?\b|never|hardly)\w+[- ])?(?:allergic|intolerant)|vegetarians?|vegans?|diabetic|co?eliac|"
    r"pescatarian|pregnant|kosher|halal|(?:gluten|dairy|lactose|nut|sugar|meat|alcohol)[- ]free)"
)

_FAVOURITE = (
    r"(?:\w+ )?(?:favou?rites?|preferences?|preferred|go-to)(?! (?:\w+ )?(?:parts?|moments?|memor\w+|bits?)\b)"
)

#: Whoever says so: it was decided before.
_RESTATED = (
    r"\b(?:it's|that's|it is|that is) (?:settled|decided|a deal|final)\b|"
    r"^(?:decision|agreed|decided)\b(?:: *\w|,? (?:to|that|on|we|i|the|let's|it)\b)"
)
_DECISION = any_of(
    r"\blet's (?:go (?:with|for)|use|do|book|take|stick (?:with|to)|choose|pick|meet|settle on|schedule|"
    r"start with|plan (?:on|for)|make it(?! (?:happen|work|count|big|through)\b))\b",
    rf"{_WE}(?:'ve| have|'d| had)?{_ADVERBS} "
    r"(?:decided|agreed|chose|chosen|picked(?! up\b)|settled on|opted|went with|gone with|made up (?:my|"
    r"our) minds?)\b",
    rf"{_WILL}{_ADVERBS} (?:go (?:with|for)|use|"
    r"take(?! (?:(?:good |great |some )?care|it easy|off|a look|a break|a seat|a nap|a walk|long|part|place|"
    r"turns)\b)|choose|pick(?! (?:up|on)\b)|stick (?:with|to)|opt for|adopt|settle)\b",
    r"\b(?:i'm|i am|we're|we are) going (?:with(?! (?:you|him|her|them|my|our)\b)|for the)\b",
    _RESTATED,
    r"^(?:the|our|my|final|and the|so the|so our) (?:final )?(?:decision|choice|plan) is\b",
    r"\bi(?:'ve| have)? changed my mind\b",
    r"^(?:no|sorry|actually|wait)\b[,. ]+(?:please )?(?:let's )?make (?:it|that)\b",
)

_DECIDED = any_of(_RESTATED)

_CONSTRAINT = any_of(
    rf"\b{_MINE}(?: (?:am|are|is|was born|have been|has been)|'m|'re|'s|'ve been)(?: (?:a|an|both|also|all|"
    rf"really|very|severely|strictly|strict|highly|mildly))* {_DIET}\b",
    rf"\b{_MINE}{_ADVERBS} (?:have|has|got|'ve got) (?:(?!no\b|any\b)\w+ ){{0,3}}"
    rf"(?:allerg(?:y|ies)|intolerance|"
    r"diabetes|asthma|co?eliac)\b",
    rf"\b{_MINE}{_ADVERBS} (?:eats?|drinks?|needs?|wants?|keeps?) (?:only |strictly )?(?:\w+ )?{_DIET}\b",
    rf"\b{_MINE}{_ADVERBS} (?:can't|cannot|can not|couldn't|mustn't|(?:'m|am|are|is) (?:unable to|"
    rf"not able to|not "
    r"allowed to)) (?:\w+ly )?(?:eat|drink|afford|fly|drive|climb|walk|swim|travel|tolerate|stay|attend|use|"
    r"wear|lift|spend|exceed|have (?:any |much )?(?:dairy|gluten|nuts|meat|milk|sugar|alcohol)|make it|come|"
    r"pay|work|do (?:it )?(?:on |before |after )|go (?:above|over|beyond)|leave before|carry|sit|stand for)\b",
    rf"\b{_MINE}{_ADVERBS} (?:don't|do not|doesn't|does not|won't|never) (?:eats?|drinks?|drives?|fly|flies|"
    r"smokes?|work on|works on|travel by|travels by)\b",
    r"\b(?:my|our|the|a|tight|strict) (?:\w+ )?(?:budget|deadline|limit)s? (?:is|are|of|for)\b",
    r"\b(?:spend|pay|budget|costs?|price|rent|need|keep|stay|takes?|fit|have|got|finish|arrive|leave|"
    r"be)\b[^.;]{0,40} (?:at most|no more than|not more than|less than|under|below|up to|within|"
    r"a maximum of|max|no later than|not before)\s+(?:about |around |\w{3} )?[$€£]?\d",
    r"\b(?:has|have|needs?|must) (?:to )?(?:be |arrive |come )?(?:back|done|ready|finished|there|here|"
    r"home|delivered|"
    rf"in)? ?(?:by|before) (?:\d|noon|midnight|tomorrow|tonight|next|{_DAY})",
    r"\b(?:i|we) (?:have to|must|need to) avoid\b",
    rf"\b{_MINE}(?: (?:use|uses|am in|is in|are in)|'m in) a wheelchair\b",
)

_TODO = any_of(
    rf"{_WE}{_ADVERBS} (?:need to|have to|have got to|had better|ought to|must|gotta) "
    r"(?!say|admit|agree|confess|tell you|know|be\b|hear|go\b(?! to)|leave|run\b|get going|hang up|"
    r"think|thank)",
    rf"{_WE}'ve (?:still )?got to (?!go\b|run\b|leave|say|be\b)",
    r"\bi (?:really )?should (?!have\b|be\b|say\b|think\b|not\b|like\b|know\b|admit|confess|mention|"
    r"point out|warn|remind you|apologi[sz]e|thank)",
    r"(?:^|[,;] |and |please |(?:can|could|will|would) you )remind me "
    r"(?:to|about|when|in|on|at|next|tomorrow|again)\b",
    r"\b(?:(?:don't|do not) (?:let me )?forget(?! (?:that |how |to )?(?:you|your|enjoy|have fun|rest|"
    r"take (?:care|time|your time|a break|breaks|it easy))\b)|"
    r"^remember to|remains? to be|still (?:to do|outstanding))\b",
    r"^(?:the |our |my )?(?:next steps?|to-?dos?|action items?)\b",
    rf"{_WILL}{_ADVERBS} (?:call|send|e-?mail|check|look into|ask|finish|prepare|write|update|"
    r"schedule|bring|pick up|contact|review|follow up|buy|order|book|talk to|sign up|apply)\b",
    r"\blet's (?:not forget|follow up|check|remember)\b",
)

_PREFERENCE = any_of(
    rf"\bi{_ADVERBS} (?:like|love|prefer|enjoy|adore|hate|dislike|detest|loathe|favou?r)\b"
    r"(?! (?:it|that|this|these|those|them|your|you|him|her|something\b|to do (?:it|that)\b|"
    r"the (?:\w+ )?ones?\b|to (?:know|ask|hear|see if|say|think)|how|wh\w+)\b)",
    rf"\bi{_ADVERBS} (?:don't|do not|never)(?: really| particularly| much)* (?:like|love|enjoy)\b"
    r"(?! (?:it|that|this|them|your|you|him|her)\b)",
    r"\b(?:i'd|i would)(?: much| really)? (?:rather|prefer)\b",
    rf"\bmy {_FAVOURITE}\b(?: \w+){{0,4}}?(?: (?:is|are|was|were|has|have)\b|'s\b|:)",
    rf"(?:\b(?:is|are|was|were|been|be)|'s|'re)(?: \w+){{0,4}}? my {_FAVOURITE}\b",
    r"\bi (?:can't|cannot|can not) (?:stand|bear|live without|get enough of)\b",
    r"\b(?:i'm|i am)(?: (?:not|a|an|really|very|quite|big|huge|also|so))* (?:fan of|into|fond of|keen on|"
    r"partial to|passionate about|obsessed with)\b",
    r"^(?:please,? )?(?:always|never) \w+ .*\b(?:when|whenever|if) i (?:ask|request)\b",
    r"\bi (?:always|usually|mostly|tend to) "
    r"(?!wanted|thought|wondered|knew|forget|lose|feel|felt|get\b|be\b|say|think|have to|am\b|was\b|had\b)",
)

#: What the favourite is, only what was said before names.
_UNNAMED = any_of(
    r".*\bthis \w+\W*\Z",
    r"^(?:it|this|that|they|these|those|he|she)(?:'s|'re| is| are| was| were)(?: \w+){0,3}? my " + _FAVOURITE,
)

#: In the order they are tried: "I'm allergic to nuts, so I need to check" is a constraint.
_PERSONAL = (
    (Section.CONSTRAINTS, _CONSTRAINT),
    (Section.TODOS, _TODO),
    (Section.PREFERENCES, _PREFERENCE),
)

#: What stands anywhere before a cue and takes its meaning away: it is supposed, or told of somebody else.
_SUPPOSED = any_of(
    r"\b(?:if|unless|whether|suppose|supposing|imagine|pretend|wish|in case|joke|joking|kidding|"
    r"worr(?:y|ied|ying)|nervous|afraid|anxious|stressed|unsure|not sure|wonder(?:ing)?|regret)\b",
    r"\b(?!(?:i|we)\b)\w+ (?:says?|said|thinks?|thought|claims?|claimed|tells?|told|believes?|believed|asks?|"
    r"asked|heard|hears|hopes?|hoped|wants?|wanted|insists?|insisted|assumes?|assumed|swears?|swore)\b",
)
#: The same in the clause of the cue: denied or doubted.
_DENIED = any_of(
    r"\b(?:never|not|nobody|no one|hardly|barely|neither|nor|without|instead of|rather than)\b",
    r"\b\w+n't\b",
    r"\b(?:maybe|perhaps|possibly|probably|almost|nearly|would have|could have|should have|might)\b",
)
#: Right before "I" or "we": a clause that says which or when, not that.
_DEPENDENT = re.compile(r"\b(?:which|what|when|whenever|how|who|whom|until|till|once)\s+\Z", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:–—]\s|\b(?:and|but|so|because)\b")
#: Right behind "decided": it was undone.  Anywhere: what was so is so no more.
_UNDONE = any_of(r"\b(?:but|though|yet) (?:then )?(?:i|we) (?:changed|didn't|did not|never|couldn't)\b")
_NOT_ANY_MORE = any_of(r"(?<!'m )(?<!\bam )\bused to\b", r"\bno longer\b")


def cued_section(sentence: str, role: Role) -> Section | None:
    """Return the list that a statement's wording puts it into; ``None``: none of them.

    They are people's own words; what an assistant says about itself or advises is none, unless it repeats what
    was decided.  What is denied, supposed, or said by or of somebody else is none either.
    """
    decided = _DECISION if role is Role.USER else _DECIDED
    if _holds(decided, sentence) and not _UNDONE.search(sentence):
        return Section.DECISIONS
    if role is not Role.USER or _NOT_ANY_MORE.search(sentence):
        return None
    section = next((section for section, cues in _PERSONAL if _holds(cues, sentence)), None)
    return None if section is Section.PREFERENCES and _UNNAMED.match(sentence) else section


def _holds(cues: re.Pattern[str], sentence: str) -> bool:
    """Tell whether a cue stands there that nothing before it takes back."""
    return any(_is_meant(sentence, found.start()) for found in cues.finditer(sentence))


def _is_meant(sentence: str, cue: int) -> bool:
    clause = max((found.end() for found in _CLAUSE.finditer(sentence, 0, cue)), default=0)
    if _DEPENDENT.search(sentence[:cue]):
        return False
    return _SUPPOSED.search(sentence, 0, cue) is None and _DENIED.search(sentence, clause, cue) is None
