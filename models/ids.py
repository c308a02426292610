"""Deterministic ids: uuid5 over what a thing is made of, so that a replay writes the same ids.

That is what makes at-least-once delivery *effectively once*: the second copy overwrites the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b, sha1
from unicodedata import normalize
from uuid import NAMESPACE_URL, uuid5

#: Root of all ids.  Changing it orphans everything ever written.
NAMESPACE = uuid5(NAMESPACE_URL, "https://switchboard.invalid/ids/v1")

_NAMESPACE_BYTES = NAMESPACE.bytes
#: The two bits of the variant in the hexadecimal digit that they share with two others.
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
_SPACES = re.compile(r"\s+")


def deterministic_id(kind: str, *parts: str | int) -> str:
    """Return the uuid5 (as text) of ``kind`` and ``parts``.

    Parts are joined by the unit separator, a control character that validated input never holds, so
    ``("a", "bc")`` and ``("ab", "c")`` differ.  Same result as :func:`uuid.uuid5`, in a fifth of the time.
    """
    return _uuid5("\x1f".join((kind, *map(str, parts))))


def _uuid5(name: str) -> str:
    text = sha1(_NAMESPACE_BYTES + name.encode(), usedforsecurity=False).hexdigest()
    # Version 5, in the variant of RFC 4122.
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


def window_id(
    tenant_id: str, conversation_id: str, first_message_id: str, last_message_id: str, overlap: int
) -> str:
    """Id of the window from one message to another (inclusive) whose first ``overlap`` were in the one before.

    Of what is in it, not of where it stood: after retention and a reset the first message that is left has
    index 0, and must not be taken for the one that had it once.  ``overlap`` says which messages are new to
    readers, so windows over the same messages that differ in it are two.
    """
    return _uuid5(
        f"window\x1f{tenant_id}\x1f{conversation_id}\x1f{first_message_id}\x1f{last_message_id}\x1f{overlap}"
    )


def text_hash(text: str) -> str:
    """Return the fingerprint of a text: 32 hexadecimal digits."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def normalize_statement(statement: str) -> str:
    """Fold what does not change a statement's meaning: case, white space, the closing stop, forms of a
    letter.
    """
    return _SPACES.sub(" ", normalize("NFKC", statement)).strip().rstrip(".!").casefold()


def slot_id(tenant_id: str, user_id: str, subject: str, attribute: str) -> str:
    """Id of what is known of one attribute of one subject: "where does Ada's sister live".

    ``subject`` and ``attribute`` are normalized (:mod:`processors.facts.claims`).
    """
    return deterministic_id("slot", tenant_id, user_id, subject, attribute)


def fact_id(slot: str, value: str, polarity: str, day: str = "") -> str:
    """Id of a value, normalized, that fills a slot or is said not to; ``day``: that of an event."""
    return deterministic_id("fact", slot, value, polarity, day)


def text_fact_id(tenant_id: str, user_id: str, statement: str) -> str:
    """Id of a statement that fits no slot: the same text again is the same fact."""
    return deterministic_id("fact", tenant_id, user_id, normalize_statement(statement))


def candidate_id(fact: str, conversation_id: str, message_ids: Iterable[str]) -> str:
    """Id of the candidate for ``fact`` that rests on these messages, whichever window they were found in."""
    return deterministic_id("candidate", fact, conversation_id, *message_ids)


def summary_id(tenant_id: str, conversation_id: str, first_message_id: str, last_message_id: str) -> str:
    """Id of the summary (and of the request for it) from one message to another (inclusive)."""
    return deterministic_id("summary", tenant_id, conversation_id, first_message_id, last_message_id)


def roll_up_id(tenant_id: str, conversation_id: str, replaces: Iterable[str]) -> str:
    """Id of the summary (and of the request for it) that takes the place of the summaries ``replaces``."""
    return deterministic_id("roll-up", tenant_id, conversation_id, *replaces)


def erasure_id(tenant_id: str, conversation_id: str, user_id: str, partition: int) -> str:
    """Id of the erasure of a conversation, of a person (``""``: all of them), or of a person in a conversation.

    It is noted in every partition that may hold anything of theirs, each time under another id.
    """
    return deterministic_id("erasure", tenant_id, conversation_id, user_id, partition)


def message_id(place: str, offset: int) -> str:
    """Id of a message that has none, by its record: ``place`` is ``<topic>-<partition>``."""
    return deterministic_id("message-at", place, offset)


def turn_id(tenant_id: str, conversation_id: str, message_id: str) -> str:
    """Id of the turn that a message is: a message that comes again is the same turn."""
    return deterministic_id("turn", tenant_id, conversation_id, message_id)


def episode_id(tenant_id: str, conversation_id: str, first_message_id: str, last_message_id: str) -> str:
    """Id of the episode from one message to another (inclusive), of what is in it like that of a window."""
    return deterministic_id("episode", tenant_id, conversation_id, first_message_id, last_message_id)


def punctuation_id(tenant_id: str, conversation_id: str, kind: str, began_ms: int, index: int) -> str:
    """Id of what stands before the turn ``index`` of the life of a conversation that began at ``began_ms``."""
    return deterministic_id("punctuation", tenant_id, conversation_id, kind, began_ms, index)
