"""The certificate of an erasure: what was removed, what remains where and until when, signed.

It is one JSON object.  The signature (Ed25519) is over the object without ``signature``, encoded with sorted
keys and no spaces, so that anybody can verify it offline with the public key that it names.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from models.errors import ConfigurationError, InvalidRecord
from streams.clients.catalog import catalog_for
from streams.clients.erasure_key import public_key, signing_key
from streams.clients.erasure_ledger import LEDGER
from streams.clients.serving import shown
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.queries.erasure.receipts import Asked, Scope

_FORM = "switchboard-erasure/1"
_DAY = timedelta(days=1)

#: How long the rewriting of all indexes may take, once it is due (:mod:`streams.agents.erasure.clean_files`).
_REWRITING = timedelta(minutes=30)


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """One place where what was erased lay.  ``state``: ``removed``, ``remains`` or ``unchecked``.

    ``gone_by``: when nothing of it is left, by the retention of the place; ``None``: it is gone, or unknown.
    """

    store: str
    state: str
    gone_by: datetime | None = None
    note: str = ""


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a certificate, without its signature.  ``erased_until``: later arrivals are not part of it.

    ``scope``: all of a person, or one conversation; with a ``user_id``, what that person said in it.
    """

    form: str = _FORM
    id: str
    cluster_id: str
    topic_prefix: str
    tenant_id: str
    user_id: str
    conversation_ids: tuple[str, ...]
    erased_until: datetime
    issued_at: datetime
    version: str
    stores: tuple[Store, ...]
    public_key: str
    scope: Scope = "person"


def topics(settings: Settings, now: datetime, generations: Iterable[str] = ()) -> list[Store]:
    """Return each topic, also of ``generations``, and until when its files may hold what is erased now."""
    others = [
        catalog_for(settings.model_copy(update={"generation": name})).derived()
        for name in generations
        if name != settings.generation
    ]
    specs = [*catalog_for(settings).all(), *(spec for derived in others for spec in derived)]
    return [_topic(spec, now) for spec in specs]


def other_views(serves: str, generations: Iterable[str]) -> list[Store]:
    """Return the views that were not asked: those of all generations (``""``: live) but the one that serves."""
    return [
        Store(
            store=f"views of generation {shown(name)}",
            state="unchecked",
            note=f"generation {shown(serves)} serves and was asked; the erasure is in the topics of this one",
        )
        for name in generations
        if name != serves
    ]


def _topic(spec: TopicSpec, now: datetime) -> Store:
    if spec.contract_name == LEDGER.topic:
        note = "of people: a keyed hash and the time, for ever; it keeps late producers from bringing them back"
        return Store(store=f"topic {spec.name}", state="remains", note=note)
    until = spec.gone_by(now)
    if spec.is_compacted:
        note = "a tombstone or a newer value replaces it; files are rewritten by then, or with the next record"
    else:
        note = "retention of the topic" if until else "kept as long as the broker's default says"
    return Store(store=f"topic {spec.name}", state="remains", gone_by=until, note=note)


def backups(settings: Settings, now: datetime) -> list[Store]:
    """Return the backups that the settings name, with the day on which the last one from before is deleted.

    Raises:
        ConfigurationError: a backup is not ``name=days``.
    """
    found = []
    for each in filter(None, (part.strip() for part in settings.backups.split(","))):
        name, _, days = each.partition("=")
        if not name or not days.isdecimal():
            raise ConfigurationError(f"SWITCHBOARD_BACKUPS: {each!r} is not name=days, as in nightly=35")
        until = now + int(days) * _DAY
        found.append(
            Store(store=f"backup {name}", state="remains", gone_by=until, note=f"kept for {days} days")
        )
    return found


def elsewhere(settings: Settings, answers: int, now: datetime) -> list[Store]:
    """Return the stores that are no topic, no view and no backup."""
    memo = "answers of language models" + (f": {answers} erased" if answers else ": none was found")
    files = "files of the indexes"
    if settings.qdrant_url:
        note = "no search finds it; the Qdrant server rewrites its files by its own rules"
        indexes = Store(store=files, state="unchecked", note=note)
    else:
        note = "no search finds it; recall rewrites its files by then, while it runs and its disk has room"
        until = now + timedelta(seconds=settings.erased_files_seconds) + _REWRITING
        indexes = Store(store=files, state="remains", gone_by=until, note=note)
    return [
        indexes,
        Store(store="memo of language models", state="removed", note=memo),
        Store(store="logs of the services", state="removed", note="no text of a message is logged"),
        Store(
            store="exports and copies made by others",
            state="unchecked",
            note="who read a topic, exported or copied it, erases it there",
        ),
    ]


def issue(
    settings: Settings,
    asked: Asked,
    *,
    cluster_id: str,
    issued_at: datetime,
    version: str,
    stores: Iterable[Store],
) -> bytes:
    """Return a signed certificate, as JSON for people to read.

    Raises:
        ConfigurationError: the signing key cannot be read or made.
    """
    key = signing_key(settings)
    certificate = Certificate(
        id=str(uuid4()),
        cluster_id=cluster_id,
        topic_prefix=settings.topic_prefix,
        tenant_id=asked.tenant_id,
        user_id=asked.user_id,
        conversation_ids=tuple(sorted(asked.conversation_ids)),
        erased_until=asked.asked_at,
        issued_at=issued_at,
        version=version,
        stores=tuple(stores),
        public_key=public_key(key),
        scope=asked.scope,
    )
    told = orjson.loads(msgspec.json.encode(certificate))
    told["signature"] = _text(key.sign(_signed(told)))
    return orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n"


def verify(text: bytes, trusted: str = "") -> Certificate:
    """Return a certificate whose signature holds.

    ``trusted``: the public key that must have signed it; left out, that which the certificate names.

    Raises:
        InvalidRecord: it is no certificate, was changed after it was signed, or another key signed it.
    """
    try:
        told = orjson.loads(text)
        signature = base64.b64decode(told.pop("signature"), validate=True)
        certificate = msgspec.convert(told, Certificate)
        signer = Ed25519PublicKey.from_public_bytes(base64.b64decode(certificate.public_key, validate=True))
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidRecord(
            "no_certificate", "this is no certificate of an erasure: give the file as --certificate wrote it"
        ) from error
    if certificate.form != _FORM:
        raise InvalidRecord(
            "no_certificate", f"certificates of the form {certificate.form!r} are not known here"
        )
    if trusted and certificate.public_key != trusted:
        raise InvalidRecord(
            "another_signer",
            f"it is signed by {certificate.public_key}, not by {trusted}: another deployment's",
        )
    try:
        signer.verify(signature, _signed(told))
    except InvalidSignature:
        raise InvalidRecord(
            "changed_certificate",
            "the signature does not hold: the certificate was changed after it was signed",
        ) from None
    return certificate


def _signed(told: dict[str, Any]) -> bytes:
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
