"""Topic files of ``schemas/topics`` (:mod:`.catalog`), topics of the broker (:mod:`.cluster`,
:mod:`.admin`).
"""

from streams.topics.catalog import Catalog, TopicSpec, catalog_for, load_catalog

__all__ = ["Catalog", "TopicSpec", "catalog_for", "load_catalog"]
