"""``switchboard erase --certificate`` and ``erase verify``: the views are asked before anything is signed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from models.errors import ConfigurationError, DependencyUnavailable, NotFound, NotReadYet
from models.facts import Fact
from streams.admin.topics.cluster import cluster_id
from streams.cli import recall_api
from streams.cli.output import print_json, printable
from streams.clients.erasure_key import signing_key
from streams.config.settings import Settings
from streams.queries.erasure import certificate
from streams.queries.erasure.proving import certify
from streams.queries.erasure.receipts import Asked

#: How long the views are given to let go of what was erased.
_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.5

#: How many facts are looked at in one call.
_PAGE = 100

T = TypeVar("T")


#: Whether a view has let go of what was erased.
Check = Callable[[], Awaitable[bool]]


class _Search(msgspec.Struct):
    known: bool
    empty: str | None


class _Facts(msgspec.Struct):
    facts: list[Fact]
    next: str | None


def check(settings: Settings, path: Path | None) -> None:
    """Refuse, before anything is erased, what could not be written or signed afterwards.

    Raises:
        ConfigurationError: the file is there, its folder is not, or no key can be had.
    """
    if path is None:
        return
    if path.exists():
        raise ConfigurationError(
            f"{printable(str(path))} is there already: nothing was erased; name another file"
        )
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(f"{printable(str(path.parent))} is no folder: nothing was erased")
    signing_key(settings)
    certificate.backups(settings, datetime.now(UTC))


def person_gone(settings: Settings, tenant: str, user_id: str) -> list[Check]:
    """Return the checks that the facts, the log and the search know nothing of a person."""
    search: dict[str, str | int] = {"q": user_id, "user_id": user_id, "tenant_id": tenant, "limit": 1}

    async def unsearched() -> bool:
        found = await _ask(settings, "/v1/search", search, _Search)
        return not found.known and found.empty != "not_read_yet"

    return [_unknown(settings, f"/v1/people/{quote(user_id, safe='')}", tenant), unsearched]


def conversation_gone(settings: Settings, tenant: str, conversation_id: str, owner: str) -> list[Check]:
    """Return the checks that the log knows nothing of a conversation, and no fact of its owner rests on it."""

    async def without_facts() -> bool:
        asked: dict[str, str | int] = {"user_id": owner, "tenant_id": tenant, "status": "any", "limit": _PAGE}
        while True:
            page = await _ask(settings, "/v1/facts", asked, _Facts)
            if any(each.conversation_id == conversation_id for fact in page.facts for each in fact.provenance):
                return False
            if page.next is None:
                return True
            asked["start"] = page.next

    log = _unknown(settings, f"/v1/conversations/{quote(conversation_id, safe='')}", tenant)
    return [log, without_facts] if owner else [log]


def _unknown(settings: Settings, path: str, tenant: str) -> Check:
    """Return the check that the API knows nothing under a path."""

    async def check() -> bool:
        try:
            await _ask(settings, path, {"tenant_id": tenant}, dict[str, Any])
        except NotReadYet:
            return False
        except NotFound:
            return True
        return False

    return check


async def _ask(settings: Settings, path: str, parameters: Mapping[str, str | int], kind: type[T]) -> T:
    return recall_api.required(await recall_api.get(settings, path, parameters, kind))


async def write(settings: Settings, path: Path, asked: Asked, gone: Sequence[Check]) -> str:
    """Wait until the views are empty of it, and write a signed certificate.

    Returns why the views were not seen to be empty, ``""`` if they were.

    Raises:
        ConfigurationError: the file cannot be written, or the key not read.
        DependencyUnavailable: the broker does not answer.
    """
    unchecked = await _wait(gone)
    named = await cluster_id(settings, settings.request_timeout_seconds)
    text = await certify(settings, asked, named, unchecked)
    try:
        with path.open("xb") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(
            f"the certificate cannot be written to {printable(str(path))}: {error}"
        ) from error
    return unchecked


async def _wait(gone: Sequence[Check]) -> str:
    """Check until all is gone; return why it is not after a minute, ``""`` if it is."""
    why, waiting = "", list(gone)
    try:
        async with asyncio.timeout(_WAIT_SECONDS):
            while waiting:
                try:
                    if await waiting[0]():
                        waiting.pop(0)
                        continue
                    why = "a view still knows something"
                except (DependencyUnavailable, ConfigurationError) as error:
                    why = str(error)
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        return why or "the views did not answer"
    return ""


def verify(path: Path, key: str, *, json: bool) -> None:
    """Print what a certificate says.

    Raises:
        ConfigurationError: the file cannot be read.
        InvalidRecord: its signature does not hold, or it is none.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{printable(str(path))} cannot be read: {error.strerror}") from error
    told = certificate.verify(text, key)
    if json:
        print_json(msgspec.to_builtins(told))
        return
    whose = ", ".join(map(printable, told.conversation_ids)) if told.scope == "conversation" else told.user_id
    if told.scope == "conversation" and told.user_id:
        whose = f"what {told.user_id} said in {whose}"
    whose = printable(whose)
    print(f"the signature holds: {whose} of tenant {printable(told.tenant_id)} was erased")
    print(f"  up to      {told.erased_until:%Y-%m-%d %H:%M:%S} UTC, on cluster {printable(told.cluster_id)}")
    print(f"  signed by  {told.public_key}" + ("" if key else " (give --key to say who must have signed)"))
    for each in told.stores:
        when = f" until {each.gone_by:%Y-%m-%d}" if each.gone_by else ""
        print(
            f"  {each.state:9}  {printable(each.store)}{when}"
            + (f": {printable(each.note)}" if each.note else "")
        )
