"""What an assistant lays out, advises and drafts: it is nobody's, and no summary tells it (English)."""

from __future__ import annotations

import re

from processors.summaries.perspective import is_imperative
from processors.summaries.reading import Sentence
from processors.summaries.speech_acts import any_of

#: What an assistant tells somebody to do, or shows them: to whoever reads it later, it is nobody's.
_ADVICE = any_of(
    r"^you (?:want to|should|might|may|could|need to|must|can (?:also |then |now )?(?:use|try|add|create|"
    r"set|check|start|consider|follow|implement|adjust)|'ll (?:want|need)|will (?:want|need))\b",
    r"(?:^|, )it(?:'s| is) (?:\w+ )?(?:important|crucial|essential|vital|best|wise|advisable|a good idea) to\b|"
    r"^your (?:\w+ ){1,3}(?:should|must|needs? to)\b|^(?:instead )?of\b.*\byou (?:can|could|should|might)\b",
    r"^if\b.*\byou (?:can|could|should|might|may)\b|^(?:make sure|be \w+|don't|do not|here(?:'s| is| are)|"
    r"below (?:is|are))\b|^by \w+ing\b.*\byou\b|"
    r"^to \w+ .*\b(?:you|we|let's)\b|^(?:let's|we'll|we will)\b|\[[^\]\d][^\]]*\]",
)
_NEXT = any_of(
    r"^(?:(?:also|additionally|furthermore|moreover|in addition|however|next|then|first|finally|lastly|"
    r"now|please|instead|for example|if possible)[, ]+)+"
)
#: A verb without a subject, before what it is done to: "Proofread your letter".
_BARE_VERB = re.compile(
    r"(?!(?:In|On|At|By|For|With|From|To|Of|As|If|When|While|Since|After|Before|During|Given|And|But|Or|So|"
    r"Is|Was|Do|Did|Had|Have|Can|Could|Will|Would|Should|May|Might|Not|All|Most|Both|Each|Such|Once|Until|"
    r"Because|Although|Though|Like|About|Over|Under|Between|Among|Here|How|What|Which|Who|Where|Why|Only|"
    r"Even|Not|Into|Per|Via|Through|Around|Against|Without|Within|Near|Behind|Above|Below|Yet|Just|Than|"
    r"That|It|Half|Quite|Rather)\b)[A-Z][a-z]*[a-rt-z](?<!ing)(?<!ed)(?<!ly)(?: (?:to|on|for|with|out|up|"
    r"about|back|down))? (?:the|a|an|your|any|each|every|some|this|these|specific|yourself|it|them)\b"
)
_TOLD_VERBS = """
add aim avoid begin build click compare create define encourage ensure focus highlight identify implement
include install list monitor optimize outline provide reach read remember review run select set start stay
stick test track update utilize verify visualize
"""
_TOLD = frozenset(_TOLD_VERBS.split())
_SUBJECT_FOLLOWS = re.compile(
    r"\w+ (?:is|are|was|were|of|will|can|has|have|had|may|might|must|should|would|could|in|at|for)\b"
)

#: Of what somebody has done or is about to do.
_PRAISE = re.compile(
    r"^[Cc]ongratulations\b|^(?:[Gg]reat|[Gg]ood|[Ee]xcellent|[Nn]ice|[Ff]antastic|[Ww]ell) (?:job|work|"
    r"done|start|question)\b|\b(?:is|sounds like) (?:always )?an? (?:\w+ (?:and )?){0,2}(?:great|good|"
    r"fantastic|smart|excellent|wonderful|significant|strategic|powerful|effective|exciting|common|valid|"
    r"valuable|solid|thoughtful|crucial|important|positive) \w+"
)

#: What is good for everybody, by no sign of the person: "Keeping receipts is crucial".
_MAXIM = any_of(
    r"^(?!(?:according|depending|speaking)\b)(?:(?:\w+ly|not),? )?(?:[a-z]{2,}ing|it|this|an?|the right|"
    r"good|clear)\b.*\b(?:crucial|essential|vital|key|important|challenging|rewarding|helpful|common|"
    r"requires?|(?:might|may) \w+|(?:can|will|helps?|ensures?) (?:\w+ly )?(?:help|enhance|improve|make|"
    r"ensure|lead|provide|reduce|save|be|you|your))\b",
)

_MINE = re.compile(r"\b(?:my|mine|me|myself)\b", re.IGNORECASE)
#: Said to a request before it is seen to.
_SURE = re.compile(
    r"\W*(?:certainly|absolutely|of course|sure(?: thing)?|definitely|great|happy to)\W*\Z", re.IGNORECASE
)


def is_shown(sentence: Sentence) -> bool:
    """Tell whether an assistant lays something out, advises it, or drafts what somebody else is to say."""
    drafted = _MINE.search(sentence.plain) or sentence.plain.count('"') % 2
    return bool(sentence.laid_out or drafted or _advises(sentence.plain))


def is_consent(reply: str) -> bool:
    """Tell whether a reply only says that what was asked for follows."""
    return _SURE.match(reply) is not None


def is_instruction(sentence: str) -> bool:
    """Tell whether a sentence is a verb, without who does it, and what is to be done to what."""
    bare = _BARE_VERB.match(sentence[:1].upper() + sentence[1:])
    return bool(bare or is_imperative(sentence)) and _SUBJECT_FOLLOWS.match(sentence) is None


def _advises(sentence: str) -> bool:
    """Tell whether an assistant's sentence tells somebody to do something, or shows how."""
    plain = _NEXT.sub("", sentence)
    if _ADVICE.search(plain) or _MAXIM.search(plain) or _PRAISE.search(plain):
        return True
    return plain.partition(" ")[0].lower() in _TOLD or is_instruction(plain)
