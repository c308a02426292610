"""The service ``memory``: windows become facts and summaries.  It writes what is true.

In the order of the flow: :mod:`.extraction`, :mod:`.facts`, which makes those one that say the same
(:mod:`.consolidating`), asking :mod:`.merge_validation` where it cannot tell; :mod:`.commands` hands on what
somebody wants; :mod:`.summaries` answers the requests of ``ingest``.
"""
