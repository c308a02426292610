"""Receipts: the id under which an erasure is asked about later.

An id is what was asked for, encrypted (Fernet) with a key that is derived from the one that signs certificates.
So nothing of it has to be stored, nobody reads a name in a URL or a log, and every process with the same key
(``SWITCHBOARD_ERASURE_KEY_FILE``) knows it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from models.errors import NotFound
from streams.clients.erasure_key import derived

#: An id stands in a URL: of so many characters of names it has all, of more none.
_MOST_NAMED = 1_000

Scope = Literal["person", "conversation"]

_PURPOSE = b"switchboard receipts of erasures"


class Asked(NamedTuple):
    """An erasure that was asked for.  What arrived after ``asked_at`` may be there still.

    ``scope``: all of a person, or one conversation.  ``user_id``: the person who is forgotten, or whose words
    in the conversation are; ``""``: all that was said in it.  ``owner``: about whom the facts are that rest on
    it; ``""``: nothing of it was processed.  ``conversation_ids``: empty if a person took part in none, or in
    too many to be named.  ``answers``: how many answers of language models were erased.
    """

    tenant_id: str
    scope: Scope
    user_id: str
    owner: str
    conversation_ids: tuple[str, ...]
    asked_at: datetime
    answers: int


def of_person(tenant_id: str, user_id: str, found: Iterable[str], asked_at: datetime, answers: int) -> Asked:
    """Return the erasure of a person."""
    return Asked(tenant_id, "person", user_id, user_id, tuple(sorted(found)), asked_at, answers)


def seal(asked: Asked, key: Ed25519PrivateKey) -> str:
    """Return the id of an erasure."""
    if sum(map(len, asked.conversation_ids)) > _MOST_NAMED:
        asked = asked._replace(conversation_ids=())
    return _cipher(key).encrypt(msgspec.json.encode(asked)).decode().rstrip("=")


def unseal(erasure_id: str, key: Ed25519PrivateKey) -> Asked:
    """Read the erasure of an id.

    Raises:
        NotFound: the id was changed, or made with another key.
    """
    padded = erasure_id + "=" * (-len(erasure_id) % 4)
    try:
        return msgspec.json.decode(_cipher(key).decrypt(padded.encode()), type=Asked)
    except (InvalidToken, UnicodeEncodeError, msgspec.DecodeError):
        raise NotFound("no erasure has this id here") from None


def _cipher(key: Ed25519PrivateKey) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derived(key, _PURPOSE)))
