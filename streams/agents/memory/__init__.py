"""The service ``memory``: windows become facts, vectors and summaries.

In the order of the flow: :mod:`.extraction`, :mod:`.facts`, :mod:`.index`, :mod:`.embedding`; :mod:`.summaries`
answers the requests of ``ingest``.
"""
