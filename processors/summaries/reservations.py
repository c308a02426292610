"""What keeps a sentence from being a decision, a to-do or a trait: it was refused, declined or retracted,
it is a habit, done on the spot, true only for now, or over before the talk is (English).
"""

from __future__ import annotations

from processors.summaries.speech_acts import any_of, says

#: Whether a sentence only says what comes next in the talk.
is_transition = says(
    r"\blet's (?:see|face|say|hope|hurry|go\b\W*$|go (?:on|ahead|over|through|back)|move on|continue|(?:begin|"
    r"start|get started|talk|turn|look|get (?:going|out))\b|have a look|take a look|get down to|(?:dive|dig|"
    r"go|get) (?:\w+er )?into)",
    r"^all (?:i|we) need\b|^something else (?:i|we)\b|^wishing you\b|^(?:we|i) (?:haven't|have not) (?:talked|"
    r"spoken|chatted|seen you)\b|\b(?:another|(?:one|a) (?:more|last|final|quick)) question\b|\bwe can "
    r"(?:decide|talk|see)\b",
    # What it is, is told next, or in no words.
    r"^(?:\w+ly |since (?:we|you|i) [^,]*, )?(?:some|so much|a lot|an? \w+ (?:thing|lot)|\w+ (?:things?|"
    r"stuff)|something)\b[^,;-]*\b(?:happened|happening|changed|going on)\b(?! to (?:the|our|an?|his|her|"
    r"their|my \w+ )| (?:at|in) )[^,;-]*\Z",
)
#: Whether a sentence only cheers whom it is said to, and whoever says it.
encourages = says(
    r"^(?:\w+, )?(?:let's|(?:together,? )?we(?:'ll| will| can| could| should| must|'ve gotta| gotta|"
    r" got to)?)(?: (?:all|both|just|always|really|definitely|still|totally|never|together))* (?:keep\b|"
    r"continue\b|cherish|stay |push\b|support|appreciate|enjoy|celebrate|spread|strive|savor|remember|never|"
    r"give it|give up|got this|(?:do|handle) (?:it|this|that|anything|so much|great things)\b|tackle|"
    r"get to work|achieve|inspire|join forces|stick together|make (?:it|this|that|things|every|"
    r"a (?:\w+ )?(?:difference|impact|change)|some (?:\w+ )?(?:change|memories)|(?:\w+ )?memories|"
    r"the (?:most|best)|\w+ (?:unforgettable|count|happen|better))\b|work (?:hard|together)|help (?:those|"
    r"others|each)|honou?r|live it up|find (?:our|your) own)",
    r"^(?:\w+, )?(?:let's|we (?:can|could|should))\b.*\b(?:positivity|kindness|dreams|hope|happiness|joy|"
    r"potential|each other|life's|the world|journey|memories|success)\b",
)
#: "Saturday or Sunday?": whoever says yes has chosen neither.
_CHOICE = any_of(r"\w or (?!so\b|something|anything|whatever|thereabouts)\w")
#: A yes that says what there is agrees to nothing.
_INFORMS = any_of(
    r"\b(?:we|they)(?: do| still|'ve)? (?:have|got|serve|sell|offer|accept|provide)\b(?! (?:time|a deal))",
    r"\bthere(?:'s| is| are)\b|\bavailable\b",
)
#: Whether somebody says that what another wants is not to be.
refuses = says(
    r"\b(?:i'm|i am|we're|we are) (?:afraid|sorry),? (?:\w+ ){0,3}(?:not|no|can't|cannot|don't)\b",
    r"\b(?:you|we|they|that|it|i) (?:can't|cannot|can not|couldn't|mustn't|must not|won't be able to)\b",
    r"\b(?:don't|do not|doesn't|does not|didn't|won't|not) (?:allow|permit|accept|let|offer|do that|sell|lend)",
    r"\b(?:not|isn't|aren't) (?:allowed|permitted|possible|necessary|available|an option)\b",
    r"\b(?:impossible|forbidden|prohibited|against (?:the|our) (?:rules?|policy|law)|out of the question)\b",
    r"\b(?:you|we|i) (?:don't|do not|needn't|need not|won't) (?:really )?(?:have|need) to\b|\bneedn't\b",
    r"\b(?:unable|not able) to\b|\bunsuccessful\b|\bbooked (?:up|out)\b|\bnothing available\b",
    r"\b(?:there's|there is) no need\b|\bno need (?:to|for)\b|\bwon't be necessary\b",
    r"\b(?:already (?:did|done|have|has)|i(?:'ll| will) do (?:it|that) (?:for you|myself|instead))\b",
)
#: Whether somebody does not want any more what they spoke of.
declines = says(
    r"\bno,? (?:thanks|thank you)\b|\bnever ?mind\b|\bforget (?:it|about it)\b|\bi'll pass\b",
    r"\bi (?:don't|do not) (?:want|need|have) (?:it|that|this|them|to)\b|\bnot any ?more\b",
    r"\b(?:i|we)(?:'ll| will) (?:leave|skip|drop) (?:it|that)\b|\b(?:i|we) won't\b",
)
#: Whether a sentence is about what is done again and again.  What comes back again and again is done, not to
#: be done.
is_habit = says(
    r"\b(?:always|usually|often|normally|generally|sometimes|regularly|whenever|typically|mostly|"
    r"never|constantly)\b",
    r"\b(?:every|each) (?:other |single )?(?:time|day|night|morning|afternoon|evening|week\w*|month|year|"
    r"hour|mon|tue|wed|thu|fri|sat|sun)",
    r"\b(?:once|twice|(?:\w+ )?times) (?:a|an|per|every) \w+|\b(?:on|at) (?:\w+days|weekends)\b|"
    r"\ball (?:day|the time|night)\b|\b(?:daily|weekly|at work|for a living)\b",
    # "During the party I have to serve" tells what somebody's work is like.
    r"^(?:during|before|after|while|when|once)\b.*\b(?:have|has|need) to\b",
    # "Of course, I have to" says at what price something else is to be had.
    r"^of course\b",
)
#: Whether a sentence is about something done while people talk of it.
is_on_the_spot = says(
    r"\b(?:this|these)\b(?! (?:week|month|year|morning|afternoon|evening|weekend|spring|summer|autumn|fall|"
    r"winter|term|coming|mon|tues|wednes|thurs|fri|satur|sun))|"
    r"\b(?:here|over there|right (?:now|away)|at once|immediately)\b",
    r"\b(?:bring|give|show|pass|hand|get|tell|let|count|sign|fill) (?:me|us|it|them|in|out)\b",
    r"\b(?:restroom|bathroom|toilet)\b|\bnow\W*$|\bfirst\W*$|^(?!.*\byou\b).*\bplease\W*$",
)

#: Whether a sentence says that something does not work, or is not to be found.
is_trouble = says(
    r"\b(?:can't|cannot|can not|couldn't|won't|doesn't|don't|isn't|not) (?:seem to )?(?:find|get|make|open|"
    r"start|work|working|fit|turn|use|remember|see|hear|reach|figure|understand)\b",
    r"\b(?:haven't|hasn't|have not|has not|didn't) (?:seen?|found?|find|heard?)\b|"
    r"\b(?:lost|stuck|broken|missing|stolen|injured|upset|out of order|confused|worried|unable to|unsuccessful|"
    r"(?:booked|sold) out)\b",
)
#: Whether a sentence says that it works now, or is found.
is_solved = says(
    r"\b(?:it went through|successful(?:ly)?|was able to|(?:'ve|have) (?:booked|reserved))\b",
    r"\bi(?:'ve)? (?:finally )?(?:got|found|see|get|did) (?:it|them|that|one)\b(?! wrong)",
    r"\b(?:it|that)(?:'s| is)? (?:works?|worked|working|fits?|helps?|helped|did it|fixed|ringing|on|open)\b"
    r"(?! (?:order|sale|the))",
)
#: Whether a sentence points at what was looked for.
is_found = says(
    r"\b(?:t?here) (?:(?:it|he|she) is|they are)\b",
)
#: Whether somebody says that they have done something.
is_done = says(
    r"\b(?:i|we)(?:'ve| have)(?: already| just)? (?!to\b|got\b|been\b|not\b|never\b)\w+",
    r"\b(?:i|we)(?: already| just) \w+|\b(?:is|are|it's|that's|all) (?:all )?(?:done|ready|finished)\b",
)
#: Whether somebody says what they are ready to do.
offers = says(
    r"\b(?:i|we)(?:'ll| will| can| could| might)(?! not\b|n't)\b|\b(?:how|what) about\b|"
    r"\b(?:all right|alright|okay)\b|\blet me\b|\bif you\b",
)

#: Whether a sentence says what somebody wants, needs or is about to do.
is_intention = says(
    r"\b(?:i|we)(?:'ll| will|'d (?:like|love|rather)| would (?:like|love|rather)| want| need| must| (?:have|"
    r"ought) to|'m (?:going|planning) to| am (?:going|planning) to|'re going to| are going to| should|"
    r"'d better|'ve got to)\b(?! not\b|n't)",
    r"^(?:please )?(?:book|reserve|order|make|try|get|bring|send)\b",
    r"\b(?:today|tonight|tomorrow|now)\b.*\bwe\b|\bwe\b.*\b(?:today|tonight|tomorrow|now)\b|^let's\b",
    r"\b(?:i|we) (?:can|might)\b.*\byou\b|\b(?:i|we) could\b",
)
#: Whether a sentence says what somebody would choose this time.
is_choice = says(r"\bi(?:'d| would)(?: much| really)? (?:rather|prefer)\b")
#: Whether a sentence only supposes something of whom it is said to.  What one takes to be so of another, who
#: knows.
is_guess = says(
    r"\byou(?:r|rs)?\b.*\b(?:must|may|might|could) (?:be|have)\b|\b(?:must|may|might) (?:be|"
    r"have)\b.*\byou(?:r|rs)?\b",
    r"\b(?:i (?:guess|suppose|bet|assume|imagine)|probably|no doubt|surely|it (?:seems|looks)|you (?:seem|"
    r"look))\b.*\byou(?:r|rs)?\b|\byou(?:r|rs)?\b.*\b(?:i (?:guess|suppose|bet|assume|imagine)|probably|"
    r"no doubt|surely)\b",
)
#: Whether somebody gives what they speak of.
hands_over = says(
    r"^(?:and )?(?:here (?:you (?:are|go)|it is|they are|is|are|'s)|there you (?:are|go))\b|"
    r"\bhere you (?:are|go)\b",
)
#: Whether somebody says that they have seen to what another needs.
arranges = says(
    r"\b(?:booking|reservation|order)\b.* (?:is|was|has been|are) (?:complete[d]?|successful|made|done|"
    r"confirmed)\b",
    r"\b(?:you're|you are) all set\b|\bi(?:'ve| have) (?:booked|reserved|ordered|arranged)\b",
)
#: Whether a sentence asks for the next wish: the last one is seen to.
serves = says(r"\b(?:anything|something|what) else\b|\bis that (?:all|everything)\b")

#: Whether a sentence says what somebody would like, for another to see to.
is_wish = says(r"\b(?:i|we)(?:'d| would) like\b|\b(?:i|we) want\b")

#: Whether somebody says that they were wrong, or do not know.
retracts = says(
    r"\b(?:i|we)(?:'m| am|'re| are) (?:\w+ )?not (?:so |really )?sure\b|\bi don't think (?:this|that|it) is\b",
    r"\bi (?:was|am|must be|must have been) (?:just )?(?:wrong|mistaken|confused)\b|\bmy (?:mistake|fault|"
    r"bad)\b",
    r"\bi (?:messed up|made a mistake|got (?:it|that) wrong|misread|mixed up)\b",
)
#: Whether a sentence says how it is right now.
is_passing = says(
    r"\b(?:can't|cannot|couldn't) (?:\w+ )?(?:this|these|anything|a thing|a bite)\b",
    r"\b(?:today|tonight|tomorrow|at the moment|right now|for now|this (?:time|week|morning))\b",
)


def leaves_open(proposal: str, reply: str) -> bool:
    """Tell whether a yes to a proposal settles nothing: it offers a choice, or the yes tells what there is."""
    if _CHOICE.search(proposal):
        return True
    return proposal.rstrip().endswith("?") and _INFORMS.search(reply) is not None
