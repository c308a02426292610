"""From the first person to the third: "I love my dog" becomes "User loves their dog".

Parsing is shallow: a subject, adverbs, an auxiliary, a verb, the rest as written.  That is enough to keep
tense, negation and detail; what does not fit comes back as None and is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from processors.extraction.grammar import THIRD, conjugate, is_participle, is_past, third_person
from processors.extraction.lexicon import (
    ADVERBS,
    AFTER_HAD,
    FILLERS,
    HABITS,
    HEDGES,
    LIKING,
    NOT_ADVERB_LY,
    PEOPLE_AND_PETS,
    SAME_IN_PAST,
    TALK,
    THINGS_OF_A_LIFE,
    VERBS_AFTER_MY,
)

_CLITIC = r"(?P<clitic>'(?:m|ve|d|ll|re))?"
_SUBJECT = re.compile(
    rf"(?:(?P<i>i)|(?P<we>we|(?:me and|i and) my (?P<mate>{PEOPLE_AND_PETS})|"
    rf"my (?P<mate2>{PEOPLE_AND_PETS}) and i))"
    rf"{_CLITIC}(?=\s|$)",
    re.IGNORECASE,
)
_FAVOURITE_NOUN = (
    r"my (?P<noun>(?:all-time |absolute |personal )?(?:fav(?:ou?rite)?|go-to|preferred)(?: %s){0,5}?)(?P<name>)"
)
_FAVOURITE = re.compile(
    _FAVOURITE_NOUN % r"[\w'-]+"
    + r"(?P<clitic>) (?P<rest>(?:is|are|was|were|has always been|have always been)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_FAVOURITE_IS = re.compile(
    _FAVOURITE_NOUN % r"[\w-]+" + r"(?P<clitic>'s) (?P<rest>\S.*)", re.IGNORECASE | re.DOTALL
)
#: "my wife", "my dog Max", "my son's birthday"
_MY = re.compile(
    rf"my (?P<noun>(?:(?!and\b|own\b)[\w-]+ ){{0,2}}?(?:{PEOPLE_AND_PETS}|{THINGS_OF_A_LIFE})\b"
    rf"(?:'s (?:{THINGS_OF_A_LIFE}|(?:(?:fav(?:ou?rite)?|first|best|new|old) )?[\w-]+(?= (?:is|was|are|"
    rf"has)\b)))?)(?P<name>,? (?-i:[A-Z])[\w-]+,?)?(?P<clitic>'s)? (?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)

_CLITICS = {"'m": "am", "'ve": "have", "'d": "would", "'ll": "will", "'re": "are"}
#: Auxiliary as written -> (what it is, negated).
_AUXILIARIES = {
    **dict.fromkeys(("am", "are", "was", "were"), ("be", False)),
    **dict.fromkeys(("wasn't", "weren't", "aren't", "ain't"), ("be", True)),
    **dict.fromkeys(("have", "had"), ("have", False)),
    **dict.fromkeys(("haven't", "hadn't"), ("have", True)),
    **dict.fromkeys(("do", "did"), ("do", False)),
    **dict.fromkeys(("don't", "didn't"), ("do", True)),
    **{word: (word, False) for word in ("will", "would", "can", "could", "should", "might", "may", "must")},
    **{
        word: (base, True)
        for word, base in (
            ("won't", "will"),
            ("wouldn't", "would"),
            ("can't", "can"),
            ("cannot", "can"),
            ("couldn't", "could"),
            ("shouldn't", "should"),
        )
    },
}


@dataclass(frozen=True, slots=True)
class Predicate:
    """A clause about the person.

    ``auxiliary`` is ``""`` or one of be, have (perfect), do, will, would, can, could, ...; ``verb`` is the
    verb after it in lower case (``""`` for "be" alone: the complement is in ``rest``); ``rest`` is as
    written; ``statement`` is the whole in the third person.
    """

    subject: str
    auxiliary: str
    past: bool
    negated: bool
    adverbs: tuple[str, ...]
    verb: str
    rest: str
    hedged: bool
    statement: str


def parse(clause: str) -> Predicate | None:
    """Read a declarative first-person clause (single spaces, straight apostrophes, no final stop)."""
    if (match := _SUBJECT.match(clause)) is not None:
        mate = match["mate"] or match["mate2"]
        subject = "User" if match["i"] else f"User and their {mate}" if mate else "User and others"
        words = clause[match.end() :].split()
        if match["clitic"]:
            words.insert(0, _full_form(match["clitic"].lower(), words))
        return _parse_words(subject, words)
    if (
        match := _FAVOURITE.fullmatch(clause) or _FAVOURITE_IS.fullmatch(clause) or _MY.fullmatch(clause)
    ) is not None:
        return _parse_my(match)
    return None


def _full_form(clitic: str, words: list[str]) -> str:
    if clitic == "'d":
        _, _, following = _take_adverbs(words)
        if following and following[0].lower() in AFTER_HAD:
            return "had"
    return _CLITICS[clitic]


def _parse_words(subject: str, words: list[str]) -> Predicate | None:
    singular = subject == "User"
    adverbs, hedged, words = _take_adverbs(words)
    auxiliary, written, negated, past = "", "", False, False
    after: list[str] = []
    if words and words[0].lower() in _AUXILIARIES:
        auxiliary, negated = _AUXILIARIES[words[0].lower()]
        following, unsure, rest = _take_adverbs(words[1:])
        if rest and rest[0].lower() == "not":
            negated = True
            following.append("not")
            more, unsure_too, rest = _take_adverbs(rest[1:])
            following += more
            unsure = unsure or unsure_too
        if _is_auxiliary(auxiliary, negated, rest):
            written, past = words[0].lower(), words[0].lower() in ("was", "were", "had", "did")
            after, words, hedged = following, rest, hedged or unsure
            if auxiliary == "do" and not negated:
                written = auxiliary = ""  # "I do like": emphasis goes
                adverbs, after = adverbs + after, []
        else:
            auxiliary, negated = "", False
    if not words:
        return None
    verb = "" if auxiliary == "be" else words[0].lower().strip(",.")
    rest_text = " ".join(words if auxiliary == "be" else words[1:])
    if not auxiliary:
        past = is_past(verb) or (
            verb in SAME_IN_PAST and _LATELY.search(f"{' '.join(adverbs)} {rest_text}") is not None
        )
        written = verb if past or not singular else conjugate(verb)
        if not verb.replace("-", "").replace("'", "").isalpha():
            return None
        if "just" in adverbs and not past:
            adverbs.remove("just")
    elif singular:
        written = THIRD.get(written, written)
    finite = [*adverbs, written, *after, *([verb] if auxiliary and verb else [])]
    if singular and not past and auxiliary in ("", "be"):
        rest_said = third_person(_agree(rest_text))
    else:
        rest_said = third_person(rest_text)
    return Predicate(
        subject=subject,
        auxiliary=auxiliary,
        past=past,
        negated=negated,
        adverbs=(*adverbs, *(word for word in after if word != "not")),
        verb=verb,
        rest=rest_text,
        hedged=hedged,
        statement=" ".join(filter(None, (subject, *finite, rest_said))),
    )


_LATELY = re.compile(
    r"\b(?:just|recently|already|finally|once|yesterday|last|ago|this morning)\b", re.IGNORECASE
)


def _is_auxiliary(auxiliary: str, negated: bool, rest: list[str]) -> bool:
    """ "I have a dog" and "I do yoga" have no auxiliary; "I have been", "I do like", "I don't" have."""
    following = rest[0].lower().strip(",.") if rest else ""
    if auxiliary == "have":
        return is_participle(following)
    if auxiliary == "do" and not negated:
        return following in LIKING or following in HABITS or following in TALK
    return bool(following)


def _take_adverbs(words: list[str]) -> tuple[list[str], bool, list[str]]:
    """Split off leading adverbs: (those that stay, whether one was a hedge, the other words)."""
    kept: list[str] = []
    hedged = False
    n = 0
    while n < len(words):
        word = words[n].lower().strip(",")
        pair = " ".join(words[n : n + 2]).lower()
        if pair in ("kind of", "sort of"):
            hedged = True
            n += 2
            continue
        if word in HEDGES:
            hedged = True
        elif word in ADVERBS or (word.endswith("ly") and word not in NOT_ADVERB_LY and word not in FILLERS):
            kept.append(word)
        elif word not in FILLERS:
            break
        n += 1
    return kept, hedged, words[n:]


_ANY_ADVERB = "|".join(sorted(ADVERBS))
_ANY_HABIT = "|".join(sorted((LIKING | HABITS) - {"study", "care"}))
_SECOND_VERB = re.compile(rf"\b(and|but|or) ((?:{_ANY_ADVERB}) )?({_ANY_HABIT})\b")


def _agree(rest: str) -> str:
    """ "live in Berlin and work at Acme": the second verb takes the third person too."""
    head, infinitive, _ = f" {rest}".partition(" to ")
    if infinitive and _SECOND_VERB.search(head) is None:
        return rest  # "like to cook and bake"
    return _SECOND_VERB.sub(lambda m: f"{m[1]} {m[2] or ''}{conjugate(m[3])}", rest)


def _parse_my(match: re.Match[str]) -> Predicate | None:
    words = match["rest"].split()
    adverbs, hedged, words = _take_adverbs(words)
    if match["clitic"]:
        words.insert(0, "is")
    if not words:
        return None
    verb = words[0].lower()
    if verb not in VERBS_AFTER_MY and not is_past(verb) and not _looks_third_person(verb):
        return None
    rest = " ".join(words[1:])
    if not rest and verb in VERBS_AFTER_MY:
        return None
    noun = third_person(match["noun"]) + (match["name"] or "")
    statement = " ".join(filter(None, (f"User's {noun}", *adverbs, verb, third_person(rest))))
    return Predicate(
        subject=f"User's {match['noun'].lower()}",
        auxiliary="be" if verb in ("is", "are", "was", "were", "isn't", "aren't", "wasn't") else "",
        past=verb in ("was", "were", "had", "wasn't") or is_past(verb),
        negated=verb.endswith("n't") or rest.startswith("not "),
        adverbs=tuple(adverbs),
        verb=verb,
        rest=rest,
        hedged=hedged,
        statement=statement,
    )


def _looks_third_person(verb: str) -> bool:
    return verb.isalpha() and verb.endswith("s") and not verb.endswith("ss") and len(verb) > 3
