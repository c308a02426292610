"""``switchboard erase --certificate`` and ``erase verify``: the views are asked before anything is signed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from models.errors import ConfigurationError, DependencyUnavailable, NotFound
from streams.admin.topics.cluster import cluster_id
from streams.cli import recall_api
from streams.cli.output import print_json, printable
from streams.config.settings import Settings
from streams.queries.erasure import certificate
from streams.queries.erasure.certificate import Store
from streams.telemetry.version import code_version

#: How long the views are given to let go of what was erased.
_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.5

_VIEWS = "views: search, facts, vectors, conversation log, contexts"


class Written(NamedTuple):
    """A certificate that was written, and the stores that were not seen to be empty."""

    path: Path
    unchecked: list[str]


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
    certificate.signing_key(settings)
    certificate.backups(settings, datetime.now(UTC))


async def write(
    settings: Settings, path: Path, tenant: str, user_id: str, conversations: Sequence[str], answers: int
) -> Written:
    """Wait until the views are empty of it, and write a signed certificate.

    Raises:
        ConfigurationError: the file cannot be written, or the key not read.
        DependencyUnavailable: the broker does not answer.
    """
    until = datetime.now(UTC)
    asked = [f"/v1/people/{quote(user_id, safe='')}"] if user_id else []
    asked += [f"/v1/conversations/{quote(name, safe='')}" for name in conversations if not user_id]
    views = await _views(settings, tenant, asked)
    now = datetime.now(UTC)
    stores = [
        views,
        *certificate.topics(settings, now),
        *certificate.elsewhere(settings, answers),
        *certificate.backups(settings, now),
    ]
    text = certificate.issue(
        settings,
        cluster_id=await cluster_id(settings, settings.request_timeout_seconds),
        tenant_id=tenant,
        user_id=user_id,
        conversation_ids=conversations,
        erased_until=until,
        issued_at=now,
        version=await asyncio.to_thread(code_version),
        stores=stores,
    )
    try:
        with path.open("xb") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(
            f"the certificate cannot be written to {printable(str(path))}: {error}"
        ) from error
    return Written(path, [each.store for each in (views,) if each.state != "removed"])


async def _views(settings: Settings, tenant: str, paths: Sequence[str]) -> Store:
    """Ask the API until it knows nothing of what was erased."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _WAIT_SECONDS
    waiting = list(paths)
    why = ""
    while waiting:
        try:
            found = await recall_api.get(settings, waiting[0], {"tenant_id": tenant}, dict[str, Any])
        except NotFound as gone:
            if "is not read yet" not in str(gone):
                waiting.pop(0)
                continue
            why = str(gone)
        except (DependencyUnavailable, ConfigurationError) as error:
            why = str(error)
        else:
            if found is None:
                why = "neither serve nor recall runs"
                break
            why = f"{waiting[0]} still answers"
        if clock() > deadline:
            break
        await asyncio.sleep(_POLL_SECONDS)
    if waiting:
        return Store(store=_VIEWS, state="unchecked", note=f"not seen to be empty: {why}")
    return Store(store=_VIEWS, state="removed", note="asked after the erasure: nothing is known")


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
    whose = printable(told.user_id) or ", ".join(map(printable, told.conversation_ids))
    print(f"the signature holds: {whose} of tenant {printable(told.tenant_id)} was erased")
    print(f"  up to      {told.erased_until:%Y-%m-%d %H:%M:%S} UTC, on cluster {printable(told.cluster_id)}")
    print(f"  signed by  {told.public_key}" + ("" if key else " (give --key to say who must have signed)"))
    for each in told.stores:
        when = f" until {each.gone_by:%Y-%m-%d}" if each.gone_by else ""
        print(
            f"  {each.state:9}  {printable(each.store)}{when}"
            + (f": {printable(each.note)}" if each.note else "")
        )
