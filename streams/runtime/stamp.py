"""Origin of a derived record: the headers ``sw_code`` and ``sw_config`` on every output of a stage.

A replay by the same code under the same settings writes the same records; where it writes others, these two
say why.  Copies of what came in (dead letters, records sent to the partition where they belong) and changelogs
carry none: :class:`streams.runtime.effects.Output` says which outputs are copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from streams.telemetry.version import code_version

#: Version and commit of the code that decided: ``0.1.0+7008eb1d5007``.
CODE = "sw_code"

#: A hash over what else decided: the settings and models that the stage names in ``Stage.decided_by``.
CONFIG = "sw_config"

Stamp = tuple[tuple[str, bytes], ...]


def stamp(decided_by: Mapping[str, Any]) -> Stamp:
    """Return the two headers of a stage; made once, they are the same for all its outputs."""
    return (CODE, code_version().encode()), (CONFIG, config_hash(decided_by).encode())


def config_hash(decided_by: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that differ where the values do; the order of the names is no difference."""
    return sha256(msgspec.json.encode(decided_by, order="sorted")).hexdigest()[:16]
