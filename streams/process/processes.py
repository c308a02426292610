"""Several processes of one service on one machine: who each of them is, and where it answers.

Process ``i`` of ``N`` (0 to N-1) is the instance ``<instance id>-i`` and answers on the service's ports plus
``10 * i``: ``ingest`` on 9464, 9474, 9484, ..., so that it never meets ``memory`` (9465, 9475, ...).
"""

from __future__ import annotations

from dataclasses import dataclass

from models.errors import ConfigurationError
from streams.settings import Settings, load_settings
from streams.telemetry.health import health_port
from streams.topics.catalog import catalog_for

#: From one process of a service to the next; the services' own default ports lie closer together.
PORT_STEP = 10


@dataclass(frozen=True)
class Place:
    """Process ``index`` of ``count``."""

    index: int = 0
    count: int = 1

    def settings(self, service: str, settings: Settings) -> Settings:
        """Return the settings of this process of ``service``: a name and ports of its own.

        Raises:
            ConfigurationError: the name becomes too long, or a port too high.
        """
        if self.count == 1:
            return settings
        return load_settings(
            instance_id=f"{settings.instance_id}-{self.index}",
            metrics_port=port_of(health_port(settings, service), self.index),
        )


#: The only process of its service.
ALONE = Place()


def port_of(first: int, index: int) -> int:
    """Return the port of process ``index`` where that of process 0 is ``first`` (0: any free one)."""
    return first + PORT_STEP * index if first else 0


def most_processes(service: str, settings: Settings) -> int:
    """Return how many processes can share the work of ``service``: the partitions of its widest source.

    What reads no topic as a group (``serve``) has ports and notes of its own instead: 1.
    """
    catalog = catalog_for(settings)
    sources = [spec for spec in catalog.all() if service in spec.readers and not spec.is_changelog]
    return max((spec.partitions for spec in sources), default=1)


def check_count(service: str, settings: Settings, count: int) -> None:
    """Refuse a number of processes that cannot work.

    Raises:
        ConfigurationError: they would need one folder, or some would have nothing to do.
    """
    if count > 1 and service == "recall" and not settings.qdrant_url:
        raise ConfigurationError(
            f"worker recall --processes {count}: the embedded Qdrant in {settings.folder} belongs to one "
            "process. Set SWITCHBOARD_QDRANT_URL to a Qdrant server, or run one process"
        )
    if count > 1 and service == "recall" and not settings.redis_url:
        raise ConfigurationError(
            f"worker recall --processes {count}: each would start a Valkey of its own, and know its own "
            "conversations only. Set SWITCHBOARD_REDIS_URL to one for all, or run one process"
        )
    if count > 1 and service == "memory" and settings.reads_with_model and not settings.redis_url:
        raise ConfigurationError(
            f"worker memory --processes {count}: each would start a Valkey of its own, and call the model as "
            "if it were the only one. Set SWITCHBOARD_REDIS_URL to one for all, or run one process"
        )
    most = most_processes(service, settings)
    if count > most:
        raise ConfigurationError(
            f"worker {service} --processes {count}: its topics have {most} partitions, and a process without "
            f"one has no work. Run at most {most}, or give the topics more before they hold data "
            "(schemas/topics)"
        )
