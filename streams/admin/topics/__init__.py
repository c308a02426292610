"""Topic files of ``schemas/topics`` (:mod:`~streams.clients.catalog`), topics of the broker (:mod:`.cluster`,
:mod:`.admin`).
"""
