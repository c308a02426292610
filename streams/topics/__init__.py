"""What ``schemas/topics`` says (:mod:`.catalog`), what the broker has (:mod:`.cluster`, :mod:`.admin`)."""

from streams.topics.catalog import Catalog, TopicSpec, catalog_for, load_catalog

__all__ = ["Catalog", "TopicSpec", "catalog_for", "load_catalog"]
