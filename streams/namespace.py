"""Names of a deployment: another ``SWITCHBOARD_TOPIC_PREFIX`` changes all of them.

Topics and changelogs, consumer groups, the collection on a Qdrant server, the folder of what is kept locally,
and keys in Redis: two prefixes on one machine, one broker and one server see nothing of each other.  Whoever
names something that outlives a process asks here.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

#: Of a request to the HTTP API: the topic prefix of the deployment that is meant; another one refuses then.
PREFIX_HEADER = "switchboard-topic-prefix"


class Namespace(NamedTuple):
    """The names of one deployment.  ``prefix`` is empty, or of letters, digits, ``.``, ``_`` and ``-``."""

    prefix: str = ""

    def topic(self, contract_name: str) -> str:
        """Return the name on the broker of a topic or changelog."""
        return self.prefix + contract_name

    def group(self, service: str) -> str:
        """Return the consumer group (and Faust app id) of ``service``: ``switchboard-ingest``, prefixed."""
        return f"{self.prefix}switchboard-{service}"

    def collection(self, kind: str) -> str:
        """Return the collection of ``facts``, ``turns`` and so on, on a Qdrant server."""
        return f"{self.prefix}switchboard_{kind}"

    def folder(self, data_dir: Path) -> Path:
        """Return the folder inside ``data_dir`` for what is kept locally: itself, unless a prefix is set."""
        # "=" is in no prefix, so no name in one folder is that of another; nor is ".." ever a folder here.
        return data_dir / f"prefix={self.prefix}" if self.prefix else data_dir

    def redis_key(self, *parts: str) -> str:
        """Return a key in Redis: ``switchboard:context:ada``, prefixed.  A prefix holds no colon."""
        return ":".join((f"{self.prefix}switchboard", *parts))
