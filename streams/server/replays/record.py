"""Record of a replay in its folder: the settings that decide what it makes, as they were at its start.

A replay that goes on with other settings than it began with would be of neither.  So what decides is written
down once, and every later start of its workers takes it from here; addresses and secrets come from the
environment.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
from pydantic import SecretStr

from models.control import Generation
from models.errors import ConfigurationError, NotFound
from streams.clients.serving import settings_of
from streams.config.file_lock import FileLock, Holder, LockHeld
from streams.config.namespace import GENERATION_RULE, is_generation
from streams.config.redaction import credentials_of
from streams.config.settings import Settings, load_settings
from streams.config.settings.places import PlaceSettings
from streams.config.settings.text import PREFIX, env_name, env_names

_FILE, _LOCK = "replay.json", "replay.lock"

_PATIENCE_SECONDS = 0.5


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay as it was started.

    ``settings``: values of the settings that decide, by name, as at its start; ``changed``: those that were
    given with it; ``partitions``: ``SWITCHBOARD_PARTITIONS``, if its topics have others than the live ones.
    ``max_rate``: messages a second of each service, ``max_cost``: US dollars for models; 0: no limit.
    ``beginnings``: where it begins to read shared topics, by contract name and partition.
    ``prepared``: its topics exist, and hold what was erased before; its groups stand where it begins.
    ``measured_rate``: messages a second until it had caught up; 0: unknown.
    """

    name: str
    started_at: datetime
    settings: dict[str, str] = {}
    changed: dict[str, str] = {}
    partitions: str = ""
    max_rate: float = 0.0
    max_cost: float = 0.0
    beginnings: dict[str, dict[int, int]] = {}
    prepared: bool = False
    measured_rate: float = 0.0

    def load(self) -> Settings:
        """Return the settings of its workers; raises :class:`ConfigurationError`."""
        fields = Settings.model_fields
        defaults = {name: fields[name].get_default(call_default_factory=True) for name in deciding()}
        decided = defaults | self.settings | self.changed
        if self.partitions:
            decided["partitions"] = self.partitions
        return load_settings(generation=self.name, max_rate=self.max_rate, **decided)

    @property
    def read_with(self) -> dict[str, str]:
        """Settings, by name, with which its views and topics are read."""
        return self.changed | ({"partitions": self.partitions} if self.partitions else {})

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of its workers: ``environ``, with what decides as it was at the start."""
        of_record = {name for field in deciding() for name in env_names(field, Settings.model_fields[field])}
        kept = {name: value for name, value in environ.items() if name.upper() not in of_record}
        decided = {
            env_name(field, Settings.model_fields[field]): value
            for field, value in (self.settings | self.changed).items()
        }
        return (
            kept
            | decided
            | {
                f"{PREFIX}GENERATION": self.name,
                f"{PREFIX}MAX_RATE": f"{self.max_rate:g}",
                f"{PREFIX}METRICS_PORT": "0",
            }
            | ({f"{PREFIX}PARTITIONS": self.partitions} if self.partitions else {})
        )


def deciding() -> list[str]:
    """Return the settings that a replay keeps: all but addresses, names, secrets, and how fast it reads."""
    return [
        name
        for name, field in Settings.model_fields.items()
        if name not in PlaceSettings.model_fields and field.annotation is not SecretStr and name != "max_rate"
    ]


def decided(settings: Settings) -> dict[str, str]:
    """Return the settings that decide and are set, as text."""
    return {name: str(getattr(settings, name)) for name in deciding() if name in settings.model_fields_set}


def changes_of(given: Sequence[str]) -> dict[str, str]:
    """Read ``SWITCHBOARD_NAME=value`` entries; return the values by the name of the setting.

    Raises:
        ConfigurationError: an entry is no such pair, or names no setting that a replay can change.
    """
    names = {env_name(name, Settings.model_fields[name]): name for name in deciding()}
    changed: dict[str, str] = {}
    for entry in given:
        variable, equals, value = entry.partition("=")
        variable = variable.strip().upper()
        if not equals:
            raise ConfigurationError(f"--with {entry}: give SWITCHBOARD_NAME=value")
        if variable not in names:
            raise ConfigurationError(
                f"--with {variable}: a replay changes settings of stages, models and the runtime; addresses, "
                "names and secrets are set in the environment (`switchboard settings` lists all)"
            )
        if credentials_of(value):
            raise ConfigurationError(
                f"--with {variable}: its value holds a password, which the record of the replay would keep: "
                "set it in the environment"
            )
        changed[names[variable]] = value
    return changed


def limited(replay: Replay, max_rate: float | None, max_cost: float | None) -> Replay:
    """Return the replay with other limits; ``None``: as before."""
    return msgspec.structs.replace(
        replay,
        max_rate=replay.max_rate if max_rate is None else max_rate,
        max_cost=replay.max_cost if max_cost is None else max_cost,
    )


def shown(replay: Replay) -> dict[str, str]:
    """Return the settings that were given with the replay, by their variables."""
    return {env_name(name, Settings.model_fields[name]): value for name, value in replay.changed.items()}


def live_settings() -> Settings:
    """Return the live settings; raises :class:`ConfigurationError` where a generation is set."""
    live = load_settings()
    if live.generation:
        raise ConfigurationError(
            f"SWITCHBOARD_GENERATION={live.generation} is set: a replay stands beside the live generation, so "
            "unset it for this command"
        )
    return live


def generation_settings(settings: Settings, name: str) -> Settings:
    """Return ``settings`` for the generation ``name``; raises :class:`ConfigurationError` for no such name."""
    if not is_generation(name):
        raise ConfigurationError(f"{name!r} cannot be the name of a replay: {GENERATION_RULE}")
    return settings_of(settings, Generation(name=name))


def read(settings: Settings) -> Replay | None:
    """Return the replay whose generation ``settings`` are of, ``None`` if this folder has none."""
    path = settings.folder / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Replay)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error}. Drop the replay and start it again"
        ) from error


def known(settings: Settings) -> Replay:
    """Return the replay; raises :class:`NotFound` if this folder has none."""
    found = read(settings)
    if found is None:
        raise NotFound(
            f"no replay {settings.generation} in {settings.folder}: `switchboard replay start "
            f"{settings.generation}` starts one"
        )
    return found


def last_measured(live: Settings) -> float:
    """Return how fast the latest replay of this deployment ran here (messages a second); 0: unknown."""
    rates: dict[datetime, float] = {}
    for path in live.folder.glob(f"generation=*/{_FILE}"):
        with suppress(OSError, msgspec.DecodeError):  # who uses that one is told
            replay = msgspec.json.decode(path.read_bytes(), type=Replay)
            if replay.measured_rate:
                rates[replay.started_at] = replay.measured_rate
    return rates[max(rates)] if rates else 0.0


def names(live: Settings) -> list[str]:
    """Return the replays of this deployment that have a record here."""
    found = (path.parent.name.removeprefix("generation=") for path in live.folder.glob(f"generation=*/{_FILE}"))
    return sorted(found)


def write(settings: Settings, replay: Replay) -> None:
    """Write the record; the one before stays if that fails.  Raises :class:`ConfigurationError`."""
    path = settings.folder / _FILE
    fresh = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(replay), indent=2) + b"\n")
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    advice = "free some of the disk" if error.errno == errno.ENOSPC else "make it writable"
    return ConfigurationError(
        f"cannot write {path}: {error.strerror}; {advice} and repeat this, or set SWITCHBOARD_DATA_DIR"
    )


async def take(settings: Settings) -> FileLock:
    """Be the only process that changes or runs this replay.

    Raises:
        ConfigurationError: another one does.
    """
    path = settings.folder / _LOCK
    # `runner` holds it for a moment.
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return FileLock(path)
        except LockHeld as error:
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    f"replay {settings.generation} runs ({error.holder}): `switchboard replay pause "
                    f"{settings.generation}` stops it"
                ) from error
        except OSError as error:
            raise _unwritable(path, error) from error
        await asyncio.sleep(_PATIENCE_SECONDS / 10)


def runner(settings: Settings) -> Holder | None:
    """Return the process on this machine that runs the replay, ``None`` if none does."""
    path: Path = settings.folder / _LOCK
    if not path.exists():
        return None
    try:
        lock = FileLock(path)
    except LockHeld as error:
        return error.holder
    lock.release()
    return None
