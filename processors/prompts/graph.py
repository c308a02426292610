"""Relations in a model's answer about a window (requirement 1.5).

They are asked for in the call that asks for notes (:mod:`.extraction`).  Of what a model says only that is read of
which the quote stands in that message of a person, in their own words, and the names in what the people of the window
wrote; so it can tie nobody to anything that was not said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from models import ids
from models.graph import SELF_ROLE, EntityType, GraphStatement, Mention
from models.messages import Role
from models.windows import Window, WindowMessage
from processors.conversations.episodes.state import KeptTurn
from processors.extraction.graph.names import LONGEST, day_of, name_of
from processors.extraction.graph.reading import statement_of
from processors.extraction.graph.roles import PETS, ROLES
from processors.extraction.graph.telling import ToldRelation
from processors.extraction.graph.wordings import LEADS_TO
from processors.facts.candidates import is_quoted
from processors.prompts.checks import source_of
from processors.prompts.notes import decoded
from processors.text.authorship import own_words

#: A statement is a few sentences at most: nobody's whole message is kept as a quote, in characters.
_LONGEST_QUOTE = 1_000

#: How somebody may be related to something, but for what somebody is to them.
RELATIONS = tuple(sorted(LEADS_TO))

#: What somebody may be to somebody, and what kinds of pets there are, by the words for it.  The prompt names some:
#: all of them would be a sixth of what a window costs, and any word for one of them is understood.
_PARTS = {EntityType.PERSON: ROLES, EntityType.PET: PETS}

#: What the prompt says of relations.
TASK = f"""Relations are a second list: how the people, pets, places, organizations and days of the year that people speak of are tied.
A relation is what a person says in their own words about their own life: whose friend, relative or colleague somebody is, where they
live, work, study or were, whom they met and where, what a pet is called, when a birthday is. Leave out what is asked, wished,
planned, supposed or made up, and what only the assistant or a tool says. Fields of a relation:
- n: the number of the person's message.
- subject, object: type; name (as it is written in the messages, "" if nobody says it); role: "{SELF_ROLE}" for who wrote the
  message, what somebody is to them in one word ("sister", "landlord", "mother-in-law"), or the kind of pet ("dog"), else "".
  "She" is who she is: her name or her role.
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
    """Statements of an answer about a window, and the slugs of those left out."""

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
    "required": ["type", "name", "role"],
    "additionalProperties": False,
}
#: The schema of one of them.
STATEMENT: Mapping[str, Any] = {
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
    "additionalProperties": False,
}

_LEADS_TO = {**dict.fromkeys(ROLES.values(), EntityType.PERSON), **LEADS_TO}

_SPACES = re.compile(r"\s+")


def read(part: str, window: Window) -> Reading:
    """Return the relations of a part of an answer, in its order.

    What is no statement is left out: ``malformed``, ``unknown_source`` (no such message, or not of a person),
    ``not_their_words`` (the quote does not stand in it), ``not_borne_out`` (a name that nobody wrote, or that
    is none, a relation that cannot lead there, or to the same).
    """
    window = _in_own_words(window)
    statements: dict[str, GraphStatement] = {}
    dropped: list[str] = []
    for each in decoded(part, "relations"):
        found = _statement(each, window)
        if isinstance(found, str):
            dropped.append(found)
        else:
            statements[found.statement_id] = found
    return Reading(tuple(statements.values()), tuple(dropped))


def _in_own_words(window: Window) -> Window:
    """Return the window without the text that people only pass on, blanked so that quotes stay in place."""
    messages = tuple(
        msgspec.structs.replace(each, content=own_words(each.content)) if each.role is Role.USER else each
        for each in window.messages
    )
    return msgspec.structs.replace(window, messages=messages)


def _statement(given: Any, window: Window) -> GraphStatement | str:
    try:
        said = msgspec.convert(given, _Statement)
    except msgspec.ValidationError:
        return "malformed"
    message = source_of(said.n, said.quote, window)
    if isinstance(message, str):
        return message
    written = [each for each in window.messages if each.role is Role.USER and each.user_id == message.user_id]
    subject, thing = _mention(said.subject, written), _mention(said.object, written)
    relation = said.relation if said.relation in _LEADS_TO else ROLES.get(said.relation.casefold(), "")
    if subject is None or thing is None or subject == thing:
        return "not_borne_out"
    if subject.type not in (EntityType.PERSON, EntityType.PET) or _LEADS_TO.get(relation) is not thing.type:
        return "not_borne_out"
    return statement_of(
        ToldRelation(subject, relation, thing, said.quote, said.ended),
        _turn(message, window),
        window.conversation_id,
    )


def _mention(said: _Mention, written: Sequence[WindowMessage]) -> Mention | None:
    """Return the entity mentioned; ``None`` if no speaker wrote it so."""
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
