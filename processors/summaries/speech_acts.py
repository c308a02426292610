"""What somebody does by a sentence: asks, proposes, agrees, objects, puts off (English)."""

from __future__ import annotations

import re

from processors.summaries.perspective import is_verb


def any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern for all of them.  ``'`` stands for both apostrophes."""
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(alternatives.replace("'", "['’]"), re.IGNORECASE)


_REQUEST = any_of(
    r"(?<!like )(?<!word )(?<!words )(?<!say )(?<!saying )\bplease\b(?! (?:feel free|let me know if|note))",
    r"^(?:can|could|would|will) you\b",
)

#: Told to do something at once: no fact, and over with the next turn.
_COMMAND = any_of(
    r"^(?:(?:now|so|well|and|then|please|just),? )*(?:show|tell|give|let|help|excuse|pardon|forgive|"
    r"remember|believe|trust|wait for|"
    r"listen to|look at|"
    r"call|ask|bring|pass|get|follow) (?:me|us)\b",
    r"^(?:come (?:on|in|here)|look|listen|wait|hurry|hold on|don't (?:worry|mention|be|forget|you)|"
    r"take (?:it easy|a "
    r"seat|a look)|have an? (?:seat|look|\w+ (?:time|day|night|weekend|trip))|sit down|calm down|never mind|"
    r"guess what|be (?:careful|"
    r"quiet))\b",
    r"^(?:(?:but|and|so|just|always),? )*(?:remember(?:, (?!(?:to|that|when|the|i|i'm|my|we|our|he|she|they)\b)"
    r"| (?:you|your|why|how|what|\w+(?=,)))|believe in|hang in|keep (?:going|pushing|shining|chasing|"
    r"believing)|go for it)\b",
    # "Stay safe, the bridge is closed" tells something.
    r"^(?:(?:but|and|so|just|always),? )*(?:keep (?:it up|up)|stay (?:strong|positive|motivated|safe|focused|"
    r"true)|enjoy (?:it|your|every|the (?:moment|ride|journey)))\b(?![^;]*, (?:the|my|our|i|we|he|she|they)\b)",
)
#: Unfinished, only a condition or a denial of what is left out, or a word that one begins with.
_FRAGMENT = any_of(
    r"(?:\.\s*\.|[,:–—-])\s*\Z",
    r"\A(?:if|when|because|unless|not|since (?:there|i|you|he|she|it|we|they|the|my|your))\b[^,]*\Z",
    # It says what was meant by what stood before it.
    r"\bi mean(?:t)?(?:,|\W*\Z)|\Ai mean(?:t)?\b",
    r"\A(?:the|my|his|her|its|our) (?:first|second|third|last|other|next) (?:time|one)\b",
    r"\A\W*(?:well|so|um+|er+|hm+|oh|ah|uh)\W*\Z",
    # Of what it is the same or so, and what one could not possibly do, the sentence before says.
    r"\A(?:(?:pretty |very |just )?much |just |about )?the same (?:here|except|but|as usual|for)\b",
    r"\A(?:relatively|mostly|partly|hardly|possibly|more or less|kind of|sort of),? (?:once|if|when|until)\b",
)
#: What somebody can, will or would, without the verb.
_NO_VERB = any_of(
    r"\A(?:(?:and|but|so|well|yes|no|oh),? )*(?:i|you|he|she|it|we|they) (?:\w+ly )?"
    r"(?:(?:can|could|would|will|should|must|might|do|does|did)(?:n't| not)?|can't|cannot|won't)"
    r"(?: (?:possibly|really|certainly|definitely|too|either|so|now|yet|sure))*\W*\Z",
)
_CONTRADICTION = any_of(
    r"^\W*(?:(?:oh|well|but|hm+)[, ]+)*(?:no\b(?! (?:problem|wonder|doubt|kidding))|nope|not (?:really|"
    r"exactly|at all|"
    r"true|quite)|i doubt|i don't (?:think|believe|agree)|i disagree|(?:that's|that is|it's|it is) "
    r"(?:not|n't|wrong|"
    r"nonsense)|that isn't|you're (?:wrong|kidding|joking|mistaken)|are you (?:kidding|joking|crazy)|"
    r"you must be (?:kidding|joking|"
    r"mistaken)|nonsense|"
    r"don't be silly)",
)

#: What was said just before, as what others say, is not so.
_DENIAL = any_of(
    r"\b(?:i|we) (?:don't|do not) (?:think|believe|agree with) (?:it|that|this|so)\b"
    r"(?=\W*\Z| (?:is|'s|was) (?:true|so|right))",
    r"\b(?:it|that|this)(?:'s not| is not|n't| isn't| was not| wasn't) (?:\w+ )?(?:true|so|right|the case)\b",
)

_QUESTION_OPENING = any_of(
    r"^i(?:'m| am| was)? wonder(?:ing)?\b",
    r"^(?:what|where|when|who|whom|whose|why|how|which)\b",
    r"^(?:can|could|would|will|shall|should|do|does|did|is|are|was|were|have|has|may) "
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|my|your|our|anyone|any)\b",
)
_QUESTION_END = re.compile(r"[?？][\s\"'”’)!?？]*\Z")
#: Asked whatever it ends with: "How should I get there."
_INVERTED = any_of(
    r"^(?:what|where|when|who|whom|why|how|which)(?: \w+){0,2} (?:do|does|did|is|are|was|were|can|could|"
    r"should|shall|"
    r"would|will|have|has) (?:i|you|we|he|she|they|it|there|this|that|these|those|the|my|your|our)\b",
    r"^(?:can|could|would|will|shall|should|do|does|did|are|were|have|may) (?:i|you|we)\b",
    r"^(?:what|where|who|how)s (?:your|the|my|it|his|her|our|their)\b",
    r"^(?:does|did|is|are|was|were|has) (?:he|she|it|they|the|this|that|there|my|your|his|her|our|their|"
    r"any\w*)\b",
)
_STATEMENT_END = re.compile(r"[.!;:…。！][\s\"'”’)]*\Z")

_NEGATION = any_of(
    r"n't\b|\b(?:not|no|never|cannot|nothing|nobody|none|nor|without|hardly|unable|refuse[sd]?|fail(?:s|"
    r"ed)?)\b",
)
_CLAUSE = any_of(
    r"\b(?:i|you|he|she|it|we|they|there|is|are|was|were|am|be|has|have|had|do|does|did|can|could|will|"
    r"would|should|"
    r"must|may|might)\b|'(?:s|re|m|ve|ll|d)\b|n't\b",
)
#: In what way, only the sentence before says.
_IN_THAT_WAY = any_of(r"^(?:that|this) way\b", r"\bthe same (?:way|thing)\W*\Z")
_POINTER = any_of(r"\b(?:it|they|them|that|this|these|those|he|she|him|ones?|do so)\b")

_YES_OR_NO = re.compile(
    r"\W*(?:(?:oh|well|hm+)[,.! ]+)*(?:yes|yeah|yep|no|nope|not|sure|ok|okay|of course|certainly|right|exactly|"
    r"absolutely|definitely|all ?right|alright)\b",
    re.IGNORECASE,
)

_EVASIVE = any_of(
    r"\b(?:i|we)(?:'m| am|'re| are) (?:not sure|unsure|undecided)\b",
    r"\b(?:no idea|not sure yet|don't know|do not know|haven't decided|have not decided|hard to say)\b",
    r"\b(?:get back to you|let you know|let me (?:check|think|see|look|ask|find out)|"
    r"i'll (?:check|think|ask|find out|look)|will check|one moment|decide later|"
    r"talk about (?:it|that) later|(?:just|wait) a (?:minute|moment|sec(?:ond)?)|(?:hold|hang) on)\b",
)
_BUT = re.compile(r"\b(?:but|though|however)\b", re.IGNORECASE)

#: "Let's", "how about": what both are to do, for the other to agree to.
_PROPOSAL = any_of(
    r"^(?:(?:so|well|then|maybe|perhaps|and|or|but|now|seriously|though|anyway)[, ]+)*"
    r"(?:let's(?! not\b)|(?:how|what) about(?! (?:you|him|her|them)\b| yours)|shall we|should we|"
    r"why don't we|why not|what if we|"
    r"we (?:could|can|should|might)(?!'t| not| never| (?:\w+ )?(?:need|have|be)\b)|i suggest|"
    r"what do you say)\b",
    r"^(?:maybe|perhaps) we\b",
    r"^(?:why don't you|would you like to|do you want to) (?:come|join)\b",
    r"^i think\b.*\b(?:would|will) be (?:sufficient|enough|fine|good|better|best|ok(?:ay)?)\b",
    r",? shall we[?]$",
    # "It's cold, right?" only asks for a yes.
    r"\b(?:we|we'll|us|i'll|you'll)\b.*,? (?:ok|okay|right|all right|alright)[?]$",
)
_ACCEPTANCE = any_of(
    r"^\W*(?:(?:oh|well|yes|yeah|hm+|then)[,.! ]+)*(?:ok(?:ay)?|sure|yes|yeah|yep|all ?right|alright|"
    r"fine|agreed|"
    r"deal|great|perfect|(?:that's a |what a )?(?:good|great|nice|wonderful) (?:idea|choice|plan)|"
    r"(?:that )?sounds (?:good|great|fine|perfect|like)|"
    r"(?:that's|that is|that would be|that will be|that'll be|it's) (?:a )?(?:fine|good|great|perfect|lovely|"
    r"ok(?:ay)?|settled|deal)|of course|certainly|definitely|absolutely|no problem|"
    r"why not|with pleasure|i agree|it's a (?:deal|date)|"
    r"see you (?:then|there)|works for me|done)\b",
    r"\bi'd (?:love|like|be (?:glad|happy)) to\b",
)
_OBJECTION = any_of(
    r"\b(?:but|however|no(?! (?:problem|doubt|wonder|worries))|nope|not|can't|cannot|don't|won't|wouldn't|"
    r"isn't|couldn't|unfortunately|"
    r"afraid|sorry|"
    r"(?:is|are|it's|that's) (?:full|booked|taken|sold out|closed|unavailable)|"
    r"rather|instead|how about|what about|why not|doubt|(?:sounds|too) (?:late|early|far|expensive|much|"
    r"boring|bad))\b",
)
#: Right at the beginning of a reply: something else is put in the place of what was said.
_COUNTER = any_of(
    r"^\W*(?:(?:oh|well|hm+|hey)[, ]+)*(?:but\b|no\b(?! problem)|why not|why don't|how about|what about|wait\b|"
    r"are you (?:sure|crazy|serious|kidding)|you (?:can't|shouldn't)|rather)",
)
_TAKEN_BACK = any_of(r"\b(?:changed my mind|on second thoughts?|scratch that|forget (?:that|it|what i said))\b")
_CHANGE = any_of(
    r"\b(?:instead|rather|change|changed|after all|make (?:it|that)|on second thought|works? better|"
    r"reschedule|"
    r"move (?:it|that)|postpone|cancel)\b",
    r"^(?:no|sorry|actually|correction|wait)\b",
)


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks something, with or without its question mark."""
    if _QUESTION_END.search(sentence) or _INVERTED.search(sentence):
        return True
    return _STATEMENT_END.search(sentence) is None and _QUESTION_OPENING.search(sentence) is not None


def is_request(sentence: str) -> bool:
    """Tell whether a sentence asks somebody to do something."""
    return _REQUEST.search(sentence) is not None


def is_command(sentence: str) -> bool:
    """Tell whether a sentence tells somebody to do something right now."""
    return _COMMAND.search(sentence) is not None


def is_fragment(sentence: str) -> bool:
    """Tell whether a sentence breaks off, or is a condition without what follows from it."""
    return _FRAGMENT.search(sentence) is not None


def contradicts(reply: str) -> bool:
    """Tell whether a reply denies what was said before it."""
    return _CONTRADICTION.search(reply) is not None


def denies_that(sentence: str) -> bool:
    """Tell whether a sentence says that what was told before it is not so."""
    return _DENIAL.search(sentence) is not None


def is_yes_or_no(reply: str) -> bool:
    """Tell whether a reply begins with yes or no, in whatever words."""
    return _YES_OR_NO.match(reply) is not None


def is_clause(sentence: str) -> bool:
    """Tell whether a sentence has somebody do or be something, as far as small words and verbs tell."""
    return _CLAUSE.search(sentence) is not None or any(map(is_verb, sentence.split()))


def is_negative(sentence: str) -> bool:
    """Tell whether a sentence says that something is not so, or not to be."""
    return _NEGATION.search(sentence) is not None


def points_elsewhere(question: str) -> bool:
    """Tell whether a question is about something that only what was said before it names."""
    return _POINTER.search(question) is not None


def leans_back(sentence: str) -> bool:
    """Tell whether a sentence says something only right behind the one before it."""
    return _IN_THAT_WAY.search(sentence) is not None or _NO_VERB.match(sentence) is not None


def is_evasive(reply: str) -> bool:
    """Tell whether a reply puts the answer off."""
    return _EVASIVE.search(reply) is not None and _BUT.search(reply) is None


def is_proposal(sentence: str) -> bool:
    """Tell whether a sentence proposes what both are to do."""
    return _PROPOSAL.search(sentence) is not None


def accepts(reply: str) -> bool:
    """Tell whether a reply (its first sentences) agrees, without a but."""
    return _ACCEPTANCE.search(reply) is not None and _OBJECTION.search(reply) is None


def objects(reply: str) -> bool:
    """Tell whether a reply turns something down or puts something else in its place."""
    return _OBJECTION.search(reply) is not None


def counters(reply: str) -> bool:
    """Tell whether a reply begins with something else instead."""
    return _COUNTER.search(reply) is not None


def takes_back(sentence: str) -> bool:
    """Tell whether somebody takes back what they said last."""
    return _TAKEN_BACK.search(sentence) is not None


def changes_plans(sentence: str) -> bool:
    """Tell whether a sentence puts something else in the place of what was said before."""
    return _CHANGE.search(sentence) is not None
