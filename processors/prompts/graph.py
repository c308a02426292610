"""Whom and what people speak of, and how it hangs together, asked of a language model (seed 000).

A model is told neither ids of messages nor of people: messages have numbers, and what somebody says is theirs who
wrote the message.  Several windows of one person may be one call.  Of what it says only that is read of which the quote stands in that message of a person, and the
names in what the people of the window wrote; so it can tie nobody to anything that was not said.  What assistants
and tools wrote is not shown: nothing would be read of it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, NamedTuple

import msgspec

from models import ids
from models.graph import SELF_ROLE, EntityType, GraphStatement, Mention
from models.messages import Role
from models.windows import Window, WindowMessage
from processors.episodes.state import KeptTurn
from processors.facts.candidates import is_quoted
from processors.graph.names import LONGEST, day_of, name_of
from processors.graph.reading import statement_of
from processors.graph.roles import PETS, ROLES
from processors.graph.telling import Said
from processors.graph.wordings import PET_OF, WORDINGS
from processors.prompts.extraction import people_of
from processors.prompts.fence import RULE, fenced
from processors.prompts.prompt import Prompt, items, told

VERSION = "graph-4"

#: A statement is a few sentences at most: nobody's whole message is kept as a quote, in characters.
_LONGEST_QUOTE = 1_000

#: Room for the answer about one window; what is longer is cut off, and read as far as it goes.
MOST_TOKENS = 1536

#: How somebody may be related to something, but for what somebody is to them.
RELATIONS = tuple(
    sorted({each.relation for each in WORDINGS} | {PET_OF, "knows", "met_at", "birthday", "anniversary"})
)

#: What somebody may be to somebody, and what kinds of pets there are, by the words for it.  The prompt names some:
#: all of them would be a sixth of what a window costs, and any word for one of them is understood.
_PARTS = {EntityType.PERSON: ROLES, EntityType.PET: PETS}

SYSTEM = f"""Task {VERSION}: find how the people, pets, places, organizations and days of the year that people speak of are related.

The data holds messages of people to an assistant, one JSON record per line: window (if several conversations are shown, each by
itself), n (the number of the message), by (a letter for who wrote it), text.
{RULE}

Answer with statements; there may be none. A statement is what a person says in their own words about their own life: whose friend,
relative or colleague somebody is, where they live, work, study or were, whom they met and where, what a pet is called, when a
birthday is. Leave out what is asked, wished, planned, supposed or made up.

Fields of a statement:
- n: the number of the message.
- subject, object: type; name (as it is written in the messages, left out if nobody says it); role: "{SELF_ROLE}" for who wrote the
  message, what somebody is to them in one word ("sister", "landlord", "mother-in-law"), or the kind of pet ("dog"), else left
  out. "She" is who she is: her name or her role.
- relation: {", ".join(RELATIONS)}, or for a person their role. From the subject to the object: in "my sister Anna" the
  subject is the writer, the relation sister, the object Anna with the role sister.
- ended: true if they say that it is no longer so.
- quote: the words it is taken from, copied exactly from that message."""


class _Mention(msgspec.Struct, frozen=True):
    type: EntityType
    name: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""
    role: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""


class _Statement(msgspec.Struct, frozen=True):
    """A statement as a model writes it."""

    n: int
    subject: _Mention
    relation: str
    object: _Mention
    ended: bool
    quote: Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_QUOTE)]


class Reading(NamedTuple):
    """What an answer about a window states, and why statements in it were left out, each by a slug."""

    statements: tuple[GraphStatement, ...] = ()
    dropped: tuple[str, ...] = ()


_TEXT = {"type": "string"}
_MENTION = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": [each.value for each in EntityType]},
        "name": _TEXT,
        "role": _TEXT,
    },
    "required": ["type"],
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "subject": _MENTION,
                    "relation": _TEXT,
                    "object": _MENTION,
                    "ended": {"type": "boolean"},
                    "quote": _TEXT,
                },
                "required": ["n", "subject", "relation", "object", "ended", "quote"],
            },
        }
    },
    "required": ["statements"],
}

#: Relations that lead to a person, to a pet, and to a day; of the others the tables say it.
_LEADS_TO = {
    **dict.fromkeys((*ROLES.values(), "knows"), EntityType.PERSON),
    **{each.relation: each.type for each in WORDINGS},
    PET_OF: EntityType.PET,
    "met_at": EntityType.PLACE,
    "birthday": EntityType.DATE,
    "anniversary": EntityType.DATE,
}

_SPACES = re.compile(r"\s+")


def records_of(window: Window) -> list[dict[str, Any]]:
    """Return what a model is shown of a window: what people wrote; nothing if nobody did."""
    letters = people_of(window)
    return [
        {"n": number, "by": letters[message.user_id], "text": message.content}
        for number, message in enumerate(window.messages, 1)
        if message.role is Role.USER
    ]


def prompt(windows: Sequence[Window]) -> Prompt:
    """Return what is asked about windows, all of one person; messages are numbered through all of them."""
    shown: list[dict[str, Any]] = []
    for number, (window, before) in enumerate(zip(windows, _befores(windows), strict=False), 1):
        place = {"window": number} if len(windows) > 1 else {}
        shown += [{**place, **each, "n": before + each["n"]} for each in records_of(window)]
    return Prompt(VERSION, SYSTEM, fenced(shown), SCHEMA, MOST_TOKENS * len(windows))


def _befores(windows: Sequence[Window]) -> list[int]:
    """Return how many messages there are before each window, and in all."""
    return [*accumulate((len(each.messages) for each in windows), initial=0)]


def parts(answer: str, windows: Sequence[Window]) -> list[str]:
    """Cut the answer about windows into one for each, in their order; "" where it was cut off before its end.

    What is about one window alone is read as far as it goes.
    """
    if len(windows) == 1:
        return [answer]
    said = told(answer)
    given = said.content.get("statements") if said is not None and isinstance(said.content, dict) else None
    if said is None or not isinstance(given, list):
        return [""] * len(windows)
    befores = _befores(windows)
    found: list[list[Any]] = [[] for _ in windows]
    last = 0
    for each in given:
        number = each.get("n") if isinstance(each, dict) else None
        if not isinstance(number, int) or isinstance(number, bool):
            found[0].append(each)  # it is counted as malformed
        elif not 1 <= number <= befores[-1]:
            found[0].append({**each, "n": 0})
        else:
            last = bisect_left(befores, number) - 1
            found[last].append({**each, "n": number - befores[last]})
    # They are answered in their order: of the last one that is spoken of the rest is missing.
    whole = last if said.cut else len(windows)
    return [
        json.dumps({"statements": each}, ensure_ascii=False, separators=(",", ":")) if place < whole else ""
        for place, each in enumerate(found)
    ]


def read(answer: str, window: Window) -> Reading:
    """Return what an answer states, in its order; what stands last in one that was cut off is left out.

    What is no statement is left out: ``malformed``, ``unknown_source`` (no such message, or not of a person),
    ``not_their_words`` (the quote does not stand in it), ``not_borne_out`` (a name that nobody wrote, or that
    is none, a relation that cannot lead there, or to the same).
    """
    said = told(answer)
    content = said.content if said is not None and isinstance(said.content, dict) else {}
    given = items(content.get("statements"))
    statements: dict[str, GraphStatement] = {}
    dropped: list[str] = []
    for each in given[:-1] if said is not None and said.cut else given:
        found = _statement(each, window)
        if isinstance(found, str):
            dropped.append(found)
        else:
            statements[found.statement_id] = found
    return Reading(tuple(statements.values()), tuple(dropped))


def _statement(given: Any, window: Window) -> GraphStatement | str:
    try:
        said = msgspec.convert(given, _Statement)
    except msgspec.ValidationError:
        return "malformed"
    if not 1 <= said.n <= len(window.messages) or window.messages[said.n - 1].role is not Role.USER:
        return "unknown_source"
    message = window.messages[said.n - 1]
    if not is_quoted(said.quote, [message]):
        return "not_their_words"
    written = [each for each in window.messages if each.role is Role.USER and each.user_id == message.user_id]
    subject, thing = _mention(said.subject, written), _mention(said.object, written)
    relation = said.relation if said.relation in _LEADS_TO else ROLES.get(said.relation.casefold(), "")
    if subject is None or thing is None or subject == thing:
        return "not_borne_out"
    if subject.type not in (EntityType.PERSON, EntityType.PET) or _LEADS_TO.get(relation) is not thing.type:
        return "not_borne_out"
    return statement_of(
        Said(subject, relation, thing, said.quote, said.ended),
        _turn(message, window),
        window.conversation_id,
    )


def _mention(said: _Mention, written: Sequence[WindowMessage]) -> Mention | None:
    """Return who or what is meant; ``None`` if nobody who speaks wrote so."""
    if said.role == SELF_ROLE:
        return Mention(EntityType.PERSON, role=SELF_ROLE) if said.type is EntityType.PERSON else None
    role = _PARTS.get(said.type, {}).get(said.role.strip().casefold(), "")
    if (said.role.strip() and not role) or not (role or said.name.strip()):
        return None
    name = _SPACES.sub(" ", said.name).strip()
    if said.type is EntityType.DATE:
        day = day_of(name)
        return (
            Mention(said.type, day) if day and any(_names_day(each.content, day) for each in written) else None
        )
    if name and (name_of(name) != name or not is_quoted(name, written)):
        return None
    return Mention(said.type, name, role)


def _names_day(text: str, day: str) -> bool:
    month, number = day.split()
    return month in text and re.search(rf"(?<!\d){number}(?:st|nd|rd|th)?(?!\w)", text) is not None


def _turn(message: WindowMessage, window: Window) -> KeptTurn:
    return KeptTurn(
        window.tenant_id,
        0.0,
        message.index,
        ids.turn_id(window.tenant_id, window.conversation_id, message.message_id),
        message.message_id,
        message.user_id,
        "",
        message.role.value,
        message.content,
        message.sent_at.timestamp(),
        message.arrived_at.timestamp(),
        window.source.topic,
        window.source.partition,
        message.offset,
    )
