"""One topic of the catalog: how its records are keyed and routed, and how the broker keeps them.

How long a record lives: the broker deletes and compacts whole segments, and never the one that is being
written, so ``segment.ms`` bounds by how much a promise is overrun.  ``retention_ms`` is kept to within a tenth
of itself, at most a week (:attr:`TopicSpec.segment_ms`): "1 day" is at most 1 day and 2.4 hours, "30 days" at
most 33 days.  In a compacted topic ``max_compaction_lag_ms`` says after how long a value that was replaced or
erased is gone; a partition's newest segment is closed by the next record that arrives after that time, so what
was erased in a partition that nobody writes to again stays until somebody does.  The broker looks every five
minutes (``log.retention.check.interval.ms``) and removes files a minute later.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec

DEFAULT_PARTITIONS = 8
DEFAULT_SEGMENT_BYTES = 128 * 1024 * 1024

#: By how much of its retention a record may outlive it, and the longest that this may be.
RETENTION_TOLERANCE = 0.1
LONGEST_SEGMENT_MS = 7 * 24 * 3_600_000

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_TopicName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class TopicSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One topic: names, how records are keyed and routed, and how the broker keeps them.

    ``key`` is the field that a record's key holds (``kind/id``: two, joined by a slash), ``routed_by`` the one
    whose murmur2 hash picks its partition.  ``writers`` are those who write it besides its owner,
    ``looked_up_by`` those who look things up in it outside of their consumer group.  ``type`` is
    the dotted path of the value's struct and ``event_type`` the CloudEvents type, both ``""`` where values are
    not ours to describe (dead letters, changelogs).  ``shared``: one topic for all
    generations.  ``digest_key`` are the fields that distinguish its records
    where the key does not (in a topic that is not compacted), and ``digest_ignores`` says in which fields two
    topics may differ that say the same, and why (:mod:`streams.admin.topics.digests`): ``messages.offset`` is
    that field of each of the messages.  Times in milliseconds, sizes in bytes; ``None`` leaves the broker's
    default.
    """

    name: _TopicName
    contract_name: str = ""
    description: str
    owner: str
    writers: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    looked_up_by: tuple[str, ...] = ()
    key: str
    routed_by: str
    partitions: _Positive = DEFAULT_PARTITIONS
    co_partitioned_with: tuple[str, ...] = ()
    cleanup_policy: Literal["delete", "compact", "compact,delete"] = "delete"
    retention_ms: _Positive | None = None
    max_message_bytes: _Positive = 1_048_576
    min_compaction_lag_ms: _Positive | None = None
    max_compaction_lag_ms: _Positive | None = None
    delete_retention_ms: _Positive | None = None
    segment_bytes: _Positive = DEFAULT_SEGMENT_BYTES
    dead_letter: bool = False
    dead_letter_of: str = ""
    shared: bool = False
    type: str = ""
    event_type: str = ""
    schema: str = ""
    examples: str = ""
    digest_key: tuple[str, ...] = ()
    digest_ignores: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields whose values, joined by a slash, are a record's key."""
        return tuple(self.key.split("/"))

    @property
    def is_changelog(self) -> bool:
        """True for the changelog of a stage's table."""
        return self.contract_name.endswith("-changelog")

    @property
    def is_compacted(self) -> bool:
        """True if of each key the latest record is kept, if not for ever, and a tombstone erases."""
        return self.cleanup_policy != "delete"

    @property
    def segment_ms(self) -> int | None:
        """After how long a segment is closed, so that retention is overrun by no more; ``None``: not by time.

        A compacted topic needs none: the broker closes its segments by ``max.compaction.lag.ms``.
        """
        if self.cleanup_policy == "compact" or self.retention_ms is None:
            return None
        return max(1, min(int(self.retention_ms * RETENTION_TOLERANCE), LONGEST_SEGMENT_MS))

    def gone_by(self, now: datetime) -> datetime | None:
        """Return when the files hold nothing of what is erased now; ``None``: the broker's default decides.

        A compacted topic is rewritten by then, or with its next record.
        """
        if self.is_compacted:
            return now + timedelta(milliseconds=self.max_compaction_lag_ms or 0)
        if self.retention_ms is None:
            return None
        return now + timedelta(milliseconds=self.retention_ms + (self.segment_ms or 0))

    @property
    def config(self) -> dict[str, str]:
        """The topic's configuration on the broker, in Kafka's names, without :func:`min_insync_replicas`.

        Records carry the time of their arrival (``LogAppendTime``): retention and the compaction lag must
        not depend on a producer's clock, nor on the age of the history that somebody sends in.
        """
        entries = {
            "cleanup.policy": self.cleanup_policy,
            "max.message.bytes": self.max_message_bytes,
            "message.timestamp.type": "LogAppendTime",
            "retention.ms": self.retention_ms,
            "segment.ms": self.segment_ms,
            "min.compaction.lag.ms": self.min_compaction_lag_ms,
            "max.compaction.lag.ms": self.max_compaction_lag_ms,
            "delete.retention.ms": self.delete_retention_ms,
            "segment.bytes": self.segment_bytes,
        }
        return {name: str(value) for name, value in entries.items() if value is not None}


def min_insync_replicas(replicas: int) -> int:
    """Return how many of a topic's ``replicas`` must have a write before it is confirmed.

    Of three, two: what was confirmed survives any one broker, and one broker may be away without writers
    having to wait.  Of two only one, since with two any restart of a broker would stop the writers.
    """
    return 2 if replicas >= 3 else 1
