"""Topics: what ``schemas/topics`` says (:mod:`.catalog`) and what the broker has (:mod:`.admin`)."""

from streams.topics.catalog import Catalog, TopicSpec, load_catalog

__all__ = ["Catalog", "TopicSpec", "load_catalog"]
