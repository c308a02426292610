"""Switching to another generation and back: what must hold before, the record, and who follows it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from models.control import Control, Generation
from models.errors import ConfigurationError, NotFound
from streams.admin.topics import cluster
from streams.admin.topics.groups import members
from streams.clients.catalog import catalog_for
from streams.clients.serving import CONTROL, KEY, LIVE, following, settings_of, shown
from streams.config.service_registry import ServiceAddress, notes
from streams.config.settings import Settings
from streams.config.settings.services import REPLAYED
from streams.queries.services import ask, reachable
from streams.server.replays import record, running
from streams.server.webhooks.endpoints import WEBHOOKS

#: How long a generation that is behind may take to catch up with the one that serves, once it is asked for, and
#: its workers to join their groups.  Those that run here have just started: again once they had caught up.
_PATIENCE_SECONDS, _START_SECONDS = 10.0, 60.0
_POLL_SECONDS = 0.25

#: How long `serve` on this machine may take to follow.
_FOLLOW_SECONDS = 10.0


async def control(live: Settings) -> Control | None:
    """Return the record of the generation that serves; ``None``: nothing was ever switched.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    return (await CONTROL.read_all(live)).get(KEY)


async def serving(live: Settings) -> Generation:
    """Return the generation that serves; raises as :func:`control`."""
    known = await control(live)
    return known.serves if known else LIVE


def refuse_serving(live: Settings, serves: Generation, name: str, doing: str) -> None:
    """Refuse to drop or pause the generation that ``serves``; ``doing``: ``dropped``, ``paused``.

    Raises:
        ConfigurationError: it is that one, or a process of it answers people on this machine.
    """
    if serves.name == name:
        raise ConfigurationError(
            f"generation {name} serves, so it cannot be {doing}: `switchboard replay back` has the one before "
            "serve again, `switchboard replay switch live` the live one"
        )
    here = [note for note in notes(record.generation_settings(live, name)) if note.service == "serve"]
    if here:
        raise ConfigurationError(
            f"generation {name} serves (switchboard serve, process {here[0].pid}): stop that first"
        )


async def switch(
    live: Settings, name: str, given: Mapping[str, str], *, webhooks_stay: bool = False
) -> Control | None:
    """Have a generation serve (``live``: the live one); ``None``: it does so already.

    ``given``: the settings of a generation that was not started from this folder.

    Raises:
        NotFound: there is no such generation.
        ConfigurationError: it is behind, it does not run, or webhooks would tell of another one.
        DependencyUnavailable: the broker does not answer.
    """
    before = await serving(live)
    if name in ("", shown("")):
        wanted = LIVE
    else:
        replay = record.read(record.generation_settings(live, name))
        wanted = Generation(name=name, settings=dict(given) if replay is None else replay.read_with)
    if wanted == before:
        return None
    return await _switch(live, before, wanted, webhooks_stay=webhooks_stay)


async def back(live: Settings, *, webhooks_stay: bool = False) -> Control:
    """Have the generation serve that did so before; raises as :func:`switch`, and if there was none."""
    known = await control(live)
    if known is None:
        raise ConfigurationError("nothing was ever switched: the live generation serves")
    return await _switch(live, known.serves, known.before, webhooks_stay=webhooks_stay)


async def _switch(live: Settings, before: Generation, wanted: Generation, *, webhooks_stay: bool) -> Control:
    settings = settings_of(live, wanted)
    await _refuse_missing(settings)
    await _refuse_behind(settings_of(live, before), settings)
    if wanted.name and not webhooks_stay and (told := await WEBHOOKS.read_all(live)):
        raise ConfigurationError(
            f"webhooks are sent the changes of the live generation, and {', '.join(sorted(told))} would not "
            f"hear of those of {wanted.name}. Add --webhooks-stay if that is right, or remove them: "
            "`switchboard webhook remove`"
        )
    known = Control(control_id=KEY, serves=wanted, before=before, switched_at=datetime.now(UTC))
    await CONTROL.put(live, KEY, known)
    # For commands, and for a `serve` that starts while Kafka is down.
    await asyncio.to_thread(following(live, lambda _: None).keep, {KEY: known})
    return known


async def _refuse_missing(wanted: Settings) -> None:
    if not wanted.generation:
        return
    derived = [spec.name for spec in catalog_for(wanted).derived()]
    async with cluster.connected(wanted, wanted.request_timeout_seconds) as admin:
        found = await cluster.describe(admin, derived)
    if len(found) < len(derived):
        raise NotFound(
            f"there is no generation {wanted.generation} at {wanted.bootstrap_servers}, or not all of it "
            f"({len(found)} of {len(derived)} topics): `switchboard replay status` lists those there are"
        )


async def _refuse_behind(serving: Settings, wanted: Settings) -> None:
    """Refuse a generation that does not run, or has read less than the one that serves, after a wait."""
    await _wait_running(wanted)
    await _wait_read(serving, wanted)
    # Its workers here start again once it has caught up: nobody could search it meanwhile.
    restarted_by = asyncio.get_running_loop().time() + _START_SECONDS
    while running.is_restarting(wanted):
        if asyncio.get_running_loop().time() > restarted_by:
            raise ConfigurationError(
                f"the workers of generation {shown(wanted.generation)} still leave the processors to the live "
                "ones, and start again once it has caught up: repeat this then (`switchboard replay status`)"
            )
        await asyncio.sleep(_POLL_SECONDS)
    await _wait_running(wanted)


async def _wait_running(wanted: Settings) -> None:
    clock = asyncio.get_running_loop().time
    runs_here = record.runner(wanted) is not None
    joined_by = clock() + (_START_SECONDS if runs_here else _PATIENCE_SECONDS)
    while idle := await not_running(wanted):
        if clock() > joined_by:
            raise await _not_running(wanted, idle)
        await asyncio.sleep(_POLL_SECONDS)


async def _wait_read(serving: Settings, wanted: Settings) -> None:
    clock = asyncio.get_running_loop().time
    read_by = clock() + _PATIENCE_SECONDS
    while True:
        far, now = await asyncio.gather(running.progress(wanted), running.progress(serving))
        if far.left <= now.left and far.messages >= now.messages:
            return
        if clock() > read_by:
            raise ConfigurationError(
                f"generation {shown(wanted.generation)} is behind: it has read {far.messages:,} of "
                f"{far.total:,} messages and has {far.left:,} records left; {shown(serving.generation)}, which "
                f"serves, has read {now.messages:,} and has {now.left:,} left. Repeat this when `switchboard "
                "replay status` says that it has caught up"
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _not_running(wanted: Settings, idle: Sequence[str]) -> ConfigurationError:
    name, left = shown(wanted.generation), (await running.progress(wanted)).left
    start = f"switchboard replay resume {name}" if wanted.generation else "switchboard worker"
    return ConfigurationError(
        f"{', '.join(idle)} of generation {name} does not run, and {left:,} records are left to read there: "
        f"start it (`{start}`), then repeat this"
    )


async def not_running(settings: Settings) -> list[str]:
    """Return the services of a generation whose groups have no member."""
    async with cluster.connected(settings, settings.request_timeout_seconds) as admin:
        return [each for each in REPLAYED if not await members(admin, settings.group(each))]


async def wait_followed(live: Settings, name: str) -> tuple[list[ServiceAddress], list[ServiceAddress]]:
    """Wait until every ``serve`` of this folder answers from a generation; return those that do, and do not.

    One that ``SWITCHBOARD_GENERATION`` gives a generation has a folder of its own and follows nobody.
    """
    clock = asyncio.get_running_loop().time
    # Workers that run here may have just started again: `serve` follows once they answer.
    starts = bool(name) and record.runner(record.generation_settings(live, name)) is not None
    deadline = clock() + (_START_SECONDS if starts else _FOLLOW_SECONDS)
    while True:
        here = [note for note in notes(live) if note.service == "serve"]
        answers = await asyncio.gather(
            *(ask(live, note.service, note.port, reachable(note.host)) for note in here)
        )
        follow = [each.details.get("generation") == name for each in answers]
        if all(follow) or clock() > deadline:
            pairs = list(zip(here, follow, strict=True))
            return [note for note, does in pairs if does], [note for note, does in pairs if not does]
        await asyncio.sleep(_POLL_SECONDS / 5)
