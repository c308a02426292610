"""Services, and the ports on which their processes answer."""

from __future__ import annotations

from streams.config.settings import Settings

#: The services, in the order in which a message passes them.
SERVICES = ("ingest", "memory", "recall", "respond")

#: Those that every generation has of its own: what people are shown, and who answers them, is one for all.
REPLAYED = ("ingest", "memory", "recall")

#: Distance of a service's default port from the setting's default, so that all run on one machine.
_PORT_STEPS = {"ingest": 0, "memory": 1, "recall": 2, "respond": 3, "serve": 4, "webhooks": 5}

#: From one process of a service to the next; the services' own default ports lie closer together.
PORT_STEP = 10


def health_port(settings: Settings, service: str) -> int:
    """Return the port of ``service``: the one that is set, or its own default (9464 to 9469)."""
    if "metrics_port" in settings.model_fields_set:
        return settings.metrics_port
    return settings.metrics_port + _PORT_STEPS.get(service, 0)


def port_of(first: int, index: int) -> int:
    """Return the port of process ``index`` where that of process 0 is ``first`` (0: any free one)."""
    return first + PORT_STEP * index if first else 0
