"""What readers ask: contexts, conversations, dead letters, erasures and live events.

Reads topics and views without a consumer group, and writes nothing but commands.  Each folder answers one kind
of question; :mod:`.services` reports on the processes that run.
"""
