"""Views: Qdrant and Redis behind the ports of :mod:`models.ports`, and the search over both.

Begin with :mod:`.index_factory` and :mod:`.log_factory`, which open what the settings name;
:mod:`~streams.stores.search` ranks what they find, :mod:`~streams.stores.remembered` opens all of it for
readers.
"""
