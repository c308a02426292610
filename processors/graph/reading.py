"""Statements about people, pets, places, organizations and dates, read from what a person says plainly.

Precision over recall: what is asked, wished or supposed is passed over, and so is a name that could be two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from models import ids
from models.graph import SELF_ROLE, EntityType, GraphSource, GraphStatement, Mention
from models.messages import Role
from processors.episodes.state import KeptTurn
from processors.graph.roles import PETS, ROLES, may_be
from processors.text.sentences import sentences

#: Statements of one message, and characters of a sentence, that are read.
STATEMENTS_LIMIT = 50
SENTENCE_LIMIT = 500

#: What the relation from the speaker to a pet is called.
PET_OF = "pet"

#: Relations of which one holds at a time.
SINGLE = frozenset({"lives_in", "works_at", "studies_at", "born_in", "birthday", "married_to"})


SELF = Mention(EntityType.PERSON, role=SELF_ROLE)

_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_MONTH = f"(?:{'|'.join(_MONTHS)})"
_DATE = rf"(?P<date>{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH})"
_NAME = r"[^\W\d_a-z][\w'’-]*[^\W_](?: (?:de |van |von |of |the )?[^\W\d_a-z][\w'’-]*[^\W_]){0,3}"
_ROLE = f"(?P<role>{'|'.join(sorted(ROLES, key=len, reverse=True))})"
_PET = f"(?P<pet>{'|'.join(sorted(PETS, key=len, reverse=True))})"
_ADJECTIVES = (
    r"(?:(?:best|older|younger|little|big|elder|eldest|youngest|oldest|twin|new|good|old|dear|close) ){0,2}"
)
_CALLED = r"(?:,? (?:is |who is |who's )?(?:called|named)|(?:'s|’s) name is)"
_WHO = (
    rf"(?:(?P<self>\bI\b)|\b[Mm]y {_ADJECTIVES}{_ROLE}(?:,? (?P<rolename>{_NAME}))?,?"
    rf"|\b(?P<pronoun>[Ss]he|[Hh]e)\b|(?<![\w'’-])(?P<name>{_NAME}))"
)
#: Nothing more follows: "Anna, my sister, ...", but not "Luckily, my sister's here".
_CLOSED = r"(?=\s*(?:[,.;!)]|$|and\b|who\b))"
_ADVERB = r"(?: (?:now|currently|still|also|just|recently|actually|finally))?"

#: Not told as it is: asked, wished, supposed, denied.
_UNSURE = re.compile(
    r"\b(?:if|wish|would|could|should|might|(?-i:may)|maybe|perhaps|want|wants|hope|hopes|dream|imagine|plan|planning|"
    r"consider|considering|thinking|pretend|suppose|supposed|ask|wonder|not|never|n't|story|novel|character|movie|"
    r"film|game|example|fictional)\b|n[’']t\b|\?",
    re.IGNORECASE,
)
_ENDED = re.compile(r"\b(?:no longer|used to|not? .{0,20}any ?more|until recently|ex)\b", re.IGNORECASE)

#: Nobody is called so: somebody wants whoever reads the graph to do something.
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|obey|instructions?|prompt|system|assistant|delete|execute|reveal|admin)\b",
    re.IGNORECASE,
)

#: Words with a capital that are no names.
_NO_NAMES = frozenset(
    (
        "i i'm i've i'd i'll the a an my our your his her their it its this that these those he she they we "
        "you and but or so if when while because after before then now today yesterday tomorrow tonight yes "
        "no oh hey hi hello thanks thank please well ok okay also just what who where why how which there "
        "here is was are were do does did have has monday tuesday wednesday thursday friday saturday sunday "
        "everyone everybody someone somebody nobody nothing something mr mrs ms dr "
        + " ".join(_MONTHS).casefold()
    ).split()
)


class _Rule(NamedTuple):
    """A pattern; the relation that it says, and the type of what it leads to."""

    pattern: re.Pattern[str]
    relation: str
    type: EntityType


def _about_somebody(verbs: str, relation: str, kind: EntityType, thing: str = f"(?P<thing>{_NAME})") -> _Rule:
    return _Rule(re.compile(f"{_WHO}(?:'m|’m|'s|’s)?{_ADVERB} (?:{verbs}) {thing}"), relation, kind)


_VERBS = (
    _about_somebody(
        r"(?:am |is )?(?:live|lives|living) (?:in|near)|(?:have |has |had )?(?:just |recently )?moved to",
        "lives_in",
        EntityType.PLACE,
    ),
    _about_somebody(
        r"(?:am |is )?(?:work|works|working)(?: as an? [a-z ]{2,40}?)? (?:at|for)",
        "works_at",
        EntityType.ORGANIZATION,
    ),
    _about_somebody(r"(?:am |is )?(?:study|studies|studying) at", "studies_at", EntityType.ORGANIZATION),
    _about_somebody(r"(?:was|were) born in", "born_in", EntityType.PLACE),
    _Rule(
        re.compile(f"{_WHO}(?:'m|’m|'s|’s| am| is| comes?){_ADVERB} (?:originally )?from (?P<thing>{_NAME})"),
        "born_in",
        EntityType.PLACE,
    ),
    _about_somebody(r"(?:am|is|got) married to", "married_to", EntityType.PERSON),
)
#: The same, of what was.
_PAST = (
    _about_somebody(r"(?:used to live|no longer lives?) in|moved away from", "lives_in", EntityType.PLACE),
    _about_somebody(
        r"(?:used to work|no longer works?) (?:at|for)|(?:left|quit)(?: my| his| her)? job at",
        "works_at",
        EntityType.ORGANIZATION,
    ),
)
_BIRTHDAY = re.compile(
    rf"(?:\b(?P<self>[Mm]y)|\b[Mm]y {_ADJECTIVES}{_ROLE}(?:'s|’s)|(?<![\w'’-])(?P<name>{_NAME})(?:'s|’s)"
    rf"|\b(?P<pronoun>[Hh]er|[Hh]is)) birthday is (?:on )?{_DATE}"
)
_ROLE_NAME = (
    re.compile(rf"\b(?P<ex>ex-)?{_ROLE}{_CALLED} (?P<name>{_NAME})"),
    re.compile(rf"\b[Mm]y (?P<ex>ex-)?{_ADJECTIVES}{_ROLE},? (?P<name>{_NAME})"),
    re.compile(rf"(?<![\w'’-])(?P<name>{_NAME})(?: is|,) my (?P<ex>ex-)?{_ADJECTIVES}{_ROLE}{_CLOSED}"),
)
_ROLE_ALONE = re.compile(rf"\b[Mm]y (?P<ex>ex-)?{_ADJECTIVES}{_ROLE}\b(?! \w*[^\W\d_a-z])")
_PET_NAME = (
    re.compile(rf"\b(?:[Mm]y|[Oo]ur|an?|one|the) (?:[a-z]+ ){{0,2}}{_PET},?{_CALLED} (?P<name>{_NAME})"),
    re.compile(rf"\b(?:[Mm]y|[Oo]ur) (?:[a-z]+ ){{0,2}}{_PET},? (?P<name>{_NAME})"),
    re.compile(rf"(?<![\w'’-])(?P<name>{_NAME})(?: is|,) (?:my|our) (?:[a-z]+ ){{0,2}}{_PET}{_CLOSED}"),
)


def read(conversation_id: str, turns: Iterable[KeptTurn], first: int = 0) -> Iterator[GraphStatement]:
    """Yield what people say in the turns of an episode from the ``first``-th on; those before are only context.

    What the assistant says is no statement of anybody's.
    """
    spoken: dict[str, list[Mention]] = {}
    for number, turn in enumerate(turns):
        if turn.role != Role.USER:
            continue
        reader = _Reader(spoken.get(turn.user_id, []))
        found = list(reader.read(turn.text))
        spoken[turn.user_id] = reader.spoken_of
        if number < first:
            continue
        for statement in found[:STATEMENTS_LIMIT]:
            yield _statement(statement, turn, conversation_id)


class _Said(NamedTuple):
    subject: Mention
    relation: str
    object: Mention
    quote: str
    ended: bool = False


class _Reader:
    """Reads one message; ``before``: of whom the person spoke in the message before."""

    def __init__(self, before: list[Mention]) -> None:
        self._before = before
        self.spoken_of: list[Mention] = []

    def read(self, text: str) -> Iterator[_Said]:
        for sentence in sentences(text):
            if len(sentence) <= SENTENCE_LIMIT:
                yield from self._sentence(sentence)

    def _sentence(self, sentence: str) -> Iterator[_Said]:
        ended = _ENDED.search(sentence) is not None
        if not ended and _UNSURE.search(sentence):
            self._note_people(sentence)
            return
        yield from self._roles(sentence)
        yield from self._pets(sentence)
        for rule in _PAST if ended else _VERBS:
            for match in rule.pattern.finditer(sentence):
                who, thing = self._who(match), _name(match["thing"])
                if who is not None and thing:
                    yield _Said(who, rule.relation, Mention(rule.type, thing), sentence, ended)
        for match in _BIRTHDAY.finditer(sentence):
            who, day = self._who(match), _day(match["date"])
            if who is not None and day:
                yield _Said(who, "birthday", Mention(EntityType.DATE, day), sentence)

    def _roles(self, sentence: str) -> Iterator[_Said]:
        for pattern in _ROLE_NAME:
            for match in pattern.finditer(sentence):
                name = _name(match["name"])
                if name:
                    person = Mention(EntityType.PERSON, name, ROLES[match["role"]])
                    self._note(person)
                    yield _Said(SELF, person.role, person, sentence, match["ex"] is not None)
        self._note_people(sentence)

    def _note_people(self, sentence: str) -> None:
        """Remember who was spoken of by what they are alone: a pronoun may stand for them."""
        for match in _ROLE_ALONE.finditer(sentence):
            role = ROLES[match["role"]]
            if all(each.role != role for each in self.spoken_of):
                self._note(Mention(EntityType.PERSON, role=role))

    def _pets(self, sentence: str) -> Iterator[_Said]:
        for pattern in _PET_NAME:
            for match in pattern.finditer(sentence):
                name = _name(match["name"])
                if name:
                    yield _Said(SELF, PET_OF, Mention(EntityType.PET, name, PETS[match["pet"]]), sentence)

    def _who(self, match: re.Match[str]) -> Mention | None:
        """Return of whom a sentence speaks; ``None`` if it could be two, or nobody."""
        found = match.groupdict()
        if found.get("self"):
            return SELF
        if found.get("role"):
            written = found.get("rolename") or ""
            name = _name(written)
            return Mention(EntityType.PERSON, name, ROLES[found["role"]]) if name or not written else None
        if found.get("pronoun"):
            return self._meant(
                {"her": "she", "his": "he"}.get(found["pronoun"].lower(), found["pronoun"].lower())
            )
        name = _name(found.get("name") or "")
        return Mention(EntityType.PERSON, name) if name else None

    def _meant(self, pronoun: str) -> Mention | None:
        for people in (self.spoken_of, self._before):
            meant = [each for each in people if may_be(each.role, pronoun)]
            if meant:
                return meant[0] if len(meant) == 1 else None
        return None

    def _note(self, person: Mention) -> None:
        if person not in self.spoken_of:
            self.spoken_of.append(person)


def _name(words: str) -> str:
    """Return a name without what goes with it; ``""`` if it is none."""
    found = words.strip(" .,;:!?'’\"")
    found = re.sub(r"['’]s$", "", found)
    first = found.split(" ")[0].casefold().replace("’", "'") if found else ""
    return "" if first in _NO_NAMES or len(found) > 100 or _ORDERS.search(found) else found


def _day(words: str) -> str:
    """Return a day of the year as "May 5"; ``""`` if there is no such day."""
    month = next(month for month in _MONTHS if month in words)
    number = re.search(r"\d{1,2}", words)
    if number is None:
        return ""
    try:
        datetime(2024, _MONTHS.index(month) + 1, int(number[0]), tzinfo=UTC)
    except ValueError:
        return ""
    return f"{month} {int(number[0])}"


def _statement(said: _Said, turn: KeptTurn, conversation_id: str) -> GraphStatement:
    made_of = (*_parts(said.subject), said.relation, *_parts(said.object), int(said.ended))
    return GraphStatement(
        statement_id=ids.deterministic_id(
            "graph-statement", turn.tenant_id, turn.user_id, turn.turn_id, *made_of
        ),
        tenant_id=turn.tenant_id,
        user_id=turn.user_id,
        subject=said.subject,
        relation=said.relation,
        object=said.object,
        ended=said.ended,
        source=GraphSource(
            conversation_id=conversation_id,
            message_id=turn.message_id,
            turn_id=turn.turn_id,
            quote=said.quote,
            topic=turn.topic,
            partition=turn.partition,
            offset=turn.offset,
            sent_at=datetime.fromtimestamp(turn.sent_at, UTC),
            arrived_at=datetime.fromtimestamp(turn.arrived_at, UTC),
        ),
    )


def _parts(mention: Mention) -> tuple[str, str, str]:
    return mention.type.value, mention.name, mention.role
