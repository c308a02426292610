"""Which category a parsed first-person clause belongs to, and how sure that is.

How sure (seed 002 keeps below 0.5 out of passive recall, below 0.3 out of everything): an explicit
preference or trait 0.9; liking, habit or possession 0.8; something done 0.75; a plan, a past preference or
an obligation 0.7; what is weak evidence of anything 0.6.
"""

from __future__ import annotations

import re

from models.facts import Category
from processors.extraction.clauses import Clause
from processors.extraction.grammar import is_participle
from processors.extraction.lexicon import (
    CONSUMING,
    FREQUENCY,
    FUTURE,
    HABIT_ADVERBS,
    HABITS,
    LIKED,
    LIKING,
    LIKING_ADJECTIVES,
    MOODS,
    NOT_PROGRESSIVE,
    OCCUPATIONS,
    OF_THE_DAY,
    STRONG_LIKING,
    TALK,
    TALK_ING,
    TALK_NOUNS,
    TRAITS,
)
from processors.extraction.rewriting import Predicate

EXPLICIT, USUAL, DONE, LESS, WEAK = 0.9, 0.8, 0.75, 0.7, 0.6
#: Category and confidence, or None when no rule admits the clause.
Verdict = tuple[Category, float] | None


def categorize(predicate: Predicate, clause: Clause) -> Verdict:
    """Judge a clause by its subject, its auxiliary and its verb."""
    if predicate.subject.startswith("User's"):
        return _about_what_is_theirs(predicate)
    if predicate.auxiliary == "be":
        return _being(predicate)
    if predicate.auxiliary == "have":
        return _perfect(predicate)
    if predicate.auxiliary in ("", "do"):
        return _doing(predicate, clause)
    return _modal(predicate)


def _about_what_is_theirs(predicate: Predicate) -> Verdict:
    if re.match(
        r"User's (?:all-time |absolute |personal )?(?:fav|go-to|preferred|preference)", predicate.subject
    ):
        return Category.PREFERENCE, EXPLICIT
    if predicate.auxiliary == "be" and not re.match(r"(?:\w+ing)\b", predicate.rest):
        first = predicate.rest.split(" ", 1)[0].lower()
        return None if first in MOODS | OF_THE_DAY else (Category.PROFILE, USUAL)
    return (Category.EVENT, LESS) if predicate.past else (Category.PROFILE, LESS)


_LIKING_ADJECTIVE = re.compile(
    rf"(?:(?:so|very|really|super|too|also|totally|such|pretty|quite|big) )*(?:{LIKING_ADJECTIVES})", re.I
)
_TRAIT = re.compile(rf"(?:also |originally |happily |recently |newly )*(?:{TRAITS})", re.IGNORECASE)
_A_ROLE = re.compile(
    r"(?:also |currently |now |still )*(?:an?|the|one of|half)\s+[\w'-]+(?: [\w'-]+){0,11} ?", re.IGNORECASE
)
_NO_ROLE = re.compile(
    r"an? (?:bit|little|lot|few|mess|wreck|moron|idiot|while|tad|couple|minute|fool|goner)\b", re.IGNORECASE
)
_IN_A_PLACE = re.compile(r"(?:in|from|at) (?-i:[A-Z])\w+", re.IGNORECASE)
_BORN = re.compile(r"(?:born|raised|brought up|diagnosed|named|adopted)\b", re.IGNORECASE)
_GOING_TO = re.compile(
    r"(?:going to|gonna|planning (?:to|on|a)|about to|hoping to|getting (?:married|divorced|a|my)|"
    r"thinking of)\b",
    re.I,
)
_GOING_TO_TALK = re.compile(
    rf"(?:going to|gonna|about to|hoping to) (?:be (?!a\b|an\b|in\b|\w+ing\b)|(?:{'|'.join(sorted(TALK))}|"
    rf"check|"
    r"have to|need|keep|make it|give it|do my best|go ahead|take a look|get going)\b)",
    re.IGNORECASE,
)


def _being(predicate: Predicate) -> Verdict:
    rest = predicate.rest
    if _FAN_OF_NOTHING.fullmatch(rest):
        return None
    if rest.startswith("in the mood for"):
        return Category.PREFERENCE, WEAK
    if _LIKING_ADJECTIVE.match(rest):
        return Category.PREFERENCE, EXPLICIT if not predicate.past else LESS
    if _BORN.match(rest) or _TRAIT.match(rest):
        return Category.PROFILE, EXPLICIT
    first = rest.split(" ", 1)[0].lower().strip(",.")
    if _A_ROLE.fullmatch(rest.split(",")[0]) and not _NO_ROLE.match(rest):
        return Category.PROFILE, EXPLICIT if not predicate.past else LESS
    if first.endswith("ing") and first not in NOT_PROGRESSIVE:
        return _progressive(first, rest)
    if _GOING_TO.match(rest) and not _GOING_TO_TALK.match(rest):
        return Category.EVENT, LESS
    if is_participle(first) and first not in MOODS and " " in rest:
        return Category.EVENT, LESS
    if _IN_A_PLACE.match(rest):
        return Category.PROFILE, WEAK
    if rest.isalpha() and rest[0].isupper():
        return Category.PROFILE, LESS  # "I'm German", "I'm Bob"
    return None


_PARTICLE_ONLY = re.compile(
    r"\w+ (?:through|up|out|on|off|along|hard|well|away|back|down|forward|now|again)", re.IGNORECASE
)
#: "I'm a huge fan" does not say of what.
_FAN_OF_NOTHING = re.compile(
    r"(?:an? )?(?:(?:big|huge|total|real|massive|great) )*(?:fan|lover|believer)", re.IGNORECASE
)


def _progressive(first: str, rest: str) -> Verdict:
    if _GOING_TO.match(rest):
        return None if _GOING_TO_TALK.match(rest) else (Category.EVENT, LESS)
    if " " not in rest:
        return None
    if re.match(r"going (?:to|on) (?:an?|the|my|(?-i:[A-Z]))", rest, re.IGNORECASE):
        return Category.EVENT, LESS
    if first in TALK_ING or _PARTICLE_ONLY.fullmatch(rest):
        return None
    return (Category.PROFILE, LESS) if first in OCCUPATIONS else (Category.EVENT, WEAK)


def _perfect(predicate: Predicate) -> Verdict:
    verb, rest = predicate.verb, predicate.rest
    if verb in LIKED or (verb in ("wanted", "dreamed", "dreamt") and "always" in predicate.adverbs):
        return Category.PREFERENCE, USUAL
    if verb == "been":
        if _LIKING_ADJECTIVE.match(rest):
            return Category.PREFERENCE, USUAL
        first = rest.split(" ", 1)[0].lower()
        if first in ("loving", "enjoying", "craving", "avoiding"):
            return Category.PREFERENCE, LESS
        if first.endswith("ing"):
            return None if first in TALK_ING or " " not in rest else (Category.EVENT, LESS)
        if (
            re.match(r"(?:to|in|at|on|an?|married|divorced|vegan|vegetarian|\w+ed)\b", rest)
            and first not in MOODS
        ):
            return Category.PROFILE, LESS
        return None
    if verb == "got":
        return _possession(rest)
    if verb in TALK or not rest or verb in ("had", "done"):
        return None
    return (Category.PROFILE if verb in ("lived", "worked", "studied", "played") else Category.EVENT), LESS


_PLACE_OF_LIFE = re.compile(r"(?:up|born)\b")
_ONLY_TALK_OBJECT = re.compile(
    r"(?:up (?:on|with)|back to|a (?:call|look|chance|try|note|point))\b", re.IGNORECASE
)
_GOAL = re.compile(
    r"to (?:learn|become|visit|travel|start|lose|study|move|buy|build|write|improve|quit|stop|own|open|run|"
    r"retire|be an?)\b"
)
_AVOIDANCE = re.compile(
    r"to (?:avoid|stay away|watch|limit|cut (?:down|out)|keep away|eat|drink|steer clear)\b", re.IGNORECASE
)
#: "I find crowds exhausting", "I find it hard to sit still"; not "I find a seat".
_FOUND_SO = re.compile(
    r"(?!an?\b|the nearest|my\b).*\b(?:\w{2,}(?:ing|ive|ful|ous|able|ible|ent|ant|less)|hard|difficult|easy|"
    r"easier|boring|better|best|(?:more|most|too|so|very|extremely) \w+)\b",
    re.IGNORECASE,
)
_OFTEN = re.compile(rf"\b(?:{FREQUENCY})\b", re.IGNORECASE)


def _doing(predicate: Predicate, clause: Clause) -> Verdict:
    verb, rest = predicate.verb, predicate.rest
    if verb in LIKING or verb in LIKED:
        return _liking(predicate)
    if verb == "care" and re.match(r"about|for", rest):
        return Category.PREFERENCE, LESS
    if verb == "mind" and predicate.negated:
        return Category.PREFERENCE, WEAK
    if verb in ("want", "hope", "plan", "intend", "aim") and _GOAL.match(rest):
        return Category.EVENT, WEAK
    if verb in ("have", "need", "try") and _AVOIDANCE.match(rest):
        return Category.PREFERENCE, LESS
    if verb in ("have", "had", "got") and not (
        verb == "got" and predicate.past and not rest.startswith(("two", "a "))
    ):
        return _possession(rest) if verb == "have" else _past(predicate)
    if verb == "used":
        return (Category.PROFILE, LESS) if rest.startswith("to ") else _past(predicate)
    if predicate.past:
        return _past(predicate)
    habitual = bool(HABIT_ADVERBS & set(predicate.adverbs))
    if verb == "find" and _FOUND_SO.match(rest):
        return Category.PREFERENCE, LESS
    if verb in TALK and not (habitual and verb == "need"):
        return None
    if predicate.negated and verb in CONSUMING:
        return Category.PREFERENCE, USUAL
    if habitual:
        return Category.PREFERENCE, LESS
    if (
        verb in HABITS
        or _OFTEN.search(f"{rest} {clause.lead}")
        or {"often", "sometimes", "still"} & set(predicate.adverbs)
    ):
        return Category.PROFILE, USUAL if verb in HABITS else WEAK
    return None


def _liking(predicate: Predicate) -> Verdict:
    if not predicate.rest:
        return None
    if predicate.past and predicate.auxiliary == "":
        return Category.PREFERENCE, LESS
    return Category.PREFERENCE, EXPLICIT if predicate.verb in STRONG_LIKING else USUAL


def _past(predicate: Predicate) -> Verdict:
    verb, rest = predicate.verb, predicate.rest
    if not predicate.past:
        return None
    if verb in TALK or not rest or _ONLY_TALK_OBJECT.match(rest):
        return None
    if verb in ("had", "got", "took", "made") and re.match(
        rf"(?:an? |the |my |some |no |any )?(?:[\w-]+ )?(?:{TALK_NOUNS})\b", rest
    ):
        return None
    if verb == "had" and rest.startswith("better "):
        return None
    if verb == "had" and rest.startswith("to "):
        return Category.EVENT, WEAK
    if verb == "grew" and _PLACE_OF_LIFE.match(rest):
        return Category.PROFILE, EXPLICIT
    if predicate.negated:
        return Category.EVENT, WEAK
    return Category.EVENT, DONE if len(rest.split()) > 1 else WEAK


_INCLINATION = re.compile(
    r"(?:an? |no |little |zero |strong )*(?:[\w-]+ )?(?:preference|aversion|phobia|dislike|interest|distaste|"
    r"weakness|soft spot|sweet tooth|fear|love|passion|low tolerance|no tolerance)\b",
    re.IGNORECASE,
)


def _possession(rest: str) -> Verdict:
    if _INCLINATION.match(rest):
        return Category.PREFERENCE, USUAL
    if re.match(
        rf"(?:(?:an?|the|no|some|any|my|lots? of|this|that|another|such|one|so much|much|more|a few|"
        rf"two) )*(?:[\w'-]+ )?(?:{TALK_NOUNS})\b",
        rest,
        re.I,
    ):
        return None
    if re.match(r"to\b|been\b|(?:it|them|him|her)\b", rest):
        return None
    if re.match(
        r"(?:an? |the )?(?:[\w-]+ )?(?:appointment|meeting|interview|exam|test|flight|wedding|class|party|"
        r"deadline)\b",
        rest,
    ):
        return Category.EVENT, LESS
    return Category.PROFILE, USUAL


_CONSTRAINT = re.compile(
    r"(?:eat|drink|have|tolerate|stand|digest|handle|do without|live without|bear|deal with|take)\b"
)
_ABILITY = re.compile(r"(?:speak|play|swim|ride|cook|drive|walk|read|code|dance|sing)\b")
_SOON = re.compile(rf"\b(?:{FUTURE})\b", re.IGNORECASE)


def _modal(predicate: Predicate) -> Verdict:
    verb, rest, auxiliary = predicate.verb, predicate.rest, predicate.auxiliary
    if auxiliary == "would" and (
        verb in ("rather", "prefer") or (verb == "much" and rest.startswith(("rather", "prefer")))
    ):
        return Category.PREFERENCE, USUAL
    if auxiliary == "would" and {"always", "never"} & set(predicate.adverbs):
        return Category.PREFERENCE, WEAK
    if auxiliary == "can" and rest:
        if predicate.negated and _CONSTRAINT.fullmatch(verb):
            return Category.PREFERENCE, EXPLICIT
        if _ABILITY.fullmatch(verb) and not predicate.negated:
            return Category.PROFILE, LESS
    if auxiliary == "will" and verb not in TALK and _SOON.search(rest):
        return Category.EVENT, WEAK
    return None
