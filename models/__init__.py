"""Domain types: the wire types, their ids, the errors and the ports.

Every value that crosses a topic is a frozen :mod:`msgspec` struct from this package; every thing that
lies outside the process (an embedder, a vector store, a language model) is a ``Protocol`` in
:mod:`models.ports`.  This package imports nothing from :mod:`processors` or :mod:`streams`.
"""
