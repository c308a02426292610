"""The service ``memory``: windows become facts and summaries.  It writes what is true.

In the order of the flow: :mod:`.extraction`, :mod:`.facts`; :mod:`.summaries` answers the requests of
``ingest``.
"""
