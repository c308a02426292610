"""``memory.commands.v1``: what somebody wants done, besides what follows from messages."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp

#: How long what corrects a fact may be: as long as a value.
CORRECTION_LIMIT = 1024

#: How long the name of whoever corrects may be.
BY_LIMIT = 256


class CommandKind(StrEnum):
    """The commands that there are.  More will come; whoever reads them ignores those that it does not know."""

    CLOSE = "close"
    ERASE = "erase"
    CONSOLIDATE = "consolidate"
    CORRECT = "correct"
    SEPARATE = "separate"


class AnyCommand(msgspec.Struct, frozen=True, kw_only=True):
    """Head of every command: its kind.  Decoded first, to tell whether the reader handles it."""

    command: Identifier


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command, most often about one conversation.  Key: ``conversation_id``.

    ``command`` is a :class:`CommandKind`: ``close`` ends the open window (``reason: closed``) after every
    message that was acknowledged before the command was sent; the conversation may go on afterwards.
    ``erase`` forgets these messages, and whatever was made of them: of everybody, or, in a conversation that
    several people share, of the person ``user_id`` alone.

    ``consolidate`` looks at what changed of the facts about ``user_id`` (empty: about everybody of the
    tenant), and makes those one that say the same; with ``dry_run`` it only reports what it would do.  It is
    about no conversation: its ``conversation_id`` only says where the command lies.

    ``correct`` puts ``text`` in the place of the fact ``fact_id`` about ``user_id``: the value that holds
    instead, or a sentence that says so.  ``by``: who corrects it, for its history.  It is about no
    conversation, either.

    ``separate`` says that the fact ``fact_id`` about ``user_id``, which was merged into another, is another one
    after all: it comes back with what it rested on.

    The same ``command_id`` again is the same command.
    """

    command_id: Identifier
    command: Identifier
    conversation_id: Identifier
    issued_at: Timestamp
    tenant_id: Identifier = DEFAULT_TENANT
    user_id: Annotated[str, msgspec.Meta(max_length=256)] = ""
    dry_run: bool = False
    fact_id: Annotated[str, msgspec.Meta(max_length=256)] = ""
    text: Annotated[str, msgspec.Meta(max_length=CORRECTION_LIMIT)] = ""
    by: Annotated[str, msgspec.Meta(max_length=BY_LIMIT)] = ""
