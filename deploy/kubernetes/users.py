"""The Kafka users of the Strimzi overlay, each with the least rights of its role.

``python -m deploy.kubernetes.users`` writes ``overlays/strimzi/users.yaml`` anew, from the files in
``schemas/topics``; with a topic prefix (``SWITCHBOARD_TOPIC_PREFIX``), for the names that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from streams.admin.topics.rights import Right, rights_of
from streams.clients.catalog import Catalog, catalog_for
from streams.config.settings import load_settings
from streams.config.settings.services import SERVICES

FILE = Path(__file__).parent / "overlays" / "strimzi" / "users.yaml"

#: Who runs in the cluster, or is asked for there: the services, `topics apply`, `token create`.
ROLES = (*SERVICES, "serve", "apply", "token")

_COMMENT = "# Written by `python -m deploy.kubernetes.users` from schemas/topics.\n"


def users(catalog: Catalog) -> list[dict[str, Any]]:
    """Return a KafkaUser for each role, and one for KEDA, which sees how far each group is behind."""
    made = [_user(role, rights_of(role, catalog)) for role in ROLES]
    looks = [
        Right(right.kind, right.name, "Describe")
        for service in SERVICES
        for right in rights_of(service, catalog)
        if right.operation == "Read"
    ]
    return [*made, _user("keda", looks)]


def rendered(catalog: Catalog) -> str:
    """Return the content of the file."""
    return _COMMENT + yaml.safe_dump_all(users(catalog), sort_keys=False, width=110, default_flow_style=None)


def _user(role: str, rights: Iterable[Right]) -> dict[str, Any]:
    operations: dict[tuple[str, str], list[str]] = {}
    for right in rights:
        wanted = operations.setdefault((right.kind, right.name), [])
        if right.operation not in wanted:
            wanted.append(right.operation)
    acls = [
        {"resource": {"type": kind, "name": name, "patternType": "literal"}, "operations": wanted}
        for (kind, name), wanted in operations.items()
    ]
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaUser",
        "metadata": {"name": f"switchboard-{role}", "labels": {"strimzi.io/cluster": "kafka"}},
        "spec": {
            "authentication": {"type": "scram-sha-512"},
            "authorization": {"type": "simple", "acls": acls},
        },
    }


if __name__ == "__main__":
    FILE.write_text(rendered(catalog_for(load_settings())), encoding="utf-8")
