"""A piece of a sentence taken apart: who is spoken of, in which mood and tense, negated or not."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from models.statements import Assertion
from processors.extraction.english import PARTICIPLES, anycase, is_past, words
from processors.extraction.parts import HEARSAY, LEAD, NOT_STATED, OPENER
from processors.extraction.wordings import in_first_person


class Mood(StrEnum):
    """The auxiliary of a clause: it decides which table is asked."""

    DO = "do"
    BE = "be"
    WAS = "was"
    DID = "did"
    HAVE = "have"
    USED = "used"
    WOULD = "would"
    WILL = "will"
    CAN = "can"
    MUST = "must"


class Clause(NamedTuple):
    """A clause without its subject and auxiliary.

    ``subject`` is ``"i"`` or the noun after "my" ("sister", "favourite colour"); ``adverbs`` are lower case
    words between the subject and ``rest``; ``ended`` says "no longer", "not any more"; ``corrects`` that it
    was opened by "sorry", "actually no".
    """

    subject: str
    mood: Mood
    rest: str
    adverbs: frozenset[str] = frozenset()
    negated: bool = False
    ended: bool = False
    hedged: bool = False
    corrects: bool = False

    @property
    def assertion(self) -> Assertion:
        return Assertion.ENDED if self.ended else Assertion.CORRECTED if self.corrects else Assertion.HOLDS


_CORRECTS = anycase(
    r"\b(?:sorry|no,? wait|actually,? no|no,? actually|correction|i meant?|scratch that|i misspoke|my mistake|wait,? no)\b"
)
_HEDGE = anycase(
    r"(?P<hedge>i (?:think|guess|suppose|believe|reckon)(?: that)?,? |(?:maybe|perhaps|probably|possibly|apparently),? )"
    r"|i (?:(?:would|'d|have to|must|gotta) (?:say|admit|confess)|told you|already told you|should mention|should add|"
    r"forgot to (?:say|mention))(?: that)?,? "
)
_ADVERB = (
    r"(?:really|just|always|usually|actually|also|still|often|now|currently|recently|absolutely|truly|"
    r"definitely|totally|only|mostly|generally|normally|typically|sometimes|rarely|finally|even|kinda|honestly|"
    r"particularly|especially|simply|personally|mainly|strictly|probably|already|both|ever|particularly|regularly|"
    r"hardly ever|seldom|officially|originally|genuinely|sort of|kind of|much|quite|very much|so|super|very|"
    r"pretty|too|more|happily|newly|proudly|all|ideally|first|hardly|tend to|severely|extremely|highly|mildly|"
    r"deathly|even|long|strongly|primarily|exclusively|almost always|nearly always|generally|greatly|greatly|quickly)"
)
#: Whom a person speaks of as his own.
RELATIVES = (
    r"(?:(?:step|grand)?(?:mother|father|sons?|daughters?|parents?|child|children|kids?|dad|mom|mum)|sisters?|brothers?|"
    r"siblings?|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|aunt|uncle|cousins?|niece|nephew|"
    r"grandma|grandpa|twins?|baby|toddler|roommate|flatmate|in-laws|ex-wife|ex-husband|ex)"
)
_NOUN = r"[\w-]+(?:'s)?"
_HEAD = anycase(
    rf"(?:(?P<self>i|we)|my (?P<noun>{_NOUN}(?: {_NOUN}){{0,4}}?)(?=(?: {_ADVERB})*(?:'s)? (?:is|are|was|were|isn't|has|have|wasn't|will|can't|doesn't|don't|starts|begins)\b)"
    rf"|my (?P<theirs>(?:[\w-]+ ){{0,2}}{RELATIVES}(?: (?-i:[A-Z])\w+)?)(?= ))"
    rf"(?:(?P<pre>(?: {_ADVERB})*?)"
    r"(?P<aux>'m|'ve|'d|'ll|'re|'s| am| have| has| had| would| will| do| does| did| was| were| are| is| can| could| should| must|"
    r" might| may| used to| never used to| don't| doesn't| didn't| can't| cannot| won't| haven't| hasn't| hadn't|"
    r" wasn't| weren't| isn't| aren't| couldn't| wouldn't| shouldn't| ain't| dont| cant| didnt| im)(?= |$))?"
    rf"(?P<mid>(?:,? (?:{_ADVERB}|not|never|no longer|not been)(?= ))*) (?P<rest>\S.*)",
)
_MOODS = {
    **dict.fromkeys(("am", "m", "re", "are", "is", "s", "isnt", "arent", "aint", "im"), Mood.BE),
    **dict.fromkeys(("was", "were", "wasnt", "werent"), Mood.WAS),
    **dict.fromkeys(("have", "has", "ve", "havent", "hasnt"), Mood.HAVE),
    **dict.fromkeys(("had", "hadnt", "did", "didnt"), Mood.DID),
    **dict.fromkeys(("would", "d", "wouldnt"), Mood.WOULD),
    **dict.fromkeys(("will", "ll", "wont"), Mood.WILL),
    **dict.fromkeys(("can", "cant", "cannot", "could", "couldnt"), Mood.CAN),
    **dict.fromkeys(("must", "should", "shouldnt", "might", "may"), Mood.MUST),
    **dict.fromkeys(("used to", "never used to"), Mood.USED),
    **dict.fromkeys(("do", "does", "dont", "doesnt", ""), Mood.DO),
}
_NEVER = anycase(
    r"\b(?:not|never|no longer|hardly ever|rarely|seldom|hardly)\b|n't\b|\b(?:cannot|dont|cant|didnt)\b"
)
NO_MORE = anycase(r"\bno longer\b|\bany ?(?:more|longer)\b|\bno more\b")
#: "I do like tea" stresses it, "I do yoga" tells what is done.
_STRESSED = words(
    "like love enjoy hate prefer want need have live work eat drink play use read watch avoid own speak not"
)
_HAVE_DONE = words("been got gotten become come run quit never always to")


def _first(text: str) -> str:
    return text.split(" ", 1)[0].lower()


def _is_done(rest: str) -> bool:
    """Tell whether "have" is followed by what was done: "have moved", but not "have a dog"."""
    verb = _first(rest)
    return is_past(verb) or verb in PARTICIPLES or verb in _HAVE_DONE


def read(text: str, *, joint: str = "") -> Clause | None:
    """Take a clause apart; ``None`` if it states nothing about the one who speaks or who is his."""
    if NOT_STATED.match(joint):
        return None
    corrects, hedged, before = False, False, ""
    while text != before:
        before, opener = text, OPENER.match(text)
        if opener is not None:
            corrects = corrects or _CORRECTS.search(opener[0]) is not None
            text = text[opener.end() :]
        if (hedge := _HEDGE.match(text)) is not None:
            hedged, text = hedged or bool(hedge["hedge"]), text[hedge.end() :]
    if (lead := LEAD.match(text)) is not None:
        text = text[lead.end() :]
    text = in_first_person(text)
    head = _HEAD.match(text)
    if head is None or HEARSAY.match(text):
        return None
    auxiliary = (head["aux"] or "").strip().lower()
    mood = _MOODS[auxiliary.replace("'", "")]
    rest, between = head["rest"].rstrip(" .!,;…"), f"{head['pre'] or ''} {head['mid'] or ''}".lower()
    if mood is Mood.HAVE and auxiliary in ("have", "has") and not _is_done(rest):
        mood, rest = Mood.DO, f"have {rest}"
    elif auxiliary in ("do", "does") and "not" not in between and _first(rest) not in _STRESSED:
        rest = f"do {rest}"
    elif auxiliary == "had":
        rest = rest if _is_done(rest) else f"had {rest}"
    adverbs, negated = frozenset(between.split()), _NEVER.search(f"{auxiliary} {between}") is not None
    if "not" in adverbs and adverbs & {"always", "only", "just"}:
        return None  # "I do not always wear a hat"
    ended = NO_MORE.search(f"{between} {rest}") is not None and (negated or "no longer" in between)
    return Clause(
        subject="i" if head["self"] else (head["noun"] or head["theirs"]).lower(),
        mood=mood,
        rest=rest,
        adverbs=adverbs,
        negated=negated and not ended,
        ended=ended or (mood is Mood.USED and "never" not in auxiliary),
        hedged=hedged or "probably" in between,
        corrects=corrects,
    )


_BASES = dict(
    each.split(":")
    for each in words(
        "loved:love liked:like hated:hate enjoyed:enjoy preferred:prefer lived:live worked:work disliked:dislike adored:adore "
        "had:have played:play"
    )
)
#: "I have played chess" is past, "I have played chess for ten years" is not.
_LASTING = frozenset(("lived", "worked", "played", "had"))
_STILL = anycase(r"\b(?:for|since|all|whole|ever)\b")
_GERUNDS = {
    **{"living": "live", "based": "live", "residing": "live", "working": "work", "employed": "work"},
    **{"studying": "study", "majoring": "major"},
}
#: For how long it has been so, counted back from when it is said, is no part of what is so.
_SO_FAR = anycase(r"\s+(?:for|over|since) (?:[\w-]+ ){1,4}(?:years?|months?|weeks?|days?|decades?|ages)\b.*")
_ADVERBS = anycase(r"(?:(?:really|always|quite|so|very|a bit|more|totally|super|pretty|getting|just) )+")


def perfected(clause: Clause) -> tuple[Clause, bool]:
    """ "Have been living" is "live"; "have always loved" is "love"; what else was done stays a past."""
    first, _, rest = clause.rest.partition(" ")
    first = first.lower()
    if first == "been" and (adverbs := _ADVERBS.match(rest)) is not None:
        rest = rest[adverbs.end() :]
    if clause.mood is Mood.BE and first in _GERUNDS and rest:
        return clause._replace(mood=Mood.DO, rest=f"{_GERUNDS[first]} {rest}"), False
    if clause.mood is not Mood.HAVE:
        return clause, False
    if first in ("always", "never", "long"):
        clause = clause._replace(
            adverbs=clause.adverbs | {first}, negated=clause.negated or first == "never", rest=rest
        )
        first, _, rest = rest.partition(" ")
    if first == "been" and rest.lower().startswith("to "):
        return clause._replace(mood=Mood.DID, rest=f"been {rest}"), True
    if first == "been":
        inner, _, after = rest.partition(" ")
        if inner.lower() in _GERUNDS:
            after = _SO_FAR.sub("", after)
            return clause._replace(mood=Mood.DO, rest=f"{_GERUNDS[inner.lower()]} {after}"), False
        return clause._replace(mood=Mood.BE, rest=_SO_FAR.sub("", rest) or "been"), False
    if first in _LASTING and not (clause.adverbs & {"always", "long"} or _STILL.search(rest)):
        return clause._replace(mood=Mood.DID), True
    if first in _BASES and not clause.negated:
        return clause._replace(mood=Mood.DO, rest=_SO_FAR.sub("", f"{_BASES[first]} {rest}")), False
    if first == "got" and re.match(r"(?:an?|two|three|my|no|some|\d)\b", rest):
        return clause._replace(mood=Mood.DO, rest=f"have {rest}"), False
    return clause._replace(mood=Mood.DID), True


_IRREGULAR = {"has": "have", "goes": "go", "studies": "study", "teaches": "teach", "does": "do"}


def base_form(clause: Clause) -> str:
    """The verb of "my sister lives" as in "I live"."""
    verb, _, rest = clause.rest.partition(" ")
    if clause.mood is not Mood.DO or not verb.endswith("s") or verb.endswith("ss"):
        return clause.rest
    base = _IRREGULAR.get(verb.lower(), verb[:-1])
    return f"{base} {rest}" if rest else base
