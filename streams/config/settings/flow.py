"""How the runtime reads, batches, waits and gives up."""

from __future__ import annotations

from typing import Literal

from streams.config.settings.models import ModelSettings
from streams.config.settings.text import setting

#: Broker default of ``group.min.session.timeout.ms``: a shorter session is refused when joining.
_SHORTEST_SESSION_SECONDS = 6.0


class FlowSettings(ModelSettings):
    """Batches, flow and patience of the runtime.  Read with the other settings, as part of ``Settings``."""

    # Runtime: batches and flow
    auto_offset_reset: Literal["earliest", "latest"] = setting(
        "earliest", "where a group starts in a partition that it never committed"
    )
    batch_records: int = setting(
        4000, "most records in one batch of a stage (ingest: four times that)", "records", ge=1, le=100_000
    )
    step_bytes: int = setting(
        8_000_000, "most bytes of records in one batch of a stage; one record may be larger", "bytes", ge=1
    )
    unacked_bytes: int = setting(
        8_000_000,
        "bytes of one topic's records in unconfirmed batches above which no more of it is read for now",
        "bytes",
        ge=1,
    )
    ahead_records: int = setting(
        2_000,
        "records of a partition, beyond what is committed, among which a stage that calls a model looks for "
        "tenants that wait behind another",
        "records",
        ge=1,
        le=1_000_000,
    )
    ahead_bytes: int = setting(32_000_000, "the same, in bytes of the topic", "bytes", ge=1)
    batch_bytes: int = setting(
        1_000_000, "most bytes packed into one produce request per partition", "bytes", ge=16_384, le=1_048_576
    )
    max_batch_uncompressed_bytes: int = setting(
        64 << 20,
        "largest batch, decompressed, that is read; one that is larger goes to the dead-letter queue as it is",
        "bytes",
        ge=1 << 20,
        le=1 << 30,
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = setting(
        "none", "how what the services write is compressed; whoever reads the topics must know the codec"
    )
    call_batch_records: int = setting(
        32, "most records in one batch of a stage that calls out", "records", ge=1, le=10_000
    )
    calls_in_flight: int = setting(8, "calls a stage may have open at once", "calls", ge=1, le=1000)
    batches_in_flight: int = setting(
        8, "batches a service may have unconfirmed at once", "batches", ge=1, le=1000
    )
    state_memory_mb: int = setting(
        1024,
        "memory that the state of a worker process may take; beyond it, the values used longest ago move to "
        "files in the data folder",
        "MB",
        ge=1,
        le=1_000_000,
    )
    max_rate: float = setting(
        0.0,
        "messages, chunks and commands that a worker takes at most; 0: as many as it can. For a replay beside "
        "the live services",
        "records/s",
        ge=0.0,
        le=1_000_000,
    )
    fetch_max_wait_ms: int = setting(
        50,
        "longest that a fetch waits at the broker for a record; 500 when there was none for 2 s",
        "ms",
        ge=1,
        le=30_000,
    )
    commit_interval_seconds: float = setting(1.0, "how often offsets are committed", "s", gt=0, le=60)

    # Webhooks
    webhook_timeout_seconds: float = setting(15.0, "longest call of a webhook", "s", gt=0, le=300)
    webhook_private_addresses: Literal["refuse", "allow"] = setting(
        "refuse", "webhooks to addresses that are not public: this machine, private networks"
    )

    # Runtime: patience
    session_timeout_seconds: float = setting(
        10.0,
        "silence after which the group gives a worker's partitions away",
        "s",
        ge=_SHORTEST_SESSION_SECONDS,
        le=1800,
    )
    heartbeat_seconds: float = setting(3.0, "how often a worker tells its group that it lives", "s", gt=0)
    request_timeout_seconds: float = setting(30.0, "longest wait for an answer of the broker", "s", ge=1)
    step_timeout_seconds: float = setting(60.0, "longest that one call of a stage may take", "s", gt=0)
    hang_timeout_seconds: float = setting(
        120.0, "no progress for this long, with work at hand: the worker stops", "s", gt=0
    )
    shutdown_timeout_seconds: float = setting(25.0, "longest that a clean stop may take", "s", gt=0, le=300)
    retry_min_seconds: float = setting(0.2, "first wait before a failed call is repeated", "s", gt=0)
    retry_max_seconds: float = setting(30.0, "longest wait between repeats", "s", gt=0)
