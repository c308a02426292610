"""Forgetting: a person, a conversation or one fact, by command, and what expires by itself.

Begin with :mod:`~streams.queries.erasure.erasing`; :mod:`~streams.clients.erasures` says how an erasure is
written into a topic, so that no replay brings back what it names.
"""
