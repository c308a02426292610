"""Names of a deployment and of its generations.

Topics and changelogs, consumer groups, the collection on a Qdrant server, the folder of what is kept locally,
and keys in Redis are named here, and nowhere else.  Another ``SWITCHBOARD_TOPIC_PREFIX`` changes all of them:
two prefixes on one machine, one broker and one server see nothing of each other.  Another
``SWITCHBOARD_GENERATION`` changes the names of what the services make of the log (derived names).  What they
make it of, and what every generation must see, has one name for all (shared names).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

#: Of a request to the HTTP API: the topic prefix of the deployment that is meant; another one refuses then.
PREFIX_HEADER = "switchboard-topic-prefix"

#: Words that no generation may be called: domains of topics, services, and the word for no generation.
RESERVED = frozenset(
    {
        "access",
        "chat",
        "memory",
        "models",
        "respond",
        "webhooks",
        "ingest",
        "recall",
        "serve",
        "switchboard",
        "live",
    }
)

GENERATION_RULE = (
    "a generation has 1 to 20 lowercase letters, digits and dashes, begins with a letter or digit, and is not "
    "named like a topic, a domain of topics or a service"
)

_GENERATION = re.compile(r"[a-z0-9][a-z0-9-]{0,19}")
_ENDS_AS_GENERATION = re.compile(r"generation-[a-z0-9][a-z0-9-]{0,19}\.$")


def is_generation(name: str) -> bool:
    """Return whether a generation may be called ``name`` (:data:`GENERATION_RULE`)."""
    # A topic's name has dots, so the pattern refuses it.
    return _GENERATION.fullmatch(name) is not None and name not in RESERVED


def is_prefix(prefix: str) -> bool:
    """Return whether a deployment may have ``prefix``: not one that ends like the names of a generation."""
    return _ENDS_AS_GENERATION.search(prefix) is None


class Namespace(NamedTuple):
    """The names of one generation of one deployment.

    ``prefix`` is empty, or of letters, digits, ``.``, ``_`` and ``-``.  ``generation`` is empty (live), or a
    name that :func:`is_generation` allows.
    """

    prefix: str = ""
    generation: str = ""

    @property
    def live(self) -> Namespace:
        """The names of the live generation, which are also the shared ones."""
        return Namespace(self.prefix)

    @property
    def own(self) -> str:
        """Prefix of derived names: ``generation-b.``, prefixed; live: the prefix."""
        return f"{self.prefix}generation-{self.generation}." if self.generation else self.prefix

    def topic(self, contract_name: str, *, shared: bool = False) -> str:
        """Return the name on the broker of a topic or changelog; ``shared``: the same in all generations."""
        return (self.prefix if shared else self.own) + contract_name

    def generation_of(self, topic: str, contract_name: str) -> str:
        """Return the generation of this deployment whose ``contract_name`` is ``topic``, or ``""``."""
        begins = f"{self.prefix}generation-"
        if not topic.startswith(begins) or not topic.endswith(f".{contract_name}"):
            return ""
        name = topic[len(begins) : -len(contract_name) - 1]
        return name if is_generation(name) else ""

    def group(self, service: str) -> str:
        """Return the consumer group (and Faust app id) of ``service``: ``switchboard-ingest``, prefixed."""
        return f"{self.own}switchboard-{service}"

    def collection(self, kind: str) -> str:
        """Return the collection of ``facts``, ``turns`` and so on, on a Qdrant server."""
        return f"{self.own}switchboard_{kind}"

    def folder(self, data_dir: Path) -> Path:
        """Return the folder inside ``data_dir`` for what is kept locally: itself, unless a prefix is set.

        A generation has a folder in that of its deployment.
        """
        # "=" is in no prefix, so no name in one folder is that of another; nor is ".." ever a folder here.
        folder = data_dir / f"prefix={self.prefix}" if self.prefix else data_dir
        return folder / f"generation={self.generation}" if self.generation else folder

    def redis_key(self, *parts: str) -> str:
        """Return a key in Redis: ``switchboard:context:ada``, prefixed.  A prefix holds no colon."""
        return ":".join((f"{self.own}switchboard", *parts))
