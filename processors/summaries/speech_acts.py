"""What somebody does by a sentence: asks, proposes, agrees, objects, puts off (English)."""

from __future__ import annotations

import re
from collections.abc import Callable

from processors.summaries.perspective import is_verb


def any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern for all of them.  ``'`` stands for both apostrophes."""
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(alternatives.replace("'", "['’]"), re.IGNORECASE)


def says(*patterns: str) -> Callable[[str], bool]:
    """Whether one of the patterns of :func:`any_of` stands anywhere in a sentence."""
    found = any_of(*patterns).search
    return lambda sentence: found(sentence) is not None


#: Whether a sentence asks somebody to do something.
is_request = says(
    r"(?<!like )(?<!word )(?<!words )(?<!say )(?<!saying )\bplease\b(?! (?:feel free|let me know if|note))",
    r"^(?:can|could|would|will) you\b",
)

#: Whether a sentence tells somebody to do something right now.
is_command = says(
    r"^(?:(?:now|so|well|and|then|please|just),? )*(?:show|tell|give|let|help|excuse|pardon|forgive|"
    r"remember|believe|trust|wait for|listen to|look at|call|ask|bring|pass|get|follow) (?:me|us)\b",
    r"^(?:come (?:on|in|here)|look|listen|wait|hurry|hold on|don't (?:worry|mention|be|forget|you)|"
    r"take (?:it easy|a seat|a look)|have an? (?:seat|look|\w+ (?:time|day|night|weekend|trip))|sit down|"
    r"calm down|never mind|guess what|be (?:careful|quiet))\b",
    r"^(?:(?:but|and|so|just|always),? )*(?:remember(?:, (?!(?:to|that|when|the|i|i'm|my|we|our|he|she|they)\b)"
    r"| (?:you|your|why|how|what|\w+(?=,)))|believe in|hang in|keep (?:going|pushing|shining|chasing|"
    r"believing)|go for it)\b",
    # "Stay safe, the bridge is closed" tells something.
    r"^(?:(?:but|and|so|just|always),? )*(?:keep (?:it up|up)|stay (?:strong|positive|motivated|safe|focused|"
    r"true)|enjoy (?:it|your|every|the (?:moment|ride|journey)))\b(?![^;]*, (?:the|my|our|i|we|he|she|they)\b)",
)
#: Whether a sentence breaks off, or is a condition without what follows from it.
is_fragment = says(
    r"(?:\.\s*\.|[,:–—-])\s*\Z",
    r"\A(?:if|when|because|unless|not|since (?:there|i|you|he|she|it|we|they|the|my|your))\b[^,]*\Z",
    r"\Anot (?:unless|if|until|without)\b|\A(?:now,? )?(?:according to|when it comes to|regarding|"
    r"concerning)\b[^,]*\Z",
    # It says what was meant by what stood before it.
    r"\bi mean(?:t)?(?:,|\W*\Z)|\Ai mean(?:t)?\b",
    r"\A(?:the|my|his|her|its|our) (?:first|second|third|last|other|next)(?:,| (?:time|one)\b)|"
    r"\A\*\*[^*]*\*\*\Z|\A[\\)\]}]",
    r"\A\W*(?:well|so|um+|er+|hm+|oh|ah|uh)\W*\Z",
)
#: What somebody can, will or would, without the verb.
_NO_VERB = any_of(
    r"\A(?:(?:and|but|so|well|yes|no|oh),? )*(?:i|you|he|she|it|we|they) (?:\w+ly )?"
    r"(?:(?:can|could|would|will|should|must|might|do|does|did)(?:n't| not)?|can't|cannot|won't)"
    r"(?: (?:possibly|really|certainly|definitely|too|either|so|now|yet|sure))*\W*\Z",
)
#: Whether a reply denies what was said before it.
contradicts = says(
    r"^\W*(?:(?:oh|well|but|hm+)[, ]+)*(?:no\b(?! (?:problem|wonder|doubt|kidding))|nope|not (?:really|"
    r"exactly|at all|true|quite)|i doubt|i don't (?:think|believe|agree)|i disagree|(?:that's|that is|it's|"
    r"it is) (?:not|n't|wrong|nonsense)|that isn't|you're (?:wrong|kidding|joking|mistaken)|"
    r"are you (?:kidding|joking|crazy)|you must be (?:kidding|joking|mistaken)|nonsense|don't be silly)",
)

#: Whether a sentence says of whom it is said to what they are, have or did: they know better.
charges = says(
    r"\b(?:heard|told me|says?|said|fact)(?: that)? you\b|"
    r"^you(?:'re|'ve| are| were| have| had| did| always| never)\b",
)
#: Whether a sentence says that what was told before it is not so.
denies_that = says(
    r"\b(?:i|we) (?:don't|do not) (?:think|believe|agree with) (?:it|that|this|so)\b"
    r"(?=\W*\Z| (?:is|'s|was) (?:true|so|right))",
    r"^\W*(?:(?:well|but|oh)[, ]+)+i(?:'m| am) afraid\b",
    r"\b(?:it|that|this)(?:'s not| is not|n't| isn't| was not| wasn't) (?:\w+ )?(?:true|so|right|the case)\b",
)

_QUESTION_OPENING = any_of(
    r"^i(?:'m| am| was)? wonder(?:ing)?\b",
    r"^(?:what|where|when|who|whom|whose|why|how|which)\b",
    r"^(?:can|could|would|will|shall|should|do|does|did|is|are|was|were|have|has|may) "
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|my|your|our|anyone|any)\b",
    # No statement begins like that, unless its subject is left out: "Should be fine".
    r"^(?:can|could|would|should|does|is|are) (?!be\b|do\b|have\b|love\b|like\b|not\b|never\b|only\b|just\b)\w",
)
_QUESTION_END = re.compile(r"[?？][\s\"'”’)!?？.]*\Z")
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

#: Whether a sentence says that something is not so, or not to be.
is_negative = says(
    r"n't\b|\b(?:not|no|never|cannot|nothing|nobody|none|nor|without|hardly|unable|refuse[sd]?|fail(?:s|"
    r"ed)?)\b",
)
_CLAUSE = any_of(
    r"\b(?:i|you|he|she|it|we|they|there|is|are|was|were|am|be|has|have|had|do|does|did|can|could|will|"
    r"would|should|must|may|might)\b|'(?:s|re|m|ve|ll|d)\b|n't\b",
)
#: In what way, only the sentence before says.
_IN_THAT_WAY = any_of(
    r"^(?:that|this) way\b", r"\b(?:the same (?:way|thing)|do the same)\W*\Z", r"\b(?!up\b)\w+ to\W*\Z"
)

_YES_OR_NO = re.compile(
    r"\W*(?:(?:oh|well|hm+)[,.! ]+)*(?:yes|yeah|yep|no|nope|not|(?:for )?sure|ok|okay|of course|certainly|"
    r"right|exactly|absolutely|definitely|all ?right|alright)\b",
    re.IGNORECASE,
)

_EVASIVE = any_of(
    r"\b(?:i|we)(?:'m| am|'re| are) (?:not sure|unsure|undecided)\b",
    r"\b(?:no idea|not sure yet|don't know|do not know|haven't decided|have not decided|hard to say)\b",
    r"\b(?:no|nothing)\b.*\bfound\b|(?:\b(?:no|not|unable)|n't)\b.*\b(?:information|results?)\b",
    r"\b(?:get back to you|let you know|let me (?:check|think|see|look|ask|find out)|"
    r"i'll (?:check|think|ask|find out|look)|will check|one moment|decide later|"
    r"talk about (?:it|that) later|(?:just|wait) a (?:minute|moment|sec(?:ond)?)|(?:hold|hang) on)\b",
)
_BUT = re.compile(r"\b(?:but|though|however)\b", re.IGNORECASE)

#: Whether a sentence proposes what both are to do.
is_proposal = says(
    r"^(?:(?:so|well|then|maybe|perhaps|and|or|but|now|seriously|though|anyway)[, ]+)*(?:let's(?! not\b)|"
    r"(?:how|what) about(?! (?:you|him|her|them)\b| yours)|shall we|should we|why don't we|why not|"
    r"what if we|we (?:could|can|should|might)(?!'t| not| never| (?:\w+ )?(?:need|have|be)\b)|i suggest|"
    r"what do you say)\b",
    r"^(?:maybe|perhaps) we\b",
    r"^(?:why don't you|would you like to|do you want to) (?:come|join)\b",
    r"^i think\b.*\b(?:would|will) be (?:sufficient|enough|fine|good|better|best|ok(?:ay)?)\b",
    r",? shall we[?]$",
    # "It's cold, right?" only asks for a yes.
    r"\b(?:we|we'll|us|i'll|you'll)\b.*,? (?:ok|okay|right|all right|alright)[?]$",
)
_ACCEPTANCE = any_of(
    r"^\W*(?:(?:oh|well|yes|yeah|hm+|then)[,.! ]+)*(?:ok(?:ay)?|sure|yes|yeah|yep|all ?right|alright|fine|"
    r"agreed|deal|great|perfect|(?:that's a |what a )?(?:good|great|nice|wonderful) (?:idea|choice|plan)|"
    r"(?:that )?sounds (?:good|great|fine|perfect|like)|(?:that's|that is|that would be|that will be|"
    r"that'll be|it's) (?:a )?(?:fine|good|great|perfect|lovely|ok(?:ay)?|settled|deal)|of course|certainly|"
    r"definitely|absolutely|no problem|why not|with pleasure|i (?:\w+ly )?agree|it's a (?:deal|date)|"
    r"see you (?:then|there)|works for me|done)\b",
    r"\bi'd (?:love|like|be (?:glad|happy)) to\b",
)
_OBJECTION = any_of(
    r"\b(?:but|however|no(?! (?:problem|doubt|wonder|worries))|nope|not|can't|cannot|don't|won't|wouldn't|"
    r"isn't|couldn't|unfortunately|afraid|sorry|(?:is|are|it's|that's) (?:full|booked|taken|sold out|closed|"
    r"unavailable)|rather|instead|how about|what about|why not|doubt|(?:sounds|too) (?:late|early|far|"
    r"expensive|much|boring|bad))\b",
)
#: Whether somebody takes what they speak of: what it is, their wish said.
takes = says(
    r"^(?:(?:then|well|so|and|in that case|good|great|fine|perfect|i think)[, ]+)*(?:i|we)(?:'ll| will|'d "
    r"like to) (?:take|buy) (?:it|them|this|that|one|both|two)(?: one)?(?=\W*\Z|[,;.]| (?:please|then|and)\b)",
)
#: Whether a reply begins with something else instead.
counters = says(
    r"^\W*(?:(?:oh|well|hm+|hey)[, ]+)*(?:but\b|no\b(?! problem)|why not|why don't|how about|what about|wait\b|"
    r"are you (?:sure|crazy|serious|kidding)|you (?:can't|shouldn't)|rather)",
)
#: Whether somebody takes back what they said last.
takes_back = says(r"\b(?:changed my mind|on second thoughts?|scratch that|forget (?:that|it|what i said))\b")
#: Whether a sentence puts something else in the place of what was said before.
changes_plans = says(
    r"\b(?:instead|rather|change|changed|after all|make (?:it|that)|on second thought|works? better|"
    r"reschedule|move (?:it|that)|postpone|cancel)\b",
    r"^(?:no|sorry|actually|correction|wait)\b",
)


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks something, with or without its question mark."""
    if _QUESTION_END.search(sentence) or _INVERTED.search(sentence):
        return True
    return _STATEMENT_END.search(sentence) is None and _QUESTION_OPENING.search(sentence) is not None


def is_yes_or_no(reply: str) -> bool:
    """Tell whether a reply begins with yes or no, in whatever words."""
    return _YES_OR_NO.match(reply) is not None


def is_clause(sentence: str) -> bool:
    """Tell whether a sentence has somebody do or be something, as far as small words and verbs tell."""
    return _CLAUSE.search(sentence) is not None or any(map(is_verb, sentence.split()))


def leans_back(sentence: str) -> bool:
    """Tell whether a sentence says something only right behind the one before it."""
    return _IN_THAT_WAY.search(sentence) is not None or _NO_VERB.match(sentence) is not None


def is_evasive(reply: str) -> bool:
    """Tell whether a reply puts the answer off."""
    return _EVASIVE.search(reply) is not None and _BUT.search(reply) is None


def accepts(reply: str) -> bool:
    """Tell whether a reply (its first sentences) agrees, without a but."""
    return _ACCEPTANCE.search(reply) is not None and _OBJECTION.search(reply) is None


def objects(reply: str) -> bool:
    """Tell whether a reply turns something down or puts something else in its place."""
    return _OBJECTION.search(reply) is not None
