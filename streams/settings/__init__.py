"""Every setting, with its default, its limits, its unit and what it does.

A setting is an environment variable ``SWITCHBOARD_<NAME>`` (and ``GEMINI_API_KEY``).  The defaults work on
one machine.  :func:`load_settings` reads and checks them once, at start; ``switchboard settings`` prints
what :func:`describe` returns.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from pydantic import ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from models.errors import ConfigurationError
from models.patterns import compiled
from models.statements import Kind
from streams.namespace import Namespace
from streams.settings.access import AccessSettings
from streams.settings.text import (
    PREFIX,
    SettingRow,
    describe,
    env_name,
    explain,
    keep_secrets,
    unknown_variables,
)
from streams.settings.text import setting as _setting

__all__ = ["SettingRow", "Settings", "describe", "load_settings"]

#: Bytes of content that one window may hold.  JSON at most doubles text without control characters, and
#: ``memory.windows.v1`` takes records of 2 MiB.
WINDOW_CONTENT_BYTES = 1_000_000

#: Broker default of ``group.min.session.timeout.ms``: a shorter session is refused when joining.
_SHORTEST_SESSION_SECONDS = 6.0

_HOST_PORT = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$")


def _data_dir() -> Path:
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "switchboard"


def _patterns(value: str) -> list[str]:
    """Return the texts of a JSON list of texts; of an empty text none."""
    try:
        found = msgspec.json.decode(value, type=list[str]) if value.strip() else []
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f'it must be a JSON list of texts, such as ["EMP-[0-9]{{6}}"]: {error}'
        ) from error
    return found


def _instance_id() -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:100] or "local"


class Settings(AccessSettings):
    """All settings.  Durations are seconds unless the name says otherwise; sizes are bytes."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="forbid",
        env_ignore_empty=True,
        populate_by_name=True,
        allow_inf_nan=False,
    )

    # Where things are
    bootstrap_servers: str = _setting("127.0.0.1:9092", "Kafka brokers", allowed="host:port[,host:port...]")
    redis_url: str = _setting(
        "",
        "Redis or Valkey; empty: the recall service starts a Valkey of its own",
        allowed="redis://, rediss:// or unix:// URL, or empty",
        pattern=r"^(|(rediss?|unix)://.+)$",
        repr=False,
    )
    qdrant_url: str = _setting(
        "",
        "Qdrant server; empty: embedded, in the data folder",
        allowed="http:// or https:// URL, or empty",
        pattern=r"^(|https?://.+)$",
        repr=False,
    )
    data_dir: Path = _setting(
        _data_dir,
        "folder of the embedded Qdrant and of what else is kept locally; each prefix has a folder in it",
        allowed="path",
    )
    topic_prefix: str = _setting(
        "",
        "put before the name of every topic, consumer group, collection, local folder and Redis key: "
        "deployments that differ in it share a broker, a Qdrant and a machine and see nothing of each other",
        allowed="up to 60 letters, digits, '.', '_' and '-'",
        pattern=r"^[A-Za-z0-9._-]{0,60}$",
    )
    partitions: str = _setting(
        "",
        "partitions of topics that exist already with another number than schemas/topics says; those that are "
        "read together with them follow",
        allowed="topic=number[,topic=number...], without the prefix, or empty",
        pattern=r"^\s*(|[A-Za-z0-9._-]+=[1-9]\d{0,4}(\s*,\s*[A-Za-z0-9._-]+=[1-9]\d{0,4})*)\s*$",
    )
    replication_factor: int = _setting(1, "copies of each topic that is created", "brokers", ge=1, le=32)

    # Who this process is, and where it listens
    instance_id: str = _setting(
        _instance_id,
        "names this process: the static member <service>-<instance_id> of its consumer group; "
        "two workers of one service on one host need different ones (--processes adds -0, -1, ...)",
        allowed="1 to 100 letters, digits, '.', '_' and '-'",
        pattern=r"^[A-Za-z0-9._-]{1,100}$",
    )
    api_host: str = _setting(
        "127.0.0.1",
        "address the HTTP API and the metrics listen on",
        allowed="IP address or host name",
        pattern=r"^[A-Za-z0-9._:%-]+$",
    )
    api_port: int = _setting(
        8371,
        "port of the HTTP API (0: any free one); 10 more for each further of --processes",
        "TCP port",
        ge=0,
        le=65535,
    )
    api_auth: Literal["on", "off"] = _setting(
        "on",
        "on: the HTTP API answers this machine only, for the default tenant only; off: something in front of "
        "it authenticates, so it may listen elsewhere and takes the tenant as given",
    )
    api_hosts: str = _setting(
        "",
        "names that the HTTP API answers to besides localhost and loopback addresses",
        allowed="name[,name...], or * for any",
        pattern=r"^(|[^\s/:@]+(\s*,\s*[^\s/:@]+)*)$",
    )
    metrics_port: int = _setting(
        9464,
        "port of /metrics and health (0: any free one); 10 more for each further of --processes",
        "TCP port",
        ge=0,
        le=65535,
    )
    services: str = _setting(
        "",
        "where the services answer /readyz and /metrics, for status, doctor and search; empty: as the workers' "
        "notes in the data folder say",
        allowed="service=host:port[,service=host:port...], or empty",
    )
    log_level: Literal["debug", "info", "warning", "error"] = _setting("info", "least severe log line shown")
    log_format: Literal["console", "json"] = _setting("console", "how log lines look on stderr")

    # Windows (ingest)
    window_size: int = _setting(10, "messages in a window", "messages", ge=2, le=100)
    window_overlap: int = _setting(
        3, "messages that a window repeats from the one before", "messages", ge=0, le=99
    )
    idle_seconds: float = _setting(
        900.0, "silence, by sent_at or by arrival, after which a conversation's rest is flushed", "s", gt=0
    )
    conversation_forget_days: float = _setting(
        90.0,
        "silence after which a conversation's state goes; what is said then begins it anew",
        "days",
        gt=0,
    )
    tick_seconds: float = _setting(1.0, "how often silent conversations are looked for", "s", gt=0, le=60)
    max_content_bytes: int = _setting(
        65_536, "longest message content, as UTF-8; longer ones are dead-lettered", "bytes", ge=1, le=500_000
    )
    recent_message_ids: int = _setting(
        64, "message ids a conversation remembers to tell a producer's retry", "ids", ge=1, le=10_000
    )

    # Token table and summaries
    token_threshold: int = _setting(
        1200, "unsummarized tokens above which a summary is requested", "tokens", ge=1, le=1_000_000
    )
    summary_retry_seconds: float = _setting(
        60.0, "how long a summary request stays unanswered before it is sent again", "s", gt=0
    )

    # Turns (recall)
    mask: Literal["on", "off"] = _setting(
        "on",
        "on: card numbers, keys and tokens are masked before a turn is stored or searched; off: nothing is",
    )
    mask_patterns: str = _setting(
        "",
        'what else is masked: regular expressions (RE2 syntax), such as ["EMP-[0-9]{6}"]',
        allowed="JSON list of texts, or empty",
    )
    turn_retention_days: float = _setting(
        365.0,
        "how long memory.turns.v1 keeps a turn, from which the conversation log is filled again; "
        "`topics apply` sets it",
        "days",
        ge=1,
        le=36_500,
    )

    turn_log_days: float = _setting(
        30.0,
        "how long Redis keeps a conversation's log after its latest message (0: for ever); windows of older "
        "ones are read from memory.turns.v1",
        "days",
        ge=0,
        le=36_500,
    )

    # Facts (recall): how fast they fade.  Allergies and constraints do not.
    decay_event_per_day: float = _setting(
        0.01, "how fast an event fades since it was last said", "1/d", ge=0, le=1
    )
    decay_instruction_per_day: float = _setting(0.0, "how fast an instruction fades", "1/d", ge=0, le=1)
    decay_preference_per_day: float = _setting(0.01, "how fast a preference fades", "1/d", ge=0, le=1)
    decay_profile_per_day: float = _setting(0.01, "how fast a person's profile fades", "1/d", ge=0, le=1)
    decay_state_per_day: float = _setting(
        0.01, "how fast a state (home, employer, pets) fades; not: allergy, constraint", "1/d", ge=0, le=1
    )

    # Response filter (respond)
    content_similarity_threshold: float = _setting(
        0.85, "similarity from which a sentence is a duplicate; 1: no content filtering", "ratio", ge=0, le=1
    )
    duplicate_window_sentences: int = _setting(
        50, "earlier sentences that a new one is compared with", "sentences", ge=1, le=10_000
    )
    max_hold_ms: int = _setting(
        500, "longest that text which may become similar is held back (fuzzy: on)", "ms", ge=0, le=60_000
    )
    max_repeat_hold_ms: int = _setting(
        10_000,
        "longest that a sentence or line which repeats a passage is held back, with what came before it",
        "ms",
        ge=0,
        le=60_000,
    )
    response_fuzzy: Literal["off", "on"] = _setting(
        "off", "on: take out what is similar, too; off: what repeats word for word only"
    )
    response_idle_seconds: float = _setting(60.0, "silence after which a response is closed", "s", gt=0)
    response_memory: Literal["response", "conversation"] = _setting(
        "response", "what a sentence is compared with: its own response, or the whole conversation"
    )
    response_memory_seconds: float = _setting(
        86_400.0, "how long a conversation remembers what was said in it (memory: conversation)", "s", gt=0
    )

    # Runtime: batches and flow
    auto_offset_reset: Literal["earliest", "latest"] = _setting(
        "earliest", "where a group starts in a partition that it never committed"
    )
    batch_records: int = _setting(
        4000, "most records in one batch of a stage (ingest: four times that)", "records", ge=1, le=100_000
    )
    step_bytes: int = _setting(
        8_000_000, "most bytes of records in one batch of a stage; one record may be larger", "bytes", ge=1
    )
    unacked_bytes: int = _setting(
        8_000_000,
        "bytes of one topic's records in unconfirmed batches above which no more of it is read for now",
        "bytes",
        ge=1,
    )
    batch_bytes: int = _setting(
        1_000_000, "most bytes packed into one produce request per partition", "bytes", ge=16_384, le=1_048_576
    )
    max_batch_uncompressed_bytes: int = _setting(
        64 << 20,
        "largest batch, decompressed, that is read; one that is larger goes to the dead-letter queue as it is",
        "bytes",
        ge=1 << 20,
        le=1 << 30,
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = _setting(
        "none", "how what the services write is compressed; whoever reads the topics must know the codec"
    )
    call_batch_records: int = _setting(
        32, "most records in one batch of a stage that calls out", "records", ge=1, le=10_000
    )
    calls_in_flight: int = _setting(8, "calls a stage may have open at once", "calls", ge=1, le=1000)
    batches_in_flight: int = _setting(
        8, "batches a service may have unconfirmed at once", "batches", ge=1, le=1000
    )
    fetch_max_wait_ms: int = _setting(50, "longest the broker waits to fill a fetch", "ms", ge=1, le=30_000)
    commit_interval_seconds: float = _setting(1.0, "how often offsets are committed", "s", gt=0, le=60)

    # Runtime: patience
    session_timeout_seconds: float = _setting(
        10.0,
        "silence after which the group gives a worker's partitions away",
        "s",
        ge=_SHORTEST_SESSION_SECONDS,
        le=1800,
    )
    heartbeat_seconds: float = _setting(3.0, "how often a worker tells its group that it lives", "s", gt=0)
    request_timeout_seconds: float = _setting(30.0, "longest wait for an answer of the broker", "s", ge=1)
    step_timeout_seconds: float = _setting(60.0, "longest that one call of a stage may take", "s", gt=0)
    hang_timeout_seconds: float = _setting(
        120.0, "no progress for this long, with work at hand: the worker stops", "s", gt=0
    )
    shutdown_timeout_seconds: float = _setting(25.0, "longest that a clean stop may take", "s", gt=0, le=300)
    retry_min_seconds: float = _setting(0.2, "first wait before a failed call is repeated", "s", gt=0)
    retry_max_seconds: float = _setting(30.0, "longest wait between repeats", "s", gt=0)

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

    @field_validator("mask_patterns")
    @classmethod
    def _check_patterns(cls, value: str) -> str:
        try:
            compiled(_patterns(value))
        except ConfigurationError as error:
            raise ValueError(str(error)) from error
        return value

    @field_validator("redis_url", "qdrant_url")
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

    @field_validator(
        "api_auth",
        "mask",
        "log_level",
        "log_format",
        "auto_offset_reset",
        "response_memory",
        "response_fuzzy",
        "compression",
        mode="before",
    )
    @classmethod
    def _fold_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("data_dir")
    @classmethod
    def _expand(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        for small, large, relation in (
            ("window_overlap", "window_size", "below"),
            ("heartbeat_seconds", "session_timeout_seconds", "below"),
            ("commit_interval_seconds", "shutdown_timeout_seconds", "below"),
            ("step_timeout_seconds", "hang_timeout_seconds", "below"),
            ("retry_min_seconds", "retry_max_seconds", "at most"),
        ):
            low, high = getattr(self, small), getattr(self, large)
            if low > high or (relation == "below" and low == high):
                wrong = f"{env_name(small)}={low:g} must be {relation} {env_name(large)}={high:g}"
                raise ValueError(f"{wrong}: change one of them")
        for name, scheme in (("qdrant", "https://"), ("redis", "rediss://")):
            if getattr(self, f"{name}_ssl_ca_file") and not getattr(self, f"{name}_url").startswith(scheme):
                raise ValueError(
                    f"{env_name(f'{name}_ssl_ca_file')} is set, but {env_name(f'{name}_url')} does not begin "
                    f"with {scheme}, so no TLS is used"
                )
        if self.idle_seconds > self.conversation_forget_days * 86_400:
            raise ValueError(
                f"{env_name('idle_seconds')}={self.idle_seconds:g} (seconds) must be at most "
                f"{env_name('conversation_forget_days')}={self.conversation_forget_days:g} (days): "
                "change one of them"
            )
        if self.window_size * self.max_content_bytes > WINDOW_CONTENT_BYTES:
            raise ValueError(
                f"{env_name('window_size')}={self.window_size} messages of "
                f"{env_name('max_content_bytes')}={self.max_content_bytes} may exceed the "
                f"{WINDOW_CONTENT_BYTES:,} bytes of content that fit into one window record: lower one of them"
            )
        return self

    def chosen(self, *names: str) -> dict[str, object]:
        """Return the values of these settings by name."""
        return {name: getattr(self, name) for name in names}

    @property
    def own_patterns(self) -> list[str]:
        """The regular expressions of ``mask_patterns``."""
        return _patterns(self.mask_patterns)

    @property
    def namespace(self) -> Namespace:
        """The names of what is this deployment's own."""
        return Namespace(self.topic_prefix)

    @property
    def folder(self) -> Path:
        """Where this deployment keeps what is local; inside ``data_dir``, which deployments may share."""
        return self.namespace.folder(self.data_dir)

    @property
    def decay_rates(self) -> Mapping[Kind, float]:
        """How fast facts fade, per day, by kind."""
        return {kind: float(getattr(self, f"decay_{kind.value}_per_day")) for kind in Kind}

    def group(self, service: str) -> str:
        """Return the consumer group (and Faust app id) of ``service``; see :class:`Namespace`."""
        return self.namespace.group(service)

    def static_member(self, service: str) -> str:
        """Return the static membership id (``group.instance.id``) of ``service`` in this process."""
        return f"{service}-{self.instance_id}"


def load_settings(**overrides: Any) -> Settings:
    """Read the environment, check it, and return the settings (``overrides`` win over it).

    Raises :class:`ConfigurationError`, whose text names every variable that is wrong, its value and what
    is allowed, and every ``SWITCHBOARD_`` variable that no setting has (a typo would go unnoticed).
    """
    problems = unknown_variables(os.environ, Settings.model_fields)
    settings = None
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        problems += [explain(detail, Settings.model_fields) for detail in error.errors()]
    if settings is None or problems:
        # Not chained: the library's error repeats the values, secrets among them.
        raise ConfigurationError("\n".join(["the settings are wrong:", *(f"  {line}" for line in problems)]))
    keep_secrets(getattr(settings, name) for name in Settings.model_fields)
    return settings
