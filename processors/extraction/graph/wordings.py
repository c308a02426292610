"""Relations, and how a few of them are worded.

The wordings stand between who it is said of and what it leads to: "I *work at* Globex".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from models.graph import EntityType

#: Relations of which one holds at a time.
SINGLE = frozenset({"lives_in", "works_at", "studies_at", "born_in", "birthday", "married_to", "engaged_to"})

#: What the relation from somebody to a pet is called.
PET_OF = "pet"

_PLACE, _ORGANIZATION, _PERSON = EntityType.PLACE, EntityType.ORGANIZATION, EntityType.PERSON

#: What relations besides roles lead to.  A language model is asked for all of them; the wordings below read those
#: that people state plainly.
LEADS_TO: Mapping[str, EntityType] = MappingProxyType(
    {
        **dict.fromkeys(("lives_in", "grew_up_in", "born_in", "visited", "met_at"), _PLACE),
        **dict.fromkeys(("works_at", "studies_at", "volunteers_at", "member_of", "owns"), _ORGANIZATION),
        **dict.fromkeys(("married_to", "engaged_to", "dating", "friend", "met", "knows"), _PERSON),
        **dict.fromkeys(("birthday", "anniversary"), EntityType.DATE),
        PET_OF: EntityType.PET,
    }
)

_A = r"(?:a|an|the|my|our|his|her|this|another)"
_JOB = r"(?:job|position|role|internship|gig|offer)"


class Wording(NamedTuple):
    """``pattern`` of the words; the relation that they say, the type of what it leads to.

    ``over``: it was so, and is no longer.  ``elided``: "Moved to Rome." says it of the speaker.
    """

    pattern: str
    relation: str
    type: EntityType
    over: bool = False
    elided: bool = False


WORDINGS = (
    Wording(r"(?:live|lives|living)(?: \w+){0,3}? (?:in|near)", "lives_in", _PLACE),
    Wording(r"(?:moved|relocated)(?: back| out| over| here)? to", "lives_in", _PLACE, elided=True),
    Wording(r"(?:settled(?: down)?|based|reside|resides|residing) in", "lives_in", _PLACE),
    Wording(r"lived(?: \w+){0,3}? in|(?:used to live) in|moved away from", "lives_in", _PLACE, over=True),
    Wording(r"(?:was|were|been) born(?: and raised)? in", "born_in", _PLACE),
    Wording(r"(?:am|m|is|s|are|re)(?: originally)? from|(?:come|comes)(?: originally)? from", "born_in", _PLACE),
    Wording(r"(?:work|works|working)(?: as an? [a-z ]{2,40}?| part[- ]time| full[- ]time)? (?:at|for|with)",
            "works_at", _ORGANIZATION),
    Wording(rf"(?:got|landed|accepted|started|have|has|found) {_A} (?:[a-z-]+ ){{0,4}}{_JOB} (?:at|with)|"
            r"(?:started|began)(?: working)? (?:at|for)|employed (?:at|by)|got hired (?:at|by)",
            "works_at", _ORGANIZATION, elided=True),
    Wording(r"worked(?: as an? [a-z ]{2,40}?)? (?:at|for)|used to work (?:at|for)|retired from|"
            r"(?:left|quit|lost)(?: my| his| her)? (?:job|position) (?:at|with)|(?:laid off|fired) (?:by|from)",
            "works_at", _ORGANIZATION, over=True),
    Wording(r"(?:study|studies|studying|enrolled|student) (?:at|in the University of)", "studies_at", _ORGANIZATION),
    Wording(r"(?:studied at|graduated from|went to school at|alumnus of|alumna of|(?:my|a|her|his) degree from)",
            "studies_at", _ORGANIZATION, over=True, elided=True),
    Wording(r"(?:am |is |are |was |got |'m |’m )?married to|married", "married_to", _PERSON),
)  # fmt: skip

#: What else "my" may stand before, before what somebody is.
ADJECTIVES = (
    r"(?:(?:best|older|younger|little|big|elder|eldest|youngest|oldest|middle|twin|new|good|old|dear|close|dearest|"
    r"late|amazing|lovely|beloved|wonderful|sweet|beautiful|childhood|college|former|"
    r"romantic|long-time|longtime|long-term|lifelong|adopted|rescue|senior|great|direct|"
    r"\d+-year-old) ){0,3}"
)

#: Not told as it is: asked, wished, supposed.  What comes after it in the sentence is not, either.
UNSURE = re.compile(
    r"\b(?:if|unless|whether|wish|would|could|should|might|(?-i:may)|will|gonna|maybe|perhaps|want|wants|wanted|hope|"
    r"hopes|hoping|dream|dreams|dreaming|imagine|plan|plans|planning|consider|considering|thinking|pretend|"
    r"suppose|supposed|wonder|wondering|about to|almost|nearly|trying to|hear|heard|rumou?rs?|tomorrow)\b"
    r"|\b(?:going|need|needs|like|love|used|able|ready|decided|decide|prepare|preparing|looking forward) to be\b"
    r"|\b(?:let|let’s|let's)\b",
    re.IGNORECASE,
)
#: Denied, for a part of the sentence.
DENIED = re.compile(r"\b(?:not|never|neither|nor|without)\b|n[’']t\b", re.IGNORECASE)
ENDED = re.compile(
    r"\b(?:no longer|not? .{0,20}any ?more|n[’']t .{0,40}any ?more|until recently)\b", re.IGNORECASE
)
#: Nothing in the sentence is told of the speaker's own life.
FICTION = re.compile(
    r"\b(?:novel|fiction|fictional|character|characters|protagonist|plot|scene|movie|film|video game|example|"
    r"suppose|imagine|pretend|lyrics|essay|translate|rewrite|quote)\b|[{}<>]|\bDear [A-Z]",
    re.IGNORECASE,
)
#: A part of a sentence that asks, by how it begins.
ASKS = re.compile(
    r"\s*(?:(?:and|but|so|or|,) )?(?:can|could|do|does|did|is|are|was|were|has|have|had|will|would|should|how|what|where|when|"
    r"who|why|which|any|may)\b",
    re.IGNORECASE,
)
#: Where a part of a sentence ends.
PARTS = re.compile(
    r"[;:—–…]|\.\.+| - |, (?=(?:and|but|so|because|since|while|can|could|do|does|should|would|how|what|where|is|are|"
    r"any|or|though|although|which|especially|considering)\b)"
    r"| (?=(?:and|but|so|because|since|while) (?:I|we|he|she|my|our|they|can|how|what|it)\b)"
)
