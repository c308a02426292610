"""Several processes of one service on one machine: who each of them is, and where it answers.

Process ``i`` of ``N`` (0 to N-1) is the instance ``<instance id>-i`` and answers on the service's ports plus
``10 * i``: ``ingest`` on 9464, 9474, 9484, ..., so that it never meets ``memory`` (9465, 9475, ...).
"""

from __future__ import annotations

from dataclasses import dataclass

from models.errors import ConfigurationError
from streams.clients.catalog import catalog_for
from streams.config.settings import Settings, load_settings
from streams.config.settings.services import health_port, port_of


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
    most = catalog_for(settings).most_processes(service)
    if count > most:
        raise ConfigurationError(
            f"worker {service} --processes {count}: its topics have {most} partitions, and a process without "
            f"one has no work. Run at most {most}, or give the topics more before they hold data "
            "(schemas/topics)"
        )
