"""Which fact index a process uses: a Qdrant server if a URL is set, else the embedded engine."""

from __future__ import annotations

from models.ports import FactIndex
from streams.adapters.qdrant_edge import QdrantEdgeIndex
from streams.settings import Settings

#: Folder of the embedded index, inside ``Settings.folder``.
EDGE_FOLDER = "qdrant"


def open_fact_index(settings: Settings, dimensions: int) -> FactIndex:
    """Return the index for vectors of ``dimensions``.

    The embedded one is opened here and now (0.3 s at 100,000 facts), so do it before joining a consumer
    group; a server is first spoken to by the first call.  Raises :class:`ConfigurationError` when another
    process owns the folder, or its contents cannot be read or have other dimensions.
    """
    if settings.qdrant_url:
        # Imported here because the client takes a second to load, which embedded mode need not pay.
        from streams.adapters.qdrant_server import QdrantServerIndex

        return QdrantServerIndex(
            settings.qdrant_url,
            settings.namespace.collection,
            dimensions=dimensions,
            api_key=settings.qdrant_api_key.get_secret_value(),
            ca_file=settings.qdrant_ssl_ca_file,
        )
    return QdrantEdgeIndex(settings.folder / EDGE_FOLDER, dimensions)
