"""What a clause says: the tables asked, the value cleaned."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from models.statements import ATTRIBUTES, SELF, Kind
from processors.extraction import predicates
from processors.extraction.clauses import Clause, Mood, base_form, perfected
from processors.extraction.drafts import AFFIRMED, ENDED, HOLDS, NEGATED, Draft, began, date_of, dated, say
from processors.extraction.english import NO_EVENT, PARTICIPLES, anycase, gerund, is_past, words
from processors.extraction.favourites import BARE_NOUN, favourite, prefers
from processors.extraction.tastes import topic_of, with_noun
from processors.extraction.values import clean, listed, points_at_one, with_article, without_article
from processors.text.dates import find_dates

#: Of two, the first is told: who "always only" does something does nothing else.
_HABITS = (
    *("only", "exclusively", "strictly", "rarely", "seldom", "always", "usually", "normally", "typically"),
    *("generally", "regularly", "often", "mostly", "mainly", "primarily"),
)
_HABITUAL = frozenset((*_HABITS, "never"))
_RARELY = ("rarely", "seldom")
_FREQUENCY = anycase(
    r"\b(?:every (?:\w+ )?(?:day|morning|evening|night|week|weekend|month|year|other \w+|\w+day|summer|winter)|each (?:day|morning|night|week)|daily|weekly|(?<!how )often|"
    r"on (?:\w+days|weekends)|(?:once|twice|(?:a )?(?:couple of|\w+) times) a (?:day|week|month|year)|in the mornings?|most (?:days|mornings|nights|weekends)|"
    r"for (?:breakfast|lunch|dinner))\b"
)
_PLACE = re.compile(r"(?:the )?[A-Z][\w'.-]*(?:,? (?:(?:de|la|of|the|upon)(?= )|[A-Z][\w'.-]*))*")
#: What began at some time and goes on.
_LASTING = frozenset(name for name, each in ATTRIBUTES.items() if each.kind in (Kind.STATE, Kind.PREFERENCE))
_PLACES = frozenset(("home", "origin", "employer"))
#: Verbs whose past is an event even if no date is said.
_STRONG = words(
    "adopted joined graduated married bought visited published launched won lost started signed applied passed failed broke "
    "sold enrolled founded retired volunteered organized organised ran travelled traveled hiked moved quit booked built opened "
    "divorced hired accepted proposed"
)
#: What is done now for a day to come: "I signed up for the race on 8 November".
_AHEAD = frozenset(("signed", "booked", "registered", "enrolled", "scheduled", "entered", "reserved"))
#: "A deadline" says not of what.
_ANY_OCCASION = anycase(
    r"(?:an?|the|another|my) (?:deadline|meeting|call|date|event|session|review|class|course)(?: to \w+)?"
)
#: "Signed the contract": which one, only the talk or a day tells.
_UNDATED = re.compile(
    r"(?!joined|won)\w+ (?:(?:\d+%|all|most|some) of )?the (?:[a-z-]+ )?[a-z-]+$|(?:passed|failed|won|lost) (?:an? )?\w+$"
)
#: What was done says nothing, or is a trifle of a day: "bought milk", "started talking", "went to the shop".
_VAGUE = anycase(
    r"\w+ (?:the chance|asleep\b.*)$|started (?:talking|chatting|thinking|crying|laughing|looking|with|on)\b|being \w+(?:ed|en)$|(?:got|bought|ordered|ate|cooked) (?!an?\b|the\b|my\b|our\b|their\b|tickets\b|land\b|two\b|three\b|hurt\b|promoted\b|married\b|engaged\b|divorced\b)(?-i:[a-z])|"
    r"(?:went|got|came) (?:back )?(?:to )?(?:the |a )?(?:shops?|stores?|gym|bed|sleep|work|home|school|outside|shopping|up|supermarket|mall|place)\b|"
    r"\w+ (?:\w+ )?(?:(?:more|less) than )?(?:\d+|an?|two|three|four|five|six|ten|several|a few) (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)$|"
    r"(?:\w+ )?(?:to (?:it|that|say|see|know|be)|(?:so|up|out|off|by|down|over|into|through|along|on|for|with|about|around)\b\W*$|my (?:best|mind|way|breath|heart|head|time|eyes)|the (?:same|point|idea)|a (?:lot|bit|few))\b"
)


#: "Playing the game" points at one like "the game".
_THE_OBJECT = re.compile(r"^[a-z]+ing the(?= [a-z]+$)")


def interpret(clause: Clause, said_at: datetime, whole: str) -> list[Draft]:
    """The statements that a clause makes; ``whole`` is its text with what stood before the subject."""
    subject = SELF
    if clause.subject != "i":
        if (about := favourite(clause)) is not None:
            return about
        relative = predicates.RELATIVE.fullmatch(clause.subject)
        if relative is None:
            return _own_occasion(clause, said_at)
        subject = re.sub(rf" {relative['name']}$", "", clause.subject) if relative["name"] else clause.subject
        clause = clause._replace(rest=base_form(clause))
    clause, perfect = perfected(clause)
    if subject == SELF and clause.mood is Mood.DO and (preferred := prefers(clause)) is not None:
        return preferred
    verb = _verb(clause)
    if clause.mood is Mood.DO and is_past(verb) and verb not in ("read", "put"):
        clause = clause._replace(mood=Mood.DID)
    found = _by_table(clause, subject, said_at, whole)
    if subject != SELF:
        return [each for each in found if each.attribute in predicates.OF_OTHERS]
    event = _event(clause, perfect, said_at, whole) if clause.mood is Mood.DID or perfect else None
    if event is None or (
        found and not (event.date and found[0].attribute in _PLACES | {"pet", "relationship"})
    ):
        return found
    return [*found, event]


def _by_table(clause: Clause, subject: str, said_at: datetime, whole: str) -> list[Draft]:
    found = predicates.first(predicates.TABLES.get(clause.mood, ()), clause.rest)
    if found is None or not _is_meant(found[0], clause, whole):
        return []
    row, match = found
    flags, text, date = row.flags, match["v"], None
    if row.attribute == "plan":
        date, text = date_of(text, whole, said_at, ahead=True)
        if "d" in flags and date is None and not find_dates(text, said_at, ahead=True):
            return []
    elif row.attribute in _LASTING and "x" not in flags and not (clause.ended or clause.negated):
        date, text = began(text, whole, said_at, moved=clause.mood in (Mood.DID, Mood.WAS))
    if "g" in flags:
        # "to run and juggle": what comes second would not be brought into its form
        text = f"{gerund(match['g'].lower())}{'' if text.startswith((' and ', ' or ')) else text}"
    ended = clause.ended or "x" in flags
    denied = "-" in flags if clause.ended else not ended and clause.negated != ("-" in flags)
    sure, assertion = round(row.confidence * (0.8 if clause.hedged else 1.0), 3), clause.assertion
    polarity = NEGATED if denied else AFFIRMED
    draft = Draft(row.attribute, "", "", sure, subject, polarity, ENDED if ended else assertion, date)
    return [_said(row, clause, value, draft) for value in _values(row, text)]


def _values(row: predicates.Row, text: str) -> list[str]:
    """What fills the slot: the value, or the members of a list, all of them or none."""
    flags, attribute = row.flags, row.attribute
    if not text:
        return [""]
    if attribute == "pet":
        return [each[0] for each in predicates.ONE_PET.finditer(text)]
    if attribute in _PLACES and (place := _PLACE.match(text)) is not None:
        return [place[0].strip(" .,'")]
    members = listed(text, attribute) if "l" in flags else [text]
    words = 14 if "w" in flags or attribute == "plan" else 9 if "a" in flags else 7
    values = [clean(each, words=words, keep_article="a" in flags) for each in members]
    if not all(values) or _says_nothing(row, values[0]):
        return []
    if attribute in ("like", "employer") and "g" not in flags:
        values = [*map(with_article, members, values)]
    if attribute != "like":
        return values
    if any(points_at_one(_THE_OBJECT.sub("the", each)) and not topic_of(each) for each in values):
        return []
    return [each for each in values if not BARE_NOUN.fullmatch(without_article(each))]


def _is_meant(row: predicates.Row, clause: Clause, whole: str) -> bool:
    """Whether a clause is denied, ended or habitual as its row wants it."""
    wanted = {"n": clause.negated, "p": not clause.negated, "e": clause.ended, "h": True}
    if "h" in row.flags:
        is_one = (clause.negated or clause.ended) and row.says.startswith("{verb}")
        wanted["h"] = bool(is_one or clause.adverbs & _HABITUAL or _FREQUENCY.search(whole))
    return all(is_so for flag, is_so in wanted.items() if flag in row.flags)


def _says_nothing(row: predicates.Row, value: str) -> bool:
    if row.attribute == "like":
        return _VAGUE.match(value) is not None or BARE_NOUN.fullmatch(value) is not None
    if row.attribute == "habit":
        bare = row.says == "{v}" and "h" in row.flags and len(_FREQUENCY.sub("", value).split()) < 2
        return bare or re.match(r"[a-z]+ and ", value) is not None  # "practise and train every day"
    return row.attribute == "plan" and (" " not in value or _ANY_OCCASION.fullmatch(value) is not None)


def _said(row: predicates.Row, clause: Clause, value: str, draft: Draft) -> Draft:
    """``draft`` with what fills the slot, and the sentence that shows it."""
    says = row.says.format(v=with_noun(value) if row.attribute == "like" else value, verb=_verb(clause))
    kept = value if row.attribute == "plan" else without_article(value)
    adverb = ""
    if row.attribute == "habit":
        does, _, rest = says.partition(" ")
        says = f"{does.lower()} {rest}".strip()
        kept = value if does in ("gave", "be") else f"{gerund(does.lower())} {rest}".strip()
        adverb = next((each for each in _HABITS if each in clause.adverbs), "")
    denied = draft.polarity is NEGATED and adverb not in _RARELY
    if draft.subject != SELF or not adverb or denied or draft.assertion is ENDED:
        sentence = say(says, polarity=draft.polarity, assertion=draft.assertion, subject=draft.subject)
    else:
        habit = say(says)
        sentence = f"{adverb.capitalize()} {habit[0].lower()}{habit[1:]}"
    shown = f" {dated(draft.date)}" if draft.date is not None and row.attribute == "plan" else ""
    return replace(draft, value=kept, sentence=f"{sentence}{shown}")


def _verb(clause: Clause) -> str:
    return clause.rest.split(" ", 1)[0].lower()


def _event(clause: Clause, perfect: bool, said_at: datetime, whole: str) -> Draft | None:
    """Something done: with a date, or of a kind that is an event without one."""
    verb = _verb(clause)
    never = clause.negated and "never" in clause.adverbs
    if (clause.negated and not never) or not (is_past(verb) or verb == "been" or verb in PARTICIPLES):
        return None
    date, text = (None, clause.rest) if never else date_of(clause.rest, whole, said_at, ahead=verb in _AHEAD)
    if date is not None and text != clause.rest and clause.rest[date.start :].lower().startswith("for "):
        date = date._replace(relation="for")  # when it is to be, not when it was planned
    if verb in NO_EVENT and (date is None or verb != "got" or perfect):
        return None
    if date is None and not (verb in _STRONG or (never and perfect) or verb == "been"):
        return None
    value = "" if _VAGUE.match(text) else clean(text, words=14, keep_article=True)
    if len(value.split()) < 2 or _VAGUE.match(value) or (date is None and _UNDATED.match(value)):
        return None
    has = f"has {'never ' if never else ''}" if never or verb in PARTICIPLES else ""
    sentence = f"{has}{value}" if date is None else f"{has}{value} {dated(date)}"
    sentence, sure = sentence[0].upper() + sentence[1:], predicates.HAPPENED * (0.8 if clause.hedged else 1)
    return Draft("event", value, sentence, sure, SELF, NEGATED if never else AFFIRMED, HOLDS, date)


def _own_occasion(clause: Clause, said_at: datetime) -> list[Draft]:
    """ "My dog is called Rex", "my exam is on Friday"."""
    named = re.match(r"(?:called|named) (?P<v>[A-Z]\w+)", clause.rest)
    if named is not None and predicates.PET.fullmatch(clause.subject):
        value = f"{clause.subject} named {named['v']}"
        return [Draft("pet", value, f"Has a {value}", predicates.TOLD)]
    is_held = clause.mood in (Mood.BE, Mood.WAS) and not clause.negated
    if not is_held or not predicates.OCCASION.fullmatch(clause.subject):
        return []
    date, left = date_of(clause.rest, clause.rest, said_at, ahead=clause.mood is Mood.BE)
    if date is None or len(left.split()) > 3:
        return []
    attribute = "event" if clause.mood is Mood.WAS or date.at < said_at.replace(hour=0) else "plan"
    sentence = f"{clause.subject[0].upper()}{clause.subject[1:]} {dated(date)}"
    return [Draft(attribute, clause.subject, sentence, predicates.HAPPENED, date=date)]
