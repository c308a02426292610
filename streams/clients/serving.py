"""The generation that serves: the record of ``memory.control.v1``, and the settings that read its views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from models.control import Control, Generation
from streams.clients.kafka.followed import Followed
from streams.clients.kafka.keyed_topic import KeyedTopic
from streams.config.settings import Settings, load_settings

KEY: Literal["serving"] = "serving"

CONTROL = KeyedTopic("memory.control.v1", Control, "generations")

#: The generation that serves where nothing was ever switched.
LIVE = Generation()

#: How long a command waits for the topic (seconds).
_COMMAND_SECONDS = 2.0


def shown(name: str) -> str:
    """Return the name of a generation for people."""
    return name or "live"


def serves(values: Mapping[str, Control]) -> Generation:
    """Return the generation that serves by the records of the topic."""
    return values[KEY].serves if KEY in values else LIVE


def settings_of(live: Settings, generation: Generation) -> Settings:
    """Return the settings that read a generation's views.

    Raises:
        ConfigurationError: a setting that it was started with is none of ours.
    """
    given = {each: getattr(live, each) for each in live.model_fields_set}
    return load_settings(**given | generation.settings | {"generation": generation.name})


def following(live: Settings, changed: Callable[[Generation], None]) -> Followed[Control]:
    """Make a follower that calls ``changed`` with the generation that serves, from its start to its close."""
    return Followed(live, CONTROL, lambda values: changed(serves(values)))


async def of_command(settings: Settings) -> Settings:
    """Return the settings of the generation that serves, for a command that reads the views by itself.

    A process that ``SWITCHBOARD_GENERATION`` gives a generation reads that one.  The views in the data folder
    are read without Kafka, so the note beside them counts, which ``switchboard replay switch`` writes too.
    """
    if settings.generation:
        return settings
    found: list[Generation] = []
    followed = following(settings, found.append)
    if settings.qdrant_url and settings.redis_url:
        await followed.read_once(_COMMAND_SECONDS)
    else:
        await followed.read_kept()
    return settings_of(settings, found[-1]) if found and found[-1] != LIVE else settings
