"""Conversations as people ask for them: listed, looked at around a match, followed and exported.

Begin with :mod:`~streams.conversations.listing`; :mod:`~streams.conversations.states` reads what ingest
remembers of them, :mod:`~streams.conversations.unread` what nobody has read.  How messages become windows and
token tables is decided in :mod:`processors.conversations`.
"""
