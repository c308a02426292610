"""What a clause says: the tables asked, the value cleaned."""

from __future__ import annotations

import re
from datetime import datetime

from models.statements import SELF, Assertion, Polarity
from processors.extraction import predicates
from processors.extraction.drafts import (
    AFFIRMED,
    CORRECTED,
    ENDED,
    HOLDS,
    NEGATED,
    Draft,
    date_of,
    dated,
    listed,
    say,
)
from processors.extraction.english import NO_EVENT, PARTICIPLES, gerund, is_past, third_person, words
from processors.extraction.owning import BARE_NOUN, own_occasion, prefers, told_of_own
from processors.extraction.parsing import Clause, Mood
from processors.extraction.tenses import base_form, perfected
from processors.extraction.values import clause_end, clean, with_article, without_article
from processors.text.dates import FoundDate, find_dates

_HABITUAL = words(
    "always usually generally normally typically regularly often rarely seldom strictly mostly mainly "
    "only exclusively primarily"
)
_FREQUENCY = re.compile(
    r"\b(?:every (?:\w+ )?(?:day|morning|evening|night|week|weekend|month|year|other \w+|\w+day|summer|winter)|each (?:day|morning|night|week)|daily|weekly|(?<!how )often|"
    r"on (?:\w+days|weekends)|(?:once|twice|(?:a )?(?:couple of|\w+) times) a (?:day|week|month|year)|in the mornings?|most (?:days|mornings|nights|weekends)|"
    r"for (?:breakfast|lunch|dinner))\b",
    re.IGNORECASE,
)
#: "During the regatta, I usually watch films": at no other time.
_OCCASION = re.compile(r"\W*during (?P<when>[^,;:.!?]{2,40}), (?:i|we)\b", re.IGNORECASE)
_PLACE = re.compile(r"(?:the )?[A-Z][\w'.-]*(?:,? (?:(?:de|la|of|the|upon)(?= )|[A-Z][\w'.-]*))*")
_PLACES = frozenset(("home", "origin", "employer"))
#: Verbs whose past is an event even if no date is said.
_STRONG = words(
    "adopted joined graduated married bought visited published launched won lost started finished "
    "completed signed applied passed failed broke sold enrolled founded retired volunteered attended "
    "hosted organized organised ran travelled traveled flew hiked moved quit submitted ordered booked "
    "celebrated built wrote earned received opened performed competed welcomed divorced rescheduled "
    "hired accepted proposed"
)
#: What is done now for a day to come: "I signed up for the race on 8 November".
_AHEAD = frozenset(("signed", "booked", "registered", "enrolled", "scheduled", "entered", "reserved"))
_WORKPLACE = re.compile(r" (?:at|for|with|in|on|who) ")
_TWO_VERBS = re.compile(r"[a-z]+ and [a-z]")
_VAGUE = re.compile(
    r"(?:had|got) no \w+$|(?:lost|got|had|missed) the chance$|started (?:talking|chatting|thinking|crying|laughing)$|had an? (?:[\w-]+ )?(?:experience|time|moment|feeling|idea|day|chance|thought|conversation|issue|week|weekend|night|blast|ball|laugh|look|go)$|being \w+(?:ed|en)$|\w+ (?:\w+ )?(?:\d+|an?|two|three|four|five|six|ten|several|a few) (?:seconds?|minutes?|hours?|days?|weeks?)$|(?:\w+ )?(?:to (?:it|that|say|see|know|be)|(?:so|up|out|off|by|down|over|into|through|along|on|for|with|about|around)\b\W*$|my (?:best|mind|way|breath|heart|head|time|eyes)|the (?:same|point|idea)|a (?:lot|bit|few))\b",
    re.IGNORECASE,
)


def interpret(clause: Clause, said_at: datetime, whole: str) -> list[Draft]:
    """The statements that a clause makes; ``whole`` is its text with what stood before the subject."""
    subject, rows = SELF, predicates.TABLES
    if clause.subject != "i":
        if (about := told_of_own(clause)) is not None:
            return about
        relative = predicates.RELATIVE.fullmatch(clause.subject)
        if relative is None:
            return own_occasion(clause, said_at, whole)
        subject = re.sub(rf" {relative['name']}$", "", clause.subject) if relative["name"] else clause.subject
        clause = clause._replace(rest=base_form(clause))
    clause, perfect = perfected(clause)
    if subject == SELF and clause.mood is Mood.DO and (preferred := prefers(clause)) is not None:
        return preferred
    if (
        clause.mood is Mood.DO
        and is_past(clause.rest.split(" ", 1)[0].lower())
        and not clause.rest.lower().startswith(("have ", "read ", "put "))
    ):
        clause = clause._replace(mood=Mood.DID)
    found = _by_table(clause, subject, rows.get(clause.mood, ()), said_at, whole)
    if (
        subject == SELF
        and (clause.mood is Mood.DID or perfect)
        and (event := _event(clause, perfect, said_at, whole)) is not None
    ) and (not found or (event.date is not None and found[0].attribute in _PLACES | {"pet", "relationship"})):
        found = [*found, event]
    if subject != SELF:
        found = [each for each in found if each.attribute in predicates.OF_OTHERS]
    return found


def _by_table(
    clause: Clause, subject: str, rows: tuple[predicates.Row, ...], said_at: datetime, whole: str
) -> list[Draft]:
    found = predicates.first(rows, clause.rest)
    if found is None:
        return []
    row, match = found
    flags, groups = row.flags, match.groupdict()
    if (
        (("n" in flags) and not clause.negated)
        or ("p" in flags and clause.negated)
        or ("e" in flags and not clause.ended)
    ):
        return []
    if "h" in flags and not (
        clause.adverbs & _HABITUAL
        or _FREQUENCY.search(whole)
        or (clause.negated and "never" in clause.adverbs)
        or ((clause.negated or clause.ended) and row.says.startswith("{verb}"))
    ):
        return []
    ahead = row.attribute == "plan"
    date = None
    text = groups.get("v") or ""
    if row.attribute == "occupation":
        text = _WORKPLACE.split(text, maxsplit=1)[0]
    if row.attribute in ("plan", "event"):
        date, text = date_of(text, whole, said_at, ahead=ahead)
        if "d" in flags and date is None and not find_dates(text, said_at, ahead=ahead):
            return []
    if "g" in flags:
        text = f"{gerund((groups['g'] or '').lower())}{text}"
    value = clean(
        text, words=14 if "w" in flags or row.attribute in ("plan", "event") else 7, keep_article="a" in flags
    )
    if "s" in flags:
        value = third_person(text)
    if row.attribute in _PLACES and (place := _PLACE.match(text)) is not None:
        value = place[0].strip(" .,'")
    if "r" in flags:
        value = row.says.partition(" ")[2]
    if row.attribute == "habit" and _TWO_VERBS.match(value):
        return []  # "practise and train every day": only the first would be brought into its form
    if " " not in value and (row.attribute in ("plan", "event") or (not row.attribute and "w" in flags)):
        return []
    if not value or (row.attribute == "like" and (_VAGUE.match(value) or BARE_NOUN.fullmatch(value))):
        return []
    if (
        row.attribute == "habit"
        and row.pattern.pattern.startswith("(?P<v>(?!")
        and len(_FREQUENCY.sub("", value).split()) < 2
    ):
        return []
    values = [
        each
        for each in (listed(value) if "l" in flags else [value])
        if row.attribute != "like" or not BARE_NOUN.fullmatch(each)
    ]
    polarity = NEGATED if clause.negated != ("-" in flags) else AFFIRMED
    assertion = ENDED if clause.ended or "x" in flags else HOLDS
    if "n" in flags:
        polarity = AFFIRMED if "c" in flags or "!" in flags else NEGATED
    if assertion is ENDED:
        polarity = NEGATED if "-" in flags and clause.ended else AFFIRMED
    if row.attribute == "like" and "g" not in flags and values:
        values[0] = with_article(text, values[0])
    return [_draft(row, clause, subject, each, polarity, assertion, date, groups, whole) for each in values]


def _draft(
    row: predicates.Row,
    clause: Clause,
    subject: str,
    value: str,
    polarity: Polarity,
    assertion: Assertion,
    date: FoundDate | None,
    groups: dict[str, str | None],
    whole: str,
) -> Draft:
    verb = clause.rest.split(" ", 1)[0].lower()
    says = row.says.format(v=value, verb=verb)
    if row.attribute == "habit":
        verb, _, rest = says.partition(" ")
        says = f"{verb.lower()} {rest}".strip()
        adverb = next((each for each in clause.adverbs if each in _HABITUAL), "")
        frequency = _FREQUENCY.search(_of_clause(clause, whole))
        occasion = _OCCASION.match(whole)
        if frequency and frequency[0].lower() not in f"{value} {' '.join(clause.adverbs)}".lower():
            says = f"{says} {frequency[0]}"
        elif occasion and (when := clean(occasion["when"], keep_article=True)):
            says = f"{says} during {when}"
        if adverb and polarity is AFFIRMED and assertion is HOLDS:
            sentence = say(says, subject=subject)
            sentence = f"{adverb} {sentence[0].lower()}{sentence[1:]}" if subject == SELF else sentence
            sentence = f"{sentence[0].upper()}{sentence[1:]}"
        else:
            sentence = say(says, polarity=polarity, assertion=assertion, subject=subject)
    elif row.attribute == "constraint" and "c" in row.flags:
        sentence = f"Cannot {verb} {value}"
    elif row.attribute == "occupation" and "j" in row.flags:
        value, sentence = "", "No longer works there"
        return Draft("employer", "", "Left the job", row.confidence, subject, AFFIRMED, ENDED, date)
    elif "q" in row.flags:
        sentence = f"Plans {value if value.startswith(('to ', 'a ', 'an ')) else _to(value)}"
    else:
        sentence = say(says, polarity=polarity, assertion=assertion, subject=subject)
    if date is not None:
        sentence = f"{sentence} {dated(date)}"
    if row.attribute == "habit" and verb not in ("gave", "be"):
        value = f"{gerund(verb)} {rest}".strip()
    return Draft(
        attribute=row.attribute,
        value=value if row.attribute in ("plan", "event") else without_article(value),
        sentence=sentence,
        confidence=round(row.confidence * (0.8 if clause.hedged else 1.0), 3),
        subject=subject,
        polarity=polarity,
        assertion=CORRECTED if clause.corrects and assertion is HOLDS else assertion,
        date=date,
    )


def _of_clause(clause: Clause, whole: str) -> str:
    """What stands before the subject, and the clause to its end: "closed on Mondays" behind it is another one."""
    lead = whole[: max(0, whole.find(clause.rest))]
    return f"{lead} {clause.rest[: clause_end(clause.rest)]}"


def _to(value: str) -> str:
    return value if value.split(" ", 1)[0].endswith("ing") else f"to {value}"


def _event(clause: Clause, perfect: bool, said_at: datetime, whole: str) -> Draft | None:
    """Something done: with a date, or of a kind that is an event without one."""
    verb = clause.rest.split(" ", 1)[0].lower()
    if clause.negated and "never" not in clause.adverbs:
        return None
    date, text = date_of(clause.rest, whole, said_at, ahead=verb in _AHEAD)
    if clause.negated:
        date, text = None, clause.rest
    if verb in NO_EVENT and not (
        date is not None
        and verb in ("had", "saw", "got" if not perfect else "", "found", "heard", "stayed", "made")
    ):
        return None
    if not (date is not None or verb in _STRONG or (clause.negated and perfect) or verb == "been"):
        return None
    if len(text.split()) < 2 or _VAGUE.match(text):
        return None
    value = clean(text, words=14, keep_article=True)
    if len(value.split()) < 2 or _VAGUE.match(value):
        return None
    polarity = NEGATED if clause.negated else AFFIRMED
    sentence = f"Has never {value}" if clause.negated else f"{value[0].upper()}{value[1:]}"
    if verb in PARTICIPLES:
        sentence = f"Has {'never ' if clause.negated else ''}{value}"
    if date is not None:
        sentence = f"{sentence} {dated(date)}"
    return Draft(
        "event",
        value,
        sentence,
        predicates.HAPPENED * (0.8 if clause.hedged else 1),
        SELF,
        polarity,
        HOLDS,
        date,
    )
