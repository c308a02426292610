"""Where things are, who this process is, and where it listens."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import field_validator

from streams.config.namespace import GENERATION_RULE, is_generation, is_prefix
from streams.config.settings.access import AccessSettings
from streams.config.settings.text import setting

_HOST_PORT = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$")


#: The name of a pod (RFC 1123).
_POD = re.compile(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")


def _data_dir() -> Path:
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "switchboard"


def _instance_id() -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:100] or "local"


class PlaceSettings(AccessSettings):
    """Addresses, folders and names.  Read with the other settings, as part of ``Settings``."""

    # Where things are
    bootstrap_servers: str = setting("127.0.0.1:9092", "Kafka brokers", allowed="host:port[,host:port...]")
    redis_url: str = setting(
        "",
        "Redis or Valkey; empty: the recall service starts a Valkey of its own",
        allowed="redis://, rediss:// or unix:// URL, or empty",
        pattern=r"^(|(rediss?|unix)://.+)$",
        repr=False,
    )
    qdrant_url: str = setting(
        "",
        "Qdrant server, 1.16 or newer; empty: embedded, in the data folder",
        allowed="http:// or https:// URL, or empty",
        pattern=r"^(|https?://.+)$",
        repr=False,
    )
    data_dir: Path = setting(
        _data_dir,
        "folder of the embedded Qdrant and of what else is kept locally; each prefix has a folder in it",
        allowed="path",
    )
    topic_prefix: str = setting(
        "",
        "put before the name of every topic, consumer group, collection, local folder and Redis key: "
        "deployments that differ in it share a broker, a Qdrant and a machine and see nothing of each other",
        allowed="up to 60 letters, digits, '.', '_' and '-'",
        pattern=r"^[A-Za-z0-9._-]{0,60}$",
    )
    generation: str = setting(
        "",
        "the generation of this process; empty: the live one. Another one reads the same messages and commands "
        "and has its own consumer groups, derived topics, changelogs, collections, folder and Redis keys; "
        "switchboard replay starts one",
        allowed="1 to 20 lowercase letters, digits and '-', not named like a topic or a service, or empty",
    )
    partitions: str = setting(
        "",
        "partitions of topics that exist already with another number than schemas/topics says; those that are "
        "read together with them follow",
        allowed="topic=number[,topic=number...], without the prefix, or empty",
        pattern=r"^\s*(|[A-Za-z0-9._-]+=[1-9]\d{0,4}(\s*,\s*[A-Za-z0-9._-]+=[1-9]\d{0,4})*)\s*$",
    )
    replication_factor: int = setting(1, "copies of each topic that is created", "brokers", ge=1, le=32)

    # Who this process is, and where it listens
    instance_id: str = setting(
        _instance_id,
        "names this process: its consumer group knows it as <service>-<instance_id>-<hash of its topics>; "
        "two workers of one service on one host need different ones (--processes adds -0, -1, ...), and in "
        "Kubernetes it is the name of the pod",
        allowed="1 to 100 letters, digits, '.', '_' and '-'",
        pattern=r"^[A-Za-z0-9._-]{1,100}$",
    )
    kubernetes_namespace: str = setting(
        "",
        "Kubernetes namespace of this process, by metadata.namespace; by it `switchboard doctor` finds workers "
        "of two namespaces in one consumer group",
        allowed="a name of a namespace, or empty outside of Kubernetes",
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$",
    )
    api_host: str = setting(
        "127.0.0.1",
        "address the HTTP API and the metrics listen on",
        allowed="IP address or host name",
        pattern=r"^[A-Za-z0-9._:%-]+$",
    )
    api_port: int = setting(
        8371,
        "port of the HTTP API and the console, of switchboard serve (0: any free one)",
        "TCP port",
        ge=0,
        le=65535,
    )
    api_auth: Literal["on", "off"] = setting(
        "on",
        "on: the HTTP API wants a token, if there are any (switchboard token), and without one answers this "
        "machine only, for the default tenant only; off: something in front of it authenticates, so it ignores "
        "tokens, may listen elsewhere, and takes the tenant as given",
    )
    api_requests_per_second: float = setting(
        100.0, "requests of one token; twice as many at once", "requests/s", gt=0.0, le=100_000.0
    )
    chat_turns_at_once: int = setting(
        100,
        "turns of chats that one switchboard serve drives at once; a further one is answered 503, come again",
        "turns",
        ge=1,
        le=100_000,
    )
    api_hosts: str = setting(
        "",
        "names that the HTTP API answers to besides localhost and loopback addresses",
        allowed="name[,name...], or * for any",
        pattern=r"^(|[^\s/:@]+(\s*,\s*[^\s/:@]+)*)$",
    )
    metrics_port: int = setting(
        9464,
        "port of /metrics and health (0: any free one); 10 more for each further of --processes",
        "TCP port",
        ge=0,
        le=65535,
    )
    services: str = setting(
        "",
        "where the services answer /readyz and /metrics, for status, doctor and search; empty: as the workers' "
        "notes in the data folder say",
        allowed="service=host:port[,service=host:port...], or empty",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", "least severe log line shown")
    log_format: Literal["console", "json"] = setting("console", "how log lines look on stderr")

    @field_validator("topic_prefix")
    @classmethod
    def _check_prefix(cls, value: str) -> str:
        if not is_prefix(value):
            raise ValueError("names of a generation begin like this: choose another prefix")
        return value

    @field_validator("instance_id")
    @classmethod
    def _check_instance(cls, value: str) -> str:
        if "KUBERNETES_SERVICE_HOST" in os.environ and not _POD.match(value):
            raise ValueError(
                "no pod has this name (lowercase letters, digits, '-' and '.'): in Kubernetes take it from "
                "metadata.name, as deploy/kubernetes does, so that each pod has its own and keeps it"
            )
        return value

    @field_validator("generation")
    @classmethod
    def _check_generation(cls, value: str) -> str:
        if value and not is_generation(value):
            raise ValueError(GENERATION_RULE)
        return value

    @field_validator("bootstrap_servers")
    @classmethod
    def _check_servers(cls, value: str) -> str:
        servers = [server.strip() for server in value.split(",") if server.strip()]
        for server in servers:
            match = _HOST_PORT.match(server)
            if match is None or not 0 < int(match[2]) <= 65535:
                raise ValueError(f"{server!r} is not host:port (for example 127.0.0.1:9092)")
        if not servers:
            raise ValueError("at least one host:port is needed")
        return ",".join(servers)

    @field_validator("services")
    @classmethod
    def _check_services(cls, value: str) -> str:
        for entry in filter(None, map(str.strip, value.split(","))):
            _, equals, place = entry.partition("=")
            match = _HOST_PORT.match(place)
            if not equals or match is None or not 0 < int(match[2]) <= 65535:
                raise ValueError(f"{entry!r} is not service=host:port (for example ingest=127.0.0.1:9464)")
        return value

    # Those of models are declared further down the line of classes.
    @field_validator("redis_url", "qdrant_url", "model_url", "embedding_url", check_fields=False)
    @classmethod
    def _check_url(cls, value: str) -> str:
        """Refuse what would be read as another host: a client's error would repeat half of the password."""
        try:
            parts = urlsplit(value)
            readable = (parts.port is None or parts.port > 0) and "@" not in parts.path + parts.query
        except ValueError:
            readable = False
        if not readable:
            raise ValueError(
                "write '/', '?', '#', ':' and '@' in a user or password as %2F, %3F, %23, %3A and %40"
            )
        return value

    @field_validator("data_dir")
    @classmethod
    def _expand(cls, value: Path) -> Path:
        return value.expanduser().absolute()
