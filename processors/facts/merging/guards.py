"""Relation of two near facts: equal, contradictory, or undecided.

Measured with the built-in model: "allergic / not allergic" .98, "likes / doesn't like coffee" .89, "first /
fourth tournament" .91.  So what distinguishes two facts is looked for in their claims and their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from models.facts import Fact
from models.statements import Kind, Precision, attribute_of
from processors.facts.claims import normalized_attribute, normalized_subject
from processors.retrieval.embedding.wording import text_of
from processors.text.lexicon import MONTHS, WEEKDAYS
from processors.text.stemming import stem_of

#: Of two facts that are to be one without anybody being asked, one at least is as sure (requirement 3.4).
SURE_FROM = 0.6


class Relation(StrEnum):
    """Relation of two near facts.  ``unclear``: somebody who understands them has to say."""

    SAME = "same"
    OPPOSITE = "opposite"
    UNCLEAR = "unclear"
    DIFFERENT = "different"


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DENIALS = _words(
    "not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt "
    "werent wont wouldnt shouldnt couldnt hasnt havent hadnt aint stopped quit former formerly"
)
_DISLIKES = _words(
    "hate dislike detest despise loathe avoid hates dislikes detests despises loathes avoids "
    "hated disliked detested despised loathed avoided"
)
_LIKES = _words("like love enjoy adore prefer likes loves enjoys adores prefers")

#: Words of which one excludes the other: two statements that differ in them are about two things.
_EXCLUDING = tuple(
    _words(words)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty thirty forty fifty hundred thousand",
        "first second third fourth fifth sixth seventh eighth ninth tenth last next",
        "once twice thrice",
        " ".join(MONTHS),
        " ".join(WEEKDAYS),
        "spring summer autumn fall winter",
        "morning afternoon evening night noon midnight",
        "today yesterday tomorrow",
        "mother father mom dad mum parents",
        "sister brother sibling",
        "son daughter child kid",
        "wife husband partner girlfriend boyfriend fiance fiancee",
        "aunt uncle cousin niece nephew",
        "grandmother grandfather grandma grandpa",
        "boss colleague friend neighbour neighbor roommate",
        "left right",
        "north south east west",
        "before after",
        "always sometimes rarely often",
        "more less fewer",
        "most least",
        "with without",
        "hot cold warm",
        "black white red green blue yellow brown orange pink purple grey gray",
        "older younger old young",
        "buy sell bought sold",
        "start stop started stopped begin began finish finished",
        "can cannot",
        "him her",
    )
)

#: Words that say nothing by themselves, and those that all say that something is liked or had.
_EMPTY = _words(
    "a an the of to in on at for and or is are was were be been being has have had do does did it its his her "
    "their they he she him them this that these those user users person very really so also just quite much "
    "lot as who which with by from into about my your our"
)
_ALIKE = dict.fromkeys((*_LIKES, "fan", "fond"), "like")


class FactFeatures:
    """Features of a fact for comparisons, read once."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        self.attribute = normalized_attribute(fact.attribute)
        self.words = _Words(fact.statement)
        self.about = fact.tenant_id, fact.user_id, normalized_subject(fact.subject), fact.kind


def relation(one: Fact, other: Fact) -> Relation:
    """Return the relation of two near facts of one person."""
    return relation_of(FactFeatures(one), FactFeatures(other))


def relation_of(first: FactFeatures, second: FactFeatures) -> Relation:
    """Return the relation of two facts, as :func:`relation` does."""
    one, other = first.fact, second.fact
    if first.about != second.about:
        return Relation.DIFFERENT
    is_one_slot = first.attribute == second.attribute
    if is_one_slot and _is_decided_by_slot(one, other, first.attribute):
        return Relation.DIFFERENT
    if not _may_be_one_event(one, other):
        return Relation.DIFFERENT
    words = first.words, second.words
    if words[0].excludes(words[1]):
        return Relation.DIFFERENT
    denies = one.polarity is not other.polarity or words[0].denies != words[1].denies
    if not is_one_slot:
        return Relation.DIFFERENT if denies else Relation.UNCLEAR
    if denies:
        return Relation.OPPOSITE if words[0].content == words[1].content else Relation.UNCLEAR
    if one.kind is Kind.EVENT and None in (one.event_at, other.event_at):
        return Relation.UNCLEAR  # whether it happened once or twice is not said
    if max(one.confidence, other.confidence) <= SURE_FROM:
        return Relation.UNCLEAR
    return (
        Relation.SAME
        if words[0].says_no_less(words[1]) or words[1].says_no_less(words[0])
        else Relation.UNCLEAR
    )


def excludes(one: str, other: str) -> bool:
    """Return whether the wording alone shows that two statements differ: numbers, names, denials, antonyms."""
    words = _Words(one), _Words(other)
    return words[0].excludes(words[1]) or words[0].denies != words[1].denies


def denies(statement: str) -> bool:
    """Return whether a statement denies something, by its words."""
    return _Words(statement).denies


def may_merge(one: Fact, other: Fact) -> bool:
    """Return whether a verdict may merge two facts: never if they deny each other or are about two people."""
    if one.fact_id == other.fact_id or one.polarity is not other.polarity:
        return False
    return relation(one, other) in (Relation.SAME, Relation.UNCLEAR)


def _is_decided_by_slot(one: Fact, other: Fact, attribute: str) -> bool:
    """A slot of one value decides between two by itself, and every slot between a value and its denial."""
    known = attribute_of(attribute)
    return known is not None and (known.single or one.polarity is not other.polarity)


def _may_be_one_event(one: Fact, other: Fact) -> bool:
    if one.event_at is None or other.event_at is None:
        return True
    days = {Precision.MINUTE: 1, Precision.DAY: 1, Precision.WEEK: 7, Precision.MONTH: 31, Precision.SEASON: 92}
    lasts = [days.get(each.event_precision or Precision.DAY, 366) for each in (one, other)]
    first, second = sorted(((one.event_at, lasts[0]), (other.event_at, lasts[1])), key=lambda each: each[0])
    return (second[0].date() - first[0].date()).days < first[1]


class _Words:
    """Words of a statement that can distinguish it from another."""

    def __init__(self, statement: str) -> None:
        text = text_of(statement)
        written = _WORD.findall(text)
        words = [word.replace("’", "'").casefold() for word in written]
        plain = [word.replace("'", "") for word in words]
        self.numbers = sorted(_NUMBER.findall(text))
        says_no = any(word.endswith("n't") for word in words) or not _DENIALS.isdisjoint(plain)
        self.denies = says_no != (not _DISLIKES.isdisjoint(plain))
        self.names = _names(written)
        bare = [word.removesuffix("'s") for word in words]
        #: Of the words of which one excludes the other those that it has, by their group.
        self.excluding = {n: here for n, words in enumerate(_EXCLUDING) if (here := words.intersection(bare))}
        self.content = frozenset(
            _ALIKE.get(word, stem_of(word))
            for word in bare
            if word not in _EMPTY
            and word not in _DISLIKES
            and word not in _DENIALS
            and not word.endswith("n't")
        ) - {"like"}

    def excludes(self, other: _Words) -> bool:
        """Numbers, names, or words of which one excludes the other."""
        return (self.numbers, self.names, self.excluding) != (other.numbers, other.names, other.excluding)

    def says_no_less(self, other: _Words) -> bool:
        """Return whether this statement contains everything of the other."""
        return bool(other.content) and other.content <= self.content


def _names(words: Iterable[str]) -> frozenset[str]:
    """Words with a capital, but for the first one, which has one in any case."""
    return frozenset(
        word.casefold().removesuffix("'s") for n, word in enumerate(words) if n and word[:1].isupper()
    )
