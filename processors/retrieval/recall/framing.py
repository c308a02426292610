"""Topic of a question, without its framing words.

"Can you list the order in which I brought up different aspects of the garden throughout our conversations?" is
about the garden: what was said of it has the words "list", "order" and "conversations" by chance alone.
"""

from __future__ import annotations

import re

#: What was said is called so.
TALK = r"(?:conversations?|chats?|discussions?|sessions?|messages?|questions|talks?)"
_ADVICE = r"(?:suggestions?|recommendations?|advice|ideas?|tips?)"

#: In this order: what one leaves may begin with the next.
_FRAMES = tuple(
    re.compile(frame, re.IGNORECASE)
    for frame in (
        r"^\W*(?:(?:hey|hi|hello|ok|okay|so|and|please|also)\b[\s,!.]*)+",
        r"^\W*(?:can|could|would|will) (?:you|we|i)\b(?: (?:please|also|help me|give me|tell me|suggest"
        r"|recommend|provide|list|show me|walk me through|remind me (?:of|about)?|explain)\b)*",
        rf"^\W*(?:do|did) you have (?:any|some)\b(?: {_ADVICE} (?:for|on|about|of)\b)?",
        rf"\b(?:any|some) {_ADVICE} (?:for|on|about|of)\b",
        r"\b(?:please )?(?:give|provide|tell) me\b",
        r"\b(?:an? |the )?(?:(?:clear|complete|comprehensive|brief|detailed|full|short|quick) )*"
        r"(?:summary|overview) of (?:everything (?:we(?:['’]ve| have)? )?(?:covered|discussed) about "
        r"|how |what )?",
        r"\bsummari[sz]e\b(?: (?:how|what|everything)\b)?",
        r"\b(?:in (?:what|which) |the )?order (?:in which|that|of how)\b",
        r"\b(?:i|we|you)(?:['’]ve| have| had)? (?:brought up|discussed|mentioned|talked about|said|told|covered"
        r"|asked about)\b",
        r"\b(?:did|have|had) (?:i|we|you) (?:(?:mention|say|said|tell|told|discuss|recommend|suggest|describe"
        r"|cover)(?:ed)?|(?:bring|brought) up|talk(?:ed)? about)\b",
        r"\b(?:different|various) (?:aspects|topics|things|concepts|stages|parts|steps)"
        r" (?:of|related to|about)\b",
        rf",?\s*\b(?:throughout|across|in|during|over|through|from)(?: all)?(?: of)?"
        rf" (?:our|my|these|the)(?: \w+)? {TALK}\b(?:,? in order\b)?",
        r",? in order\b(?=[.?!,]|$)",
        r"\bmention only(?: and only)? \w+ items?\b\.?",
        r"\b(?:over time|so far|previously|earlier)\b",
        # where something is to be is said from where the asker is now, and was not before
        r"\b(?:near ?by|near (?:me|here)|around here|close by|in the area(?! of\b)|from here"
        r"|(?:the )?(?:nearest|closest))\b",
    )
)
_BEFORE_A_MARK = re.compile(r"\s+(?=[.?!,;:])")


def subject_of(query: str) -> str:
    """Return a query without its frame; it may be that nothing is left."""
    for frame in _FRAMES:
        query = frame.sub(" ", query)
    return _BEFORE_A_MARK.sub("", " ".join(query.split())).strip(" ,;:")
