"""Conversations as people ask for them: listed, looked at around a match, followed and exported.

Begin with :mod:`~streams.queries.conversations.listing`; :mod:`~streams.queries.conversations.states` reads
what ingest remembers of them, :mod:`~streams.queries.conversations.unread` what nobody has read.  How messages
become windows and token tables is decided in :mod:`processors.conversations`.
"""
