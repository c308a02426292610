"""Choice of the index: a Qdrant server if a URL is set, else the embedded engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from models.index import SearchIndex, VectorSpace
from streams.config.settings import Settings
from streams.stores.index_dirs import EDGE_FOLDER
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import Kind

Item = TypeVar("Item", bound=msgspec.Struct)

__all__ = ["EDGE_FOLDER", "edge_folder", "open_index"]


def edge_folder(settings: Settings, kind: Kind[Any]) -> Path:
    """Return the folder of the embedded index of a kind."""
    return settings.folder / EDGE_FOLDER / kind.name


def open_index(
    settings: Settings,
    kind: Kind[Item],
    space: VectorSpace,
    *,
    patience: float = 0.0,
    folder: Path | None = None,
) -> SearchIndex[Item, Any]:
    """Return the index of a kind, for the vectors of ``space``; ``patience`` (seconds): how long a process that
    has the embedded one may keep it.  ``folder``: where the embedded ones are, if not at home.

    The embedded one is opened here and now (0.3 s at 100,000 facts), so do it before joining a consumer
    group; a server is first spoken to by the first call.  Raises :class:`ConfigurationError` when another
    process owns the folder, or its contents cannot be read or are of another kind, format or model.
    """
    if settings.qdrant_url:
        # Imported here because the client takes a second to load, which embedded mode need not pay.
        from streams.stores.qdrant_server import QdrantServerIndex

        return QdrantServerIndex(
            settings.qdrant_url,
            settings.namespace.collection(kind.name),
            kind,
            space,
            api_key=settings.qdrant_api_key.get_secret_value(),
            ca_file=settings.qdrant_ssl_ca_file,
        )
    place = edge_folder(settings, kind) if folder is None else folder / kind.name
    return QdrantEdgeIndex(place, kind, space, patience=patience)
