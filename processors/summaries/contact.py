"""What only keeps up contact and tells a later reader nothing: greetings, thanks, cheers, offers (English)."""

from __future__ import annotations

from processors.summaries.speech_acts import any_of, says

_PHATIC = any_of(
    r"^\W*(?:hi|hey|hello|howdy|good (?:morning|afternoon|evening|night|day|luck|idea|point)|thanks?|thank "
    r"you|thx|wow|cool|nice|great|awesome|amazing|congrat\w*|sure|ok|okay|yes|yeah|yep|no|nope|of course|"
    r"absolutely|definitely|exactly|welcome|come in|excuse me|pardon|cheers|sounds? (?:good|great|like)|"
    r"you(?:'re| are) welcome|no problem|my pleasure|bye|goodbye|see you|take care|glad|happy|sorry|i'm sorry|"
    r"i am sorry|i see|got it|i know|i understand|me too|have a|keep (?:it )?up|my (?:god|goodness|gosh)|"
    r"i(?:'m)? (?:think|hope|guess|afraid) so|you're right|you are right|(?:i )?(?:\S+ )?agree|here you are|"
    r"here it is|there you are|let me see|let me think|that (?:sounds|would be|will be)|that's "
    r"(?:\w+ )?(?:great|awesome|cool|nice|good|amazing|wonderful|right|true|fine|ok|okay|all|it|too bad|"
    r"terrible|awful)|how are you|how have you been|been (?:a|so|quite|ages|forever)|how(?:'s| is| was| has|"
    r" were) (?:it going|life|everything|(?:your|the) (?:\w+ )?(?:day|week|weekend))|good for you|excellent "
    r"that|what's (?:been )?up|oops|what's new|this is \w+ speaking)\b",
    r"^you are (?:a|an|the) (?:\w+ ){0,3}(?:assistant|chatbot|bot)\b",
    r"\b(?:how (?:can|may) i (?:help|assist)|(?:can|may) i help you|what can i do for you|anything else|"
    r"feel free|let me know if|hope (?:this|that) helps|hope (?:(?:all|everything) is|you are|you're) well|"
    r"is there anything|(?:good|nice|pleased|pleasant|glad) to (?:see|meet|hear))\b",
)
_PHATIC_WORDS = 8

#: At any length: who answers for a living ends with it.
_OFFERS_HELP = any_of(
    r"\bfeel free to\b|\bi(?:'d| would) be (?:happy|glad) to\b|\bi can help you\b|"
    r"\bif you (?:ever )?(?:have|need) (?:any|some|more|further) (?:\w+ ){0,3}(?:questions?|help|assistance|"
    r"concerns?|guidance|clarification|suggestions?|advice|support)\b",
    r"\b(?:would you like|do you (?:want|need)|is there)\b.*\b(?:any|specific|particular|further|"
    r"more)\b.*\b(?:part|aspects?|details?|information|examples?|help|assistance|guidance|areas?|type|"
    r"steps?|questions?)\b",
)
#: At any length, unless a clause or a number follows.
_THANKS = any_of(
    r"^\W*(?:many thanks|thanks|thank you|i hope to hear from)\b[^,;\d]*$",
    r"^\W*(?:i(?:'ve| have)? (?:really )?enjoyed|(?:it (?:was|is|has been)|"
    r"it's(?: been)?) (?:\w+ )?(?:a pleasure|pleasant|nice|lovely)) (?:to (?:see|meet)|(?:talking|"
    r"speaking) (?:to|with)|meeting|seeing) you\b[^,;\d]*$",
    r"^the pleasure(?:'s| is| was) (?:all )?mine\b",
    r"^(?:\w+, )?(?:and |so |but )?i(?: really| do| truly| so)* appreciate "
    r"(?:it|that(?! the| my| our)|you|your|all|the)\b(?![^;]*\bbut\b)[^;\d]*$",
    r"^(?:(?:and|so|but|well|anyway),? )*(?:if\b[^;\d]*?, )?(?:please |just )?let me know\b[^\d]*$",
    r"^(?:\w+, )?(?:all )?your (?:kind |constant )?(?:support|help|words|encouragement|kindness|"
    r"friendship)(?: \w+){0,8}? (?:means?|matters?|keeps? me|motivates?|inspires?)\b",
    r"^(?:i'm |i am )?(?:so |really |super |very )*(?:glad|happy|proud|thrilled)(?: (?:for|of|that) you| "
    r"you| to (?:(?:see|have|know) (?:you|your|such|that you|my words)|hear|help)| (?:i|we) could| "
    r"the \w+ made)\b[^,;\d]*(?:, \w+)?\W*$",
    r"^(?:i'd |i would )?(?:really )?love to (?:hear|read|check|help|(?:see|know|try|share)"
    r"(?= (?:it|that|this|them|your?|more|about|how|some)\b|\W*$))\b[^,;\d]*$",
    r"^(?:it's|it is|that's|that is) (?:so |really )?(?:great|good|nice|wonderful|awesome|lovely|"
    r"encouraging) to (?:hear|see|know(?! that (?!you\b)))\b[^,;\d]*$|"
    r"^(?:really )?appreciate\b[^,;\d]*(?:, \w+)?\W*$",
    r"\b(?:i'm|i am|i'll be) (?:always |right )?(?:here|there) "
    r"(?:for you\b|to (?:support|help)(?: you\b|\W*$))",
    r"\bi(?:'ll| will)(?: \w+)? (?:check (?:it|that|this|them)(?: one)? out|keep (?:it|that|this) in mind|"
    r"let you know|keep you (?:posted|updated)|give (?:it|that|this) a (?:try|go|shot)|"
    r"make sure to have)\b[^,;\d]*$",
)

#: At any length, unless a clause or a number follows: what it says of another, they know.
_FEELS_FOR = any_of(
    r"^(?:\w+, )?(?:(?:that|it|this) )?(?:sounds? like|must (?:be|feel|have been|have felt))\b[^,;\d]*$",
    r"^(?:\w+, )?i can (?:only |just )?imagine\b[^,;\d]*$",
    r"^(?:i(?:'ll| will|'m gonna)|gonna)(?: definitely| always| just)? keep (?:pushing|going|trying|at it|"
    r"spreading|on|believing|up)\b[^,;\d]*$|^(?:always )?keep (?:on )?(?:being|pushing|going|up)\b[^,;\d]*$",
    r"^(?:\w+, )?(?:(?:i(?:'m| am)? )?(?:so |really )?(?:can't wait|looking forward|hope|bet|good|great|nice|"
    r"excited|glad|stoked|thrilled)\b|nice (?:talking|speaking|chatting))(?=.*\byou(?:r|'\w+)?\b)[^\d]*$",
    r"^(?:\w+, )?(?:you\b[^,;\d]*!\W*$|you(?:'re| are) always\b|(?:all )?(?:your|that) (?:\w+ (?:and|&) )?"
    r"(?:hard work|support|passion|courage|strength|talent|dedication|determination|kindness|friendship|"
    r"boldness|creativity|positivity|resilience|enthusiasm|encouragement|\w+ journey)\b)",
    r"^(?:\w+, )?(?:you(?:'ve| have)? (?:come a long way|(?:really |both )?worked)|cherish|you(?:'re|"
    r" are) (?:the (?:best|\w+est)|(?:so|really|truly|such an?|an?) (?:\w+ )?(?:inspir\w+|amazing|awesome|"
    r"great|kind|talented|lucky))|(?:your|that|those|this) \w+ (?:looks?|is|are) (?:so |really )?(?:great|"
    r"beautiful|stunning|incredible|amazing|awesome|gorgeous)|way to go|congrat\w*|any ?time you|long time no|"
    r"(?:i'm |i am )?(?:so )?sorry (?:to hear|about))\b[^;\d?]*$",
)

#: What is so for everybody: "Losing a friend is tough".
_MAXIM = any_of(
    r"^(?:\w+, )?(?!\w+thing\b|\w+ conditions\b)\w{2,}ing\b(?!.*\b(?:i|me|my|mine|we|our|"
    r"us)\b)[^,;:\d]*?(?:'s| is| are| can| could| must| helps?| makes?| takes?| brings?| keeps?| gives?|"
    r" means?)\b[^,;\d]*$",
    r"^it(?:'s| is) (?:(?:so|super|really|always|also) )*(?:(?:important|crucial|key|vital) (?:to|for|that)|"
    r"(?:amazing|awesome|great|inspiring|wonderful|cool|incredible|nice) (?:how|what|when|to(?! know that)))\b"
    r"(?!.*\b(?:i|me|my|mine)\b)[^,;\d]*$",
    r"^you(?:'re| are) right\b[^;\d]*$|^what would (?:i|you|we) do without\b",
    r"^(?:hard work|life(?:'s| is| has| can| sure))\b(?!.*\b(?:i|me|my|mine)\b)[^,;\d]*$|"
    r"\bcan (?:(?:truly|really) )?make a (?:real |big )?difference\W*$",
)

#: Whether a reply begins with a greeting.
greets = says(r"^\W*(?:hi|hey|hello|howdy|good (?:morning|afternoon|evening|day)|welcome)\b")


def is_phatic(sentence: str) -> bool:
    """Tell whether a sentence only greets, thanks, agrees or offers help."""
    if len(sentence.split()) <= _PHATIC_WORDS and _PHATIC.search(sentence):
        return True
    if _FEELS_FOR.search(sentence) or _MAXIM.search(sentence):
        return True
    return _THANKS.search(sentence) is not None or _OFFERS_HELP.search(sentence) is not None
